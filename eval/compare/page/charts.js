/* Second part of the script: charts as SVG, on the page and to save. */

/* --- drawing --- */

function text(x, y, anchor, colour, words) {
    return make('text', {x, y, 'text-anchor': anchor, fill: colour, 'font-size': 12}, words);
}

const fixed = value => value.toFixed(1);

function pathOf(x, values, xs, ys) {
    let path = '', connected = false;
    values.forEach((value, i) => {
        const drawn = Number.isFinite(value) && Number.isFinite(xs[i]);
        if (drawn)
            path += (connected ? 'L' : 'M') + fixed(x.place(xs[i])) + ' ' +
                fixed(ys.place(value)) + (connected ? '' : 'h0'); /* so that a lone point shows */
        connected = drawn;
    });
    return path;
}

function bandOf(x, y, curve) {
    const there = curve.x.map((_, i) => i)
        .filter(i => Number.isFinite(curve.low[i]) && Number.isFinite(curve.high[i]));
    const corner = (i, values) => fixed(x.place(curve.x[i])) + ' ' + fixed(y.place(values[i]));
    return 'M' + there.map(i => corner(i, curve.high))
        .concat(there.reverse().map(i => corner(i, curve.low))).join('L') + 'Z';
}

function lowest(values) {
    return values.reduce((best, value, i) =>
        Number.isFinite(value) && !(values[best] <= value) ? i : best, -1);
}

/* Validation points are few and measured with care: they are drawn as points, as long as they
 * do not crowd, and the best is ringed. */
function dotsOf(x, y, curve, most) {
    const dots = [];
    const seen = curve.x.map((at, i) => i).filter(i => Number.isFinite(curve.y[i]) &&
        curve.x[i] >= x.low && curve.x[i] <= x.high);
    const dot = (i, r, fill) => make('circle', {cx: fixed(x.place(curve.x[i])),
        cy: fixed(y.place(curve.y[i])), r, fill, stroke: curve.item.colour,
        'stroke-width': r > 3 ? 2 : 0});
    if (seen.length <= most)
        dots.push(...seen.map(i => dot(i, 2.6, curve.item.colour)));
    const best = lowest(curve.y);
    if (seen.includes(best))
        dots.push(dot(best, 4.5, 'var(--paper)'));
    return dots;
}

/* Many bands over one another hide what is below. */
const bandOpacity = curves => Math.max(0.03, 0.2 * Math.min(1, 6 / curves.length));

function drawCurve(x, y, curve, mostDots, opacity) {
    const {colour, dash, group} = curve.item;
    const line = (values, attributes) => make('path', Object.assign({
        d: pathOf(x, values, curve.x, y), fill: 'none', stroke: colour,
        'stroke-width': 2, 'stroke-linejoin': 'round', 'stroke-linecap': 'round',
        'stroke-dasharray': dash || null},
    attributes));
    const drawn = make('g', {'data-curve': curve.item.name, 'data-group': groups.indexOf(group)});
    if (curve.low)
        drawn.append(make('path', {d: bandOf(x, y, curve), fill: colour, class: 'band',
            'data-opacity': opacity}));
    if (curve.raw)
        drawn.append(line(curve.raw, {opacity: 0.25, 'stroke-width': 1,
            'stroke-dasharray': null, class: 'raw'}));
    drawn.append(line(curve.y, curve.pale ? {'stroke-width': 1.2, opacity: 0.8} : {}));
    if (curve.measure === 'val')
        drawn.append(...dotsOf(x, y, curve, mostDots));
    return drawn;
}

/* Takes light from the groups that do not stand out, in a picture or on the page, and draws the
 * curves of the others over theirs. */
function light(root) {
    const any = anyChosen() || state.hovered !== null, faint = groups.length > 6 ? 0.07 : 0.13;
    for (const part of root.querySelectorAll('[data-group]')) {
        const lit = isLit(groups[part.dataset.group]), isCurve = 'curve' in part.dataset;
        const band = part.querySelector(':scope > .band');
        if (band)
            band.setAttribute('opacity', !any ? band.dataset.opacity : lit ? 0.2 : 0);
        if (!(part instanceof SVGElement))
            part.classList.toggle('dim', !lit);
        else if (lit)
            part.removeAttribute('opacity');
        else
            part.setAttribute('opacity', isCurve ? faint : 0.35);
        if (isCurve && any && lit)
            part.parentNode.append(part);
    }
}

function drawAxes(svg, plane, label) {
    const {x, y, box} = plane;
    const line = (d, colour) => make('path', {d, stroke: colour, fill: 'none'});
    for (const tick of y.ticks)
        svg.append(line(`M${box.left} ${fixed(y.place(tick.at))}H${box.right}`, 'var(--hair)'),
            text(box.left - 8, y.place(tick.at) + 4, 'end', 'var(--quiet)', tick.label));
    for (const tick of x.ticks)
        svg.append(line(`M${fixed(x.place(tick.at))} ${box.bottom}v5`, 'var(--quiet)'),
            text(x.place(tick.at), box.bottom + 20, 'middle', 'var(--quiet)', tick.label));
    svg.append(line(`M${box.left} ${box.bottom}H${box.right}`, 'var(--quiet)'),
        text((box.left + box.right) / 2, box.bottom + 40, 'middle', 'var(--quiet)', x.label),
        text(box.left, box.top - 12, 'start', 'var(--quiet)', label));
}

function drawFloor(plane, measure, corpus) {
    const floor = floorShown(measure, corpus), {box, y} = plane, group = make('g', {});
    if (floor !== null)
        group.append(
            make('path', {d: `M${box.left} ${fixed(y.place(floor))}H${box.right}`, fill: 'none',
                stroke: 'var(--quiet)', 'stroke-dasharray': '2 4'}),
            text(box.left + 6, y.place(floor) + 15, 'start', 'var(--quiet)',
                'entropy of the corpus'));
    return group;
}

/* A vertical line where the matching of attention outputs ended. */
function drawStages(plane, curves) {
    const {x, box} = plane, group = make('g', {});
    for (const {item} of curves.filter(curve => curve.measure === 'val' && curve.item.matched)) {
        const at = item.matched[state.x];
        if (at >= x.low && at <= x.high)
            group.append(make('path', {d: `M${fixed(x.place(at))} ${box.top}V${box.bottom}`,
                fill: 'none', stroke: item.colour, 'stroke-dasharray': '2 4'},
            make('title', {}, `${item.name}: attention transfer ends, distillation begins`)));
    }
    return group;
}

/* Draws a chart into a picture of this size; top is the room above it. */
function drawChart(measure, corpus, width, height, top) {
    const curves = curvesOf(measure, corpus);
    const box = {left: 60, right: width - 14, top: top + 28, bottom: height - 50};
    const x = xAxis(corpus, box.left, box.right);
    const y = yAxis(measure, corpus, curves, x, box.bottom, box.top);
    const plane = {x, y, box, curves};
    const mostDots = Math.min((box.right - box.left) / 10, 300 / curves.length);
    const clip = 'clip-' + measure + corpus + (top ? '-file' : '');
    const svg = make('svg', {viewBox: `0 0 ${width} ${height}`, width, height,
        'font-family': 'system-ui, sans-serif'});
    svg.append(make('defs', {}, make('clipPath', {id: clip}, make('rect', {x: box.left - 6,
        y: box.top - 6, width: box.right - box.left + 12, height: box.bottom - box.top + 6}))));
    drawAxes(svg, plane, yLabel(measure));
    svg.append(make('g', {'clip-path': `url(#${clip})`}, drawFloor(plane, measure, corpus),
        drawStages(plane, curves), ...curves.map(curve => drawCurve(x, y, curve, mostDots, bandOpacity(curves)))));
    if (curves.length === 0)
        svg.append(text((box.left + box.right) / 2, (box.top + box.bottom) / 2, 'middle',
            'var(--quiet)', 'nothing to show'));
    light(svg);
    return {svg, plane};
}

/* --- legends in pictures --- */

/* Entries in as many lines as they need, the first with this baseline; and that of the last. */
function drawLegendIn(entries, width, left, baseline) {
    const line = 22;
    let x = left, y = baseline;
    const drawn = entries.map(({name, colour, dash, group}) => {
        const length = 44 + 7.2 * [...name].length;
        if (x > left && x + length > width)
            [x, y] = [left, y + line];
        const entry = make('g', {'data-group': group === null ? null : groups.indexOf(group)},
            make('path', {d: `M${x} ${y - 4}h22`, stroke: colour, 'stroke-width': 3,
                'stroke-dasharray': dash || null}),
            text(x + 28, y, 'start', 'var(--ink)', name));
        x += length;
        return entry;
    });
    return {drawn, y};
}

/* --- pictures to take away --- */

/* A picture must not depend on the page: it brings its title and its colours. */
function pictureOf(svg, title, left) {
    const heading = text(left, 32, 'start', 'var(--ink)', title);
    heading.setAttribute('font-size', 18);
    heading.setAttribute('font-weight', 600);
    svg.prepend(make('title', {}, title),
        make('rect', {width: '100%', height: '100%', fill: 'var(--paper)'}), heading);
    light(svg);
    const style = getComputedStyle(document.documentElement);
    return new XMLSerializer().serializeToString(svg)
        .replace(/="var\((--[a-z0-9]+)\)"/g,
            (_, name) => `="${style.getPropertyValue(name).trim()}"`);
}

/* A chart with its legend. */
function pictureOfChart(measure, corpus) {
    const width = 960, margin = 60;
    const legend = drawLegendIn(itemsShown(corpus), width, margin, 62), top = legend.y + 16;
    const {svg} = drawChart(measure, corpus, width, 440 + top, top);
    svg.append(...legend.drawn);
    return pictureOf(svg, titleOf(measure, corpus), margin);
}

function hand(blob, name) {
    const link = make('a', {href: URL.createObjectURL(blob), download: name});
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function save(source, title, kind) {
    const name = title.toLowerCase().replace(/[ /]+/g, '-') + '.' + kind.toLowerCase();
    if (kind === 'SVG') {
        hand(new Blob([source], {type: 'image/svg+xml'}), name);
        return;
    }
    const image = new Image(), finer = 2;
    image.onload = () => {
        const canvas = make('canvas',
            {width: image.width * finer, height: image.height * finer});
        canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
        canvas.toBlob(blob => hand(blob, name), 'image/png');
    };
    image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(source);
}

/* A figure with buttons that save it; `picture` gives what is saved, and its title. */
function makeFigure(label, picture) {
    const plot = make('div', {class: 'plot'}), heading = make('h3', {});
    const actions = make('div', {});
    for (const kind of ['SVG', 'PNG']) {
        const button = make('button', {type: 'button', 'aria-label': `Save the ${label} as ${kind}`},
            kind);
        button.addEventListener('click', () => {
            const {source, title} = picture();
            save(source, title, kind);
        });
        actions.append(button);
    }
    return {plot, heading, actions,
        figure: make('figure', {}, make('figcaption', {}, heading, actions), plot)};
}
