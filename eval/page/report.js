/* The charts of the page that compare --html writes. Without this script the page shows the
 * validation curves as a still picture; with it the curves can be measured, chosen, smoothed
 * and enlarged. Names come out of runs that anyone may have made: they only ever become text nodes.
 *
 * The state is one object; whatever changes it calls redraw, which draws every chart anew. */
'use strict';
(function () {
const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);
const controls = $('controls');
const state = {
    x: 'epoch', perplexity: false, log: false, smoothing: 0.6, together: false, mean: false,
    zoom: null, hidden: new Set(),
};

/* --- making elements --- */

function make(tag, attributes, ...inside) {
    const svg = ['svg', 'g', 'path', 'circle', 'rect', 'text', 'clipPath', 'defs', 'title'];
    const element = svg.includes(tag)
        ? document.createElementNS('http://www.w3.org/2000/svg', tag)
        : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {}))
        if (value !== null && value !== undefined)
            element.setAttribute(name, value);
    element.append(...inside.filter(child => child !== null));
    return element;
}

function swatch(item) {
    return make('svg', {class: 'swatch', viewBox: '0 0 26 8', 'aria-hidden': 'true'},
        make('path', {d: 'M1 4H25', stroke: item.colour, 'stroke-width': 3,
            'stroke-dasharray': item.dash || null}));
}

/* --- curves --- */

/* As TensorBoard does it: an average that forgets, corrected for having begun at nothing. What
 * is no number is passed over and stays a gap. */
function smooth(values, weight) {
    let last = 0, count = 0;
    return values.map(value => {
        if (!Number.isFinite(value))
            return NaN;
        last = last * weight + (1 - weight) * value;
        count++;
        return last / (1 - Math.pow(weight, count));
    });
}

function shown(values, isLoss) {
    return values.map(value => {
        const y = value === null ? NaN : isLoss && state.perplexity ? Math.exp(value) : value;
        return Number.isFinite(y) && (!state.log || y > 0) ? y : NaN;
    });
}

const measures = {
    val: {title: 'Validation', isLoss: true},
    train: {title: 'Training', isLoss: true},
    speed: {title: 'Speed', isLoss: false},
};

/* A curve of a run: its x, its y, and where they are smoothed the raw values behind them. */
function curveOf(run, measure, pale) {
    const rows = measure === 'val' ? run.at : null;
    const x = rows ? rows.map(row => run[state.x][row]) : run[state.x];
    const values = shown(run[measure], measures[measure].isLoss);
    const curve = {item: run, measure, x: x.map(at => at === null ? NaN : at), y: values, pale};
    if (measure !== 'val' && state.smoothing > 0) {
        curve.raw = values;
        curve.y = smooth(values, state.smoothing);
    }
    return curve;
}

/* The mean of a group of seeds, with the band that they fill. */
function meanOf(group) {
    return {item: group, measure: 'val', x: group[state.x], y: shown(group.mean, true),
        low: shown(group.low, true), high: shown(group.high, true)};
}

const groups = data.groups || [];
const items = () => state.mean ? groups : data.runs;
const isShown = item => !state.hidden.has(item);

function runsShown() {
    if (!state.mean)
        return data.runs.filter(isShown);
    return groups.filter(isShown).flatMap(group => group.runs.map(index =>
        Object.assign({}, data.runs[index], {colour: group.colour, dash: group.dash})));
}

function curvesOf(measure) {
    const curves = [];
    if (measure === 'val' && state.together)
        curves.push(...runsShown().map(run => curveOf(run, 'train', true)));
    if (measure === 'val' && state.mean)
        curves.push(...groups.filter(isShown).map(meanOf));
    else
        curves.push(...runsShown().map(run => curveOf(run, measure)));
    return curves.filter(curve => curve.y.some(Number.isFinite));
}

function floorShown(measure) {
    const floor = measures[measure].isLoss && data.floor !== null
        ? shown([data.floor], true)[0] : NaN;
    return Number.isFinite(floor) ? floor : null;
}

/* --- scales --- */

const units = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e4, 'k', 1e3], [0, '', 1]];

function amount(value, step) {
    const [from, suffix, unit = from] = units.find(row => Math.abs(value) >= row[0]);
    const digits = Math.min(Math.max(-Math.floor(Math.log10(step / unit) + 1e-9), 0), 12);
    return (value / unit).toFixed(digits) + suffix;
}

function roundStep(least) {
    const power = Math.pow(10, Math.floor(Math.log10(least)));
    return power * [1, 2, 5, 10].find(factor => least <= factor * power * (1 + 1e-9));
}

function evenTicks(low, high, count) {
    const step = roundStep((high - low) / count), ticks = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
        ticks.push({at: i * step, label: amount(i * step, step)});
    return ticks;
}

/* 1, 2 and 5 times the powers of ten, or the powers alone where those would crowd. */
function logTicks(low, high, count) {
    const decades = Math.log10(high / low), ticks = [];
    if (decades < 1)
        return evenTicks(low, high, count);
    const factors = decades * 3 <= count * 1.5 ? [1, 2, 5] : [1];
    const every = Math.max(1, Math.ceil(decades / count));
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
        for (const factor of power % every === 0 ? factors : []) {
            const at = factor * Math.pow(10, power);
            if (at >= low && at <= high)
                ticks.push({at, label: amount(at, Math.pow(10, power))});
        }
    return ticks;
}

/* From values to places and back. */
function scaleOf(low, high, from, to, log, count) {
    const bend = log ? Math.log : value => value, unbend = log ? Math.exp : value => value;
    const start = bend(low), length = bend(high) - start;
    return {
        low, high,
        place: value => from + (bend(value) - start) / length * (to - from),
        value: place => unbend(start + (place - from) / (to - from) * length),
        ticks: (log ? logTicks : evenTicks)(low, high, count),
    };
}

function rangeOf(values, log) {
    let low = Infinity, high = -Infinity;
    for (const value of values)
        if (Number.isFinite(value)) {
            low = Math.min(low, value);
            high = Math.max(high, value);
        }
    if (low > high)
        return [log ? 0.1 : 0, 1];
    if (high - low <= Math.abs(high) * 1e-9)
        return log ? [low / 1.1, high * 1.1] : [low - (Math.abs(low) || 1) * 0.1,
            high + (Math.abs(high) || 1) * 0.1];
    return [low, high];
}

/* Wall time is told in the largest unit of which there are a few. */
function timeUnit(most) {
    return most >= 7200 ? [3600, 'hours'] : most >= 120 ? [60, 'minutes'] : [1, 'seconds'];
}

/* All charts stand above the same stretch, from the beginning on. */
function xAxis(from, to) {
    const ends = runsShown().map(run => run[state.x][run[state.x].length - 1] || 0);
    const [low, high] = state.zoom || rangeOf([0, ...ends], false);
    const count = Math.max(2, Math.floor((to - from) / 90));
    const scale = scaleOf(low, high, from, to, false, count);
    scale.label = state.x;
    if (state.x === 'seconds') {
        const [unit, name] = timeUnit(high);
        scale.ticks = evenTicks(low / unit, high / unit, count)
            .map(tick => ({at: tick.at * unit, label: tick.label}));
        scale.label = 'wall time (' + name + ')';
    }
    return scale;
}

function yAxis(measure, curves, x, from, to) {
    const visible = curves.flatMap(curve => [curve.y, curve.raw, curve.low, curve.high]
        .flatMap(values => (values || []).filter((_, i) =>
            curve.x[i] >= x.low && curve.x[i] <= x.high)));
    const floor = floorShown(measure);
    const ends = [floor, measure === 'speed' && !state.log ? 0 : null];
    const log = state.log;
    let [low, high] = rangeOf(visible.concat(ends.filter(end => end !== null)), log);
    const bend = log ? Math.log : value => value, unbend = log ? Math.exp : value => value;
    const margin = (bend(high) - bend(low)) * 0.04;
    if (low !== 0)
        low = unbend(bend(low) - margin);
    high = unbend(bend(high) + margin);
    return scaleOf(low, high, from, to, log, Math.max(2, Math.floor((from - to) / 50)));
}

function yLabel(measure) {
    if (!measures[measure].isLoss)
        return 'tokens per second';
    return state.perplexity ? 'perplexity' : 'nats per token';
}

function titleOf(measure) {
    if (!measures[measure].isLoss)
        return measures[measure].title;
    const what = state.perplexity ? ' perplexity' : ' loss';
    return (measure === 'val' && state.together ? 'Training and validation'
        : measures[measure].title) + what;
}

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

function drawCurve(x, y, curve, mostDots) {
    const {colour, dash} = curve.item;
    const line = (values, attributes) => make('path', Object.assign({
        d: pathOf(x, values, curve.x, y), fill: 'none', stroke: colour,
        'stroke-width': 2, 'stroke-linejoin': 'round', 'stroke-linecap': 'round',
        'stroke-dasharray': dash || null},
    attributes));
    const group = make('g', {'data-curve': curve.item.name});
    if (curve.low)
        group.append(make('path', {d: bandOf(x, y, curve), fill: colour, opacity: 0.18}));
    if (curve.raw)
        group.append(line(curve.raw, {opacity: 0.25, 'stroke-width': 1,
            'stroke-dasharray': null, class: 'raw'}));
    group.append(line(curve.y, curve.pale ? {'stroke-width': 1.2, opacity: 0.8} : {}));
    if (curve.measure === 'val')
        group.append(...dotsOf(x, y, curve, mostDots));
    return group;
}

function drawAxes(svg, plane, measure) {
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
        text(box.left, box.top - 12, 'start', 'var(--quiet)', yLabel(measure)));
}

function drawFloor(plane, measure) {
    const floor = floorShown(measure), {box, y} = plane, group = make('g', {});
    if (floor !== null)
        group.append(
            make('path', {d: `M${box.left} ${fixed(y.place(floor))}H${box.right}`, fill: 'none',
                stroke: 'var(--quiet)', 'stroke-dasharray': '2 4'}),
            text(box.right - 4, y.place(floor) - 6, 'end', 'var(--quiet)',
                'entropy of the corpus'));
    return group;
}

/* Draws a chart into a picture of this size; top is the room above it. */
function drawChart(measure, width, height, top) {
    const curves = curvesOf(measure);
    const box = {left: 60, right: width - 14, top: top + 28, bottom: height - 50};
    const x = xAxis(box.left, box.right);
    const y = yAxis(measure, curves, x, box.bottom, box.top);
    const plane = {x, y, box, curves};
    const mostDots = Math.min((box.right - box.left) / 10, 300 / curves.length);
    const clip = 'clip-' + measure + (top ? '-file' : '');
    const svg = make('svg', {viewBox: `0 0 ${width} ${height}`, width, height,
        'font-family': 'system-ui, sans-serif'});
    svg.append(make('defs', {}, make('clipPath', {id: clip}, make('rect', {x: box.left - 6,
        y: box.top - 6, width: box.right - box.left + 12, height: box.bottom - box.top + 6}))));
    drawAxes(svg, plane, measure);
    svg.append(make('g', {'clip-path': `url(#${clip})`}, drawFloor(plane, measure),
        ...curves.map(curve => drawCurve(x, y, curve, mostDots))));
    if (curves.length === 0)
        svg.append(text((box.left + box.right) / 2, (box.top + box.bottom) / 2, 'middle',
            'var(--quiet)', 'nothing to show'));
    return {svg, plane};
}

/* --- a chart on the page --- */

function precise(measure, value) {
    if (!Number.isFinite(value))
        return 'no number';
    if (!measures[measure].isLoss)
        return amount(value, value >= 1e4 ? 100 : 1);
    return value >= 1e5 ? value.toPrecision(4) : value.toFixed(state.perplexity ? 2 : 4);
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

/* What the curves say at an x: a line for each that reaches so far. */
function readings(plane, x) {
    const reach = Math.abs(plane.x.value(plane.box.left + 12) - plane.x.low);
    return plane.curves.map(curve => ({curve, index: nearestPoint(curve, x)}))
        .filter(({curve, index}) => {
            const first = curve.x[0], last = curve.x[curve.x.length - 1];
            return x >= first - reach && x <= last + reach && Number.isFinite(curve.x[index]);
        }).sort((a, b) => a.curve.y[a.index] - b.curve.y[b.index]);
}

const charts = Object.keys(measures).map(measure => {
    const plot = make('div', {class: 'plot'}), heading = make('h3', {});
    const {title} = measures[measure];
    const actions = make('div', {});
    const chart = {measure, plot, heading, at: null};
    chart.all = make('button', {type: 'button'}, 'Show all');
    chart.all.addEventListener('click', () => zoomTo(null));
    actions.append(chart.all);
    for (const kind of ['SVG', 'PNG']) {
        const button = make('button', {type: 'button',
            'aria-label': `Save the chart of ${title.toLowerCase()} as ${kind}`}, kind);
        button.addEventListener('click', () => save(measure, kind));
        actions.append(button);
    }
    chart.figure = make('figure', {}, make('figcaption', {}, heading, actions), plot);
    $('charts').append(chart.figure);
    return chart;
});

function describe(chart) {
    const {curves, x} = chart.plane;
    const parts = curves.filter(curve => !curve.pale).slice(0, 8).map(curve => {
        const best = lowest(curve.y);
        return chart.measure === 'speed' ? curve.item.name
            : `${curve.item.name}: lowest ${precise(chart.measure, curve.y[best])} at ` +
              preciseX(curve.x[best]);
    });
    return `${titleOf(chart.measure)} along ${x.label}. ${parts.join('; ')}`;
}

function redrawChart(chart) {
    const width = Math.max(280, Math.round(chart.plot.clientWidth));
    const tall = chart.measure === 'val' ? 0.5 : 0.36;
    const height = Math.round(Math.min(Math.max(width * tall, 260), 520));
    const focused = chart.svg && chart.svg === document.activeElement;
    Object.assign(chart, drawChart(chart.measure, width, height, 0));
    chart.heading.textContent = titleOf(chart.measure);
    chart.figure.hidden = chart.measure === 'train' && state.together;
    chart.all.hidden = state.zoom === null;
    chart.svg.setAttribute('role', 'img');
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
        best === null || away(row) < away(best) ? row : best, null);
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

function zoomTo(range) {
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
        if (event.button === 0)
            from = inside(place(event).x);
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
    svg.addEventListener('pointerleave', () => {
        from = null;
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

/* --- pictures to take away --- */

/* A picture must not depend on the page: it brings its title, its legend and its colours. */
function pictureOf(measure) {
    const width = 960, line = 22, margin = 60;
    const listed = measure === 'val' ? items().filter(isShown) : runsShown();
    let x = margin, y = 62;
    const legend = listed.map(item => {
        const length = 44 + 7.2 * [...item.name].length;
        if (x > margin && x + length > width)
            [x, y] = [margin, y + line];
        const entry = make('g', {},
            make('path', {d: `M${x} ${y - 4}h22`, stroke: item.colour, 'stroke-width': 3,
                'stroke-dasharray': item.dash || null}),
            text(x + 28, y, 'start', 'var(--ink)', item.name));
        x += length;
        return entry;
    });
    const top = y + 16, {svg} = drawChart(measure, width, 440 + top, top);
    const title = text(margin, 32, 'start', 'var(--ink)', titleOf(measure));
    title.setAttribute('font-size', 18);
    title.setAttribute('font-weight', 600);
    svg.prepend(make('title', {}, titleOf(measure)),
        make('rect', {width: '100%', height: '100%', fill: 'var(--paper)'}), title, ...legend);
    const style = getComputedStyle(document.documentElement);
    return new XMLSerializer().serializeToString(svg)
        .replace(/var\((--[a-z]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
}

function hand(blob, name) {
    const link = make('a', {href: URL.createObjectURL(blob), download: name});
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function save(measure, kind) {
    const source = pictureOf(measure);
    const name = titleOf(measure).toLowerCase().replace(/ /g, '-') + '.' + kind.toLowerCase();
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

/* --- start --- */

controls.addEventListener('submit', event => event.preventDefault());
controls.addEventListener('input', () => {
    const field = controls.elements, mean = field.mean.checked;
    if (field.x.value !== state.x)
        state.zoom = null;
    if (mean !== state.mean)
        state.hidden = new Set();
    Object.assign(state, {x: field.x.value, perplexity: field.y.value === 'perplexity',
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
})();
