/* Third part of the script: the charts on the page answer to pointer, keys and controls. */

/* --- a chart on the page --- */

function precise(measure, value) {
    if (!Number.isFinite(value))
        return 'NaN';
    if (!measures[measure].isLoss)
        return amount(value, value >= 1e4 ? 100 : 1);
    return value >= 1e5 ? value.toPrecision(4) : value.toFixed(state.y === 'perplexity' ? 2 : 4);
}

function preciseX(value) {
    if (state.x !== 'seconds')
        return state.x + ' ' + (state.x === 'epoch' ? Number(value.toFixed(3))
            : value.toLocaleString('en'));
    const whole = Math.round(value), two = number => String(number).padStart(2, '0');
    const minutes = Math.floor(whole / 60);
    return [Math.floor(minutes / 60), two(minutes % 60), two(whole % 60)].join(':');
}

/* The point of a curve nearest to an x; the x of a run never falls. */
function nearestPoint(curve, x) {
    let low = 0, high = curve.x.length - 1;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (curve.x[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && x - curve.x[low - 1] <= curve.x[low] - x ? low - 1 : low;
}

/* What the curves say at an x: a line for each that reaches so far, the lowest first. */
function readings(plane, x) {
    const reach = Math.abs(plane.x.value(plane.box.left + 12) - plane.x.low);
    const height = ({curve, index}) =>
        Number.isFinite(curve.y[index]) ? curve.y[index] : Infinity;
    return plane.curves.map(curve => ({curve, index: nearestPoint(curve, x)}))
        .filter(({curve, index}) => {
            const first = curve.x[0], last = curve.x[curve.x.length - 1], at = curve.x[index];
            return x >= first - reach && x <= last + reach &&
                at >= plane.x.low && at <= plane.x.high;
        }).sort((a, b) => height(a) > height(b) ? 1 : height(a) < height(b) ? -1 : 0);
}

const charts = data.corpora.flatMap((_, corpus) => Object.keys(measures).map(measure => {
    const plot = make('div', {class: 'plot'}), heading = make('h3', {});
    const {title} = measures[measure];
    const actions = make('div', {});
    const chart = {measure, corpus, plot, heading, at: null};
    chart.all = make('button', {type: 'button'}, 'Show all');
    chart.all.addEventListener('click', () => {
        zoomTo(null); /* which hides the button */
        chart.svg.focus({preventScroll: true});
    });
    actions.append(chart.all);
    for (const kind of ['SVG', 'PNG']) {
        const button = make('button', {type: 'button',
            'aria-label': `Save the chart of ${title.toLowerCase()} as ${kind}`}, kind);
        button.addEventListener('click', () => save(measure, corpus, kind));
        actions.append(button);
    }
    chart.figure = make('figure', {}, make('figcaption', {}, heading, actions), plot);
    $('charts').append(chart.figure);
    return chart;
}));

function describe(chart) {
    const {curves, x} = chart.plane;
    const parts = curves.filter(curve => !curve.pale).slice(0, 8).map(curve => {
        const best = lowest(curve.y);
        return chart.measure === 'speed' ? curve.item.name
            : `${curve.item.name}: lowest ${precise(chart.measure, curve.y[best])} at ` +
              preciseX(curve.x[best]);
    });
    return `${titleOf(chart.measure, chart.corpus)} along ${x.label}. ${parts.join('; ')}`;
}

function redrawChart(chart) {
    chart.figure.hidden = chart.measure === 'train' && state.together; /* has no width then */
    const width = Math.max(280, Math.round(chart.plot.clientWidth));
    const tall = chart.measure === 'val' ? 0.5 : 0.36;
    const height = Math.round(Math.min(Math.max(width * tall, 260), 520));
    const focused = chart.svg && chart.svg === document.activeElement;
    Object.assign(chart, drawChart(chart.measure, chart.corpus, width, height, 0));
    chart.heading.textContent = titleOf(chart.measure, chart.corpus);
    chart.all.hidden = state.zoom === null;
    chart.svg.setAttribute('role', 'application'); /* so that screen readers leave it the keys */
    chart.svg.setAttribute('aria-roledescription', 'chart');
    chart.svg.setAttribute('tabindex', '0');
    chart.svg.setAttribute('aria-label', describe(chart));
    chart.over = make('g', {});
    chart.svg.append(chart.over);
    chart.values = make('div', {class: 'values', hidden: ''});
    chart.plot.replaceChildren(chart.svg, chart.values);
    listen(chart);
    if (focused)
        chart.svg.focus({preventScroll: true});
}

function redraw() {
    charts.forEach(redrawChart);
}

/* --- values at the pointer --- */

function showValues(chart, x, pointerY) {
    const {plane, over, values} = chart, {box} = plane;
    const snapped = readings(plane, x).map(({curve, index}) => curve.x[index])
        .reduce((best, at) => Math.abs(at - x) < Math.abs(best - x) ? at : best, Infinity);
    hideValues(chart);
    if (!Number.isFinite(snapped))
        return;
    const rows = readings(plane, snapped), place = plane.x.place(snapped);
    chart.at = snapped;
    const away = row => Math.abs(plane.y.place(row.curve.y[row.index]) - pointerY);
    const nearest = pointerY === null ? null : rows.reduce((best, row) =>
        away(row) < (best === null ? Infinity : away(best)) ? row : best, null);
    over.append(make('path', {d: `M${fixed(place)} ${box.top}V${box.bottom}`,
        stroke: 'var(--quiet)', 'stroke-width': 1}));
    for (const {curve, index} of rows)
        if (Number.isFinite(curve.y[index]))
            over.append(make('circle', {cx: plane.x.place(curve.x[index]),
                cy: plane.y.place(curve.y[index]), r: 4, fill: curve.item.colour,
                stroke: 'var(--paper)', 'stroke-width': 1.5}));
    values.replaceChildren(make('p', {}, preciseX(snapped)), valueTable(chart, rows, nearest));
    values.hidden = false;
    const share = chart.plot.clientWidth / (chart.svg.viewBox.baseVal.width || 1);
    const left = place * share > chart.plot.clientWidth / 2;
    values.style.left = left ? 'auto' : place * share + 14 + 'px';
    values.style.right = left ? chart.plot.clientWidth - place * share + 14 + 'px' : 'auto';
}

function nameOf(curve) {
    return curve.item.name + (curve.pale ? ', training' : '');
}

function valueTable(chart, rows, nearest) {
    const most = 14, table = make('table', {});
    const start = Math.max(0, Math.min(rows.indexOf(nearest) - most / 2, rows.length - most));
    for (const row of rows.slice(start, start + most)) {
        const {curve, index} = row;
        const spread = curve.low ? make('small', {}, precise('val', curve.low[index]) + ' to ' +
            precise('val', curve.high[index])) : '';
        table.append(make('tr', {class: row === nearest ? 'nearest' : null},
            make('td', {}, swatch(curve.item), ' ' + nameOf(curve)),
            make('td', {}, precise(chart.measure, curve.y[index]), spread)));
    }
    if (rows.length > most)
        table.append(make('tr', {}, make('td', {}, `and ${rows.length - most} more`),
            make('td', {})));
    return table;
}

function hideValues(chart) {
    chart.over.replaceChildren();
    chart.values.hidden = true;
    chart.at = null;
}

/* Ranges that are tiny beside their numbers have no ticks. */
function zoomTo(range) {
    if (range !== null && range[1] - range[0] < 1e-6 * Math.abs(range[1]))
        return;
    state.zoom = range;
    redraw();
}

/* --- pointer and keys --- */

function listen(chart) {
    const {svg, plane} = chart;
    const place = event => {
        const area = svg.getBoundingClientRect();
        const share = svg.viewBox.baseVal.width / area.width;
        return {x: (event.clientX - area.left) * share, y: (event.clientY - area.top) * share};
    };
    const inside = x => Math.min(Math.max(x, plane.box.left), plane.box.right);
    let from = null;
    svg.addEventListener('pointerdown', event => {
        if (event.button !== 0)
            return;
        const at = place(event);
        from = inside(at.x);
        showValues(chart, plane.x.value(from), at.y);
        if (event.isTrusted) /* a drag may leave the picture */
            svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener('pointermove', event => {
        const at = place(event);
        showValues(chart, plane.x.value(inside(at.x)), at.y);
        if (from !== null)
            chart.over.prepend(make('rect', {x: Math.min(from, inside(at.x)), y: plane.box.top,
                width: Math.abs(inside(at.x) - from), height: plane.box.bottom - plane.box.top,
                fill: 'var(--accent)', opacity: 0.15}));
    });
    svg.addEventListener('pointerup', event => {
        const start = from, least = 8, to = inside(place(event).x);
        from = null;
        if (start !== null && Math.abs(to - start) >= least)
            zoomTo([plane.x.value(Math.min(start, to)), plane.x.value(Math.max(start, to))]);
    });
    svg.addEventListener('pointerleave', event => {
        from = null;
        if (event.pointerType !== 'touch') /* a finger has gone, its values stay */
            hideValues(chart);
    });
    svg.addEventListener('blur', () => hideValues(chart));
    svg.addEventListener('keydown', event => press(chart, event));
}

/* A double click finds the picture that its first click left there. */
for (const chart of charts)
    chart.plot.addEventListener('dblclick', () => zoomTo(null));

function move(chart, forward) {
    const {plane} = chart, {low, high} = plane.x;
    const all = [...new Set(plane.curves.flatMap(curve => curve.x))]
        .filter(x => x >= low && x <= high).sort((a, b) => a - b);
    const next = chart.at === null ? (forward ? all[0] : all[all.length - 1])
        : forward ? all.find(x => x > chart.at) : all.reverse().find(x => x < chart.at);
    if (next === undefined)
        return;
    showValues(chart, next, null);
    $('spoken').textContent = preciseX(next) + ': ' + readings(plane, next).map(
        ({curve, index}) => nameOf(curve) + ' ' + precise(chart.measure, curve.y[index]))
        .join(', ');
}

function press(chart, event) {
    const {low, high} = chart.plane.x, quarter = (high - low) / 4;
    if (event.ctrlKey || event.metaKey || event.altKey) /* the browser's own zoom and history */
        return;
    if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') {
        move(chart, event.key === 'ArrowRight');
    } else if (event.key === '+' || event.key === '=') {
        const centre = chart.at === null ? (low + high) / 2 : chart.at;
        const start = Math.min(Math.max(centre - quarter, low), high - 2 * quarter);
        zoomTo([start, start + 2 * quarter]);
    } else if (event.key === 'Escape') {
        zoomTo(null);
    } else {
        return;
    }
    event.preventDefault();
}

/* --- the legend --- */

function toggle(item) {
    if (!state.hidden.delete(item))
        state.hidden.add(item);
}

function showOnly(item) {
    const alone = items().every(other => other === item || !isShown(other)) && isShown(item);
    state.hidden = new Set(alone ? [] : items().filter(other => other !== item));
}

function drawLegend() {
    $('legend').replaceChildren(...items().map(item => {
        const button = make('button', {type: 'button', 'aria-pressed': String(isShown(item))},
            swatch(item), item.name);
        const act = change => {
            change(item);
            [...$('legend').children].forEach((other, i) =>
                other.setAttribute('aria-pressed', String(isShown(items()[i]))));
            redraw();
        };
        button.addEventListener('click', event => act(event.shiftKey ? showOnly : toggle));
        button.addEventListener('dblclick', () => act(showOnly));
        return button;
    }));
}

/* --- start --- */

controls.addEventListener('submit', event => event.preventDefault());
controls.addEventListener('input', () => {
    const field = controls.elements, mean = field.mean.checked;
    if (field.x.value !== state.x)
        state.zoom = null;
    if (mean !== state.mean)
        state.hidden = new Set();
    Object.assign(state, {x: field.x.value, y: field.y.value,
        log: field.log.checked, smoothing: Number(field.smoothing.value),
        together: field.together.checked, mean});
    field.amount.value = state.smoothing.toFixed(2);
    drawLegend();
    redraw();
});

$('theme').addEventListener('click', () => {
    const root = document.documentElement;
    const dark = getComputedStyle(root).colorScheme === 'dark';
    root.dataset.theme = dark ? 'light' : 'dark';
});

/* Browsers bring back what was chosen before a reload, and would show it without its effect. */
controls.reset();
/* Runs with different tokenizers compare by bits per byte only. */
if (!data.runs.some(run => run.bits !== null))
    controls.elements.y.querySelector('[value=bits]').remove();
else if (data.corpora.some(corpus => corpus.byBits))
    controls.elements.y.value = state.y = 'bits';
$('still').remove();
for (const id of ['controls', 'legend', 'charts', 'help', 'theme'])
    $(id).hidden = false;
$('mean').hidden = !groups.some(group => group.runs.length > 1);
drawLegend();
redraw();
let width = innerWidth;
addEventListener('resize', () => {
    if (innerWidth !== width) {
        width = innerWidth;
        redraw();
    }
});
