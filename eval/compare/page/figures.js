/* Third part of the script: the forest plots of differences from a control, and the results by
 * a setting. */

/* --- forest plots --- */

/* The columns of text that fit beside the plot: titles, widths and places in the rows. */
function columnsOf(forest, room) {
    const columns = forest.columns.map((title, at) => ({title, at, left: title === 'verdict',
        width: 14 + 7 * Math.max(title.length, ...forest.rows.map(row =>
            row.cells[at] === null ? 0 : row.cells[at].length))}))
        .filter(({at}) => forest.rows.some(row => row.cells[at] !== null));
    while (columns.reduce((sum, column) => sum + column.width, 0) > room)
        columns.pop();
    return columns;
}

const cellOf = (row, at) => row.cells[at] !== null ? row.cells[at]
    : at === 0 && row.estimate === 0 ? 'control' : '–';

/* Keeps the lines behind a text away from it. */
function clear(element) {
    for (const [name, value] of [['paint-order', 'stroke'], ['stroke', 'var(--paper)'],
        ['stroke-width', 5], ['stroke-linejoin', 'round']])
        element.setAttribute(name, value);
    return element;
}

function drawMark(row, x, y) {
    const {name, colour} = groups[row.group], mark = make('g', {class: 'mark'});
    if (row.estimate === null)
        return mark;
    if (row.low !== null)
        mark.append(make('path', {d: `M${fixed(x.place(row.low))} ${y}H${fixed(x.place(row.high))}`,
            stroke: colour, 'stroke-width': 2.5, 'stroke-linecap': 'round'}));
    mark.append(make('circle', {cx: fixed(x.place(row.estimate)), cy: y, r: 5, stroke: colour,
        'stroke-width': 2.2, fill: row.filled ? colour : 'var(--paper)'},
    make('title', {}, `${name}: ${row.estimate.toFixed(2)} %` + (row.low === null ? ''
        : `, from ${row.low.toFixed(2)} to ${row.high.toFixed(2)} %`))));
    return mark;
}

/* One row a group. Where the page is narrow, its text stands above its mark. */
function drawForest(forest, width, top) {
    const narrow = width < 640, line = narrow ? 46 : 26, names = narrow ? 0 : Math.min(
        260, 26 + 7.4 * Math.max(...forest.rows.map(row => [...groups[row.group].name].length)));
    const columns = narrow ? [] : columnsOf(forest, width - names - 300);
    const texts = columns.reduce((sum, column) => sum + column.width, 0);
    const box = {left: names + 10, right: width - texts - 14, top: top + 34};
    const [low, high] = rangeOf(forest.rows.flatMap(row => [0, row.estimate, row.low, row.high])
        .map(value => value === null ? NaN : value), false);
    const margin = (high - low) * 0.04;
    const x = scaleOf(low - margin, high + margin, box.left, box.right, false,
        Math.max(2, Math.floor((box.right - box.left) / 80)));
    const rows = make('g', {});
    let y = box.top;
    for (const row of forest.rows) {
        const {name} = groups[row.group], drawn = make('g', {'data-group': row.group});
        if (row.heading !== null) {
            rows.append(clear(text(0, y + 20, 'start', 'var(--quiet)', row.heading)));
            y += 28;
        }
        const middle = y + (narrow ? 32 : line / 2), base = narrow ? y + 16 : middle + 4;
        drawn.append(make('rect', {x: 0, y, width, height: line, fill: 'transparent'}),
            clear(text(narrow ? 0 : 12, base, 'start', 'var(--ink)', name)));
        if (narrow)
            drawn.append(clear(text(width, base, 'end', 'var(--ink)',
                [cellOf(row, 0), row.cells[1]].filter(cell => cell).join(', '))));
        let right = box.right + 14;
        for (const {at, width: room, left} of columns) {
            right += room;
            drawn.append(text(left ? right - room + 14 : right, base, left ? 'start' : 'end',
                'var(--ink)', cellOf(row, at)));
        }
        drawn.append(drawMark(row, x, middle));
        rows.append(drawn);
        y += line;
    }
    box.bottom = y + 6;
    const svg = make('svg', {viewBox: `0 0 ${width} ${box.bottom + 48}`, width,
        height: box.bottom + 48, 'font-family': 'system-ui, sans-serif'});
    for (const tick of x.ticks) {
        const at = fixed(x.place(tick.at));
        svg.append(make('path', {d: `M${at} ${box.top - 6}V${box.bottom}`, fill: 'none',
            stroke: tick.at === 0 ? 'var(--quiet)' : 'var(--hair)'}),
        text(at, box.top - 14, 'middle', 'var(--quiet)', tick.label),
        text(at, box.bottom + 17, 'middle', 'var(--quiet)', tick.label));
    }
    let right = box.right + 14;
    for (const {title, width: room, left} of columns) {
        right += room;
        svg.append(text(left ? right - room + 14 : right, box.top - 14, left ? 'start' : 'end',
            'var(--quiet)', title));
    }
    svg.append(text((box.left + box.right) / 2, box.bottom + 38, 'middle', 'var(--quiet)',
        forest.label), rows);
    light(svg);
    return svg;
}

/* --- results by a setting --- */

const lines = (data.by ? data.by.lines : []).map((line, i) => {
    const group = line.group === null ? null : groups[line.group];
    return Object.assign({}, line, {group, dash: group ? group.dash : seedDashes[(i / 6 | 0) % 4],
        colour: group ? group.colour : `var(--c${i % 6})`});
});

/* As on terminals, values that span so many times themselves have a logarithmic axis. */
function valueAxis(values, from, to) {
    const wide = 5, nearest = 44;
    const log = values[0] > 0 && values[values.length - 1] >= wide * values[0];
    const [low, high] = rangeOf(values, log), margin = log ? Math.pow(high / low, 0.03)
        : (high - low) * 0.03;
    const scale = scaleOf(log ? low / margin : low - margin, log ? high * margin : high + margin,
        from, to, log, 4);
    scale.ticks = [];
    for (const at of values)
        if (scale.ticks.every(tick => scale.place(at) - scale.place(tick.at) >= nearest))
            scale.ticks.push({at, label: String(at)});
    return scale;
}

/* A line for each kind through its means, the best ringed; single seeds are points. */
function drawBy(by, width, top) {
    const legend = drawLegendIn(lines, width, 60, top + 16);
    const box = {left: 60, right: width - 14, top: legend.y + 42, bottom: legend.y + 380};
    const finite = lines.flatMap(line => line.points.flatMap(point =>
        [point.mean, ...point.seeds.map(seed => seed.result)])).filter(value => value !== null);
    const values = [...new Set(lines.flatMap(line => line.points.map(point => point.value)))]
        .sort((a, b) => a - b);
    const [low, high] = rangeOf(finite, false), margin = (high - low) * 0.05;
    const x = valueAxis(values, box.left, box.right);
    const y = scaleOf(low - margin, high + margin, box.bottom, box.top, false, 6);
    x.label = by.setting;
    const svg = make('svg', {viewBox: `0 0 ${width} ${box.bottom + 50}`, width,
        height: box.bottom + 50, 'font-family': 'system-ui, sans-serif'});
    drawAxes(svg, {x, y, box}, by.measure);
    svg.append(...legend.drawn);
    for (const line of lines) {
        const {colour, dash, group, points} = line;
        const drawn = make('g', {'data-line': line.name,
            'data-group': group === null ? null : groups.indexOf(group)});
        const dot = (at, value, attributes) => make('circle', Object.assign({
            cx: fixed(x.place(at)), cy: fixed(y.place(value)), stroke: colour}, attributes),
        make('title', {}, `${line.name}: ${value.toFixed(4)} at ${by.setting} ${at}`));
        drawn.append(make('path', {d: pathOf(x, points.map(point =>
            point.mean === null ? NaN : point.mean), points.map(point => point.value), y),
        fill: 'none', stroke: colour, 'stroke-width': 2, 'stroke-dasharray': dash || null}));
        for (const {value, mean, seeds} of points) {
            drawn.append(...seeds.filter(seed => seed.result !== null && seeds.length > 1)
                .map(seed => dot(value, seed.result, {r: 2.6, fill: colour, opacity: 0.55,
                    class: 'seed'})));
            if (mean !== null)
                drawn.append(dot(value, mean, value === line.best
                    ? {r: 5.5, fill: 'var(--paper)', 'stroke-width': 2.4, class: 'best'}
                    : {r: 3.4, fill: colour}));
        }
        svg.append(drawn);
    }
    light(svg);
    return svg;
}

/* --- both on the page --- */

/* Figures that only their width changes. */
const figures = [];

function addFigure(place, label, title, draw) {
    const frame = makeFigure(label, () => ({title, source: pictureOf(draw(960, 44), title, 0)}));
    frame.heading.textContent = title;
    frame.draw = draw;
    place.append(frame.figure);
    figures.push(frame);
    return frame;
}

function startFigures() {
    if (data.by)
        addFigure($('by'), 'results by a setting', data.by.title,
            (width, top) => drawBy(data.by, width, top));
    if ($('forests'))
        $('forests').replaceChildren();
    for (const {forest} of data.corpora.filter(corpus => corpus.forest !== null))
        addFigure($('forests'), 'differences', forest.title,
            (width, top) => drawForest(forest, width, top))
            .figure.append(make('p', {class: 'aside'}, forest.note));
}

function redrawFigure(frame) {
    frame.plot.replaceChildren(frame.draw(Math.max(280, frame.plot.clientWidth), 0));
}
