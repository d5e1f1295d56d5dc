/* The script of the page of compare --html, first part: the data, the state, and the curves and
 * scales that they make. The Makefile and report.c put the parts into one function. Names come
 * from runs that anyone may have made: they only ever become text nodes.
 *
 * Groups, runs that differ in the seed only, are what is drawn: their means and bands, or on
 * request their seeds. The state is one object; whatever changes it calls redraw, which draws
 * every chart anew, or light, which highlights groups in what is drawn. */
const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);
const controls = $('controls');
const state = {
    x: 'epoch', y: 'loss', log: false, smoothing: 0.6, together: false, seeds: false,
    alone: false, query: '', zoom: null, pinned: new Set(), hovered: null,
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

/* --- groups --- */

const {groups} = data;
const seedDashes = ['', '8 5', '2 5', '12 4 2 4'];
const seedNames = [...new Set(groups.flatMap(group => group.seeds.map(run => run.seed)))]
    .sort((a, b) => a - b || (a < b ? -1 : 1));

/* A seed has the colour of its group, and in all groups the same dashes. */
for (const group of groups) {
    group.group = group;
    for (const run of group.seeds)
        Object.assign(run, {group, colour: group.colour,
            name: run.seed ? `${group.name}, seed ${run.seed}` : run.name,
            dash: seedDashes[seedNames.indexOf(run.seed) % seedDashes.length]});
}

const matches = group => state.query !== '' &&
    `${group.name} ${group.idea}`.toLowerCase().includes(state.query);
/* Whether a group was chosen to stand out, for as long as it is. */
const isChosen = group => state.pinned.has(group) || matches(group);
const anyChosen = () => state.query !== '' || state.pinned.size > 0;
const isLit = group => !(anyChosen() || state.hovered) || isChosen(group) ||
    state.hovered === group;
const isDrawn = group => !state.alone || !anyChosen() || isChosen(group);

/* --- curves --- */

/* Exponential moving average with bias correction, as TensorBoard's. Values that are not finite
 * stay gaps. */
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

/* A loss in nats per token on the chosen axis; bits: those per byte of one nat. */
function lossAsShown(loss, bits) {
    return state.y === 'perplexity' ? Math.exp(loss)
        : state.y === 'bits' ? (bits === null ? NaN : loss * bits) : loss;
}

function shown(values, isLoss, bits) {
    return values.map(value => {
        const y = value === null ? NaN : isLoss ? lossAsShown(value, bits) : value;
        return Number.isFinite(y) && (!state.log || y > 0) ? y : NaN;
    });
}

const measures = {
    val: {title: 'Validation', isLoss: true},
    train: {title: 'Training', isLoss: true},
    speed: {title: 'Speed', isLoss: false},
};

/* A curve of a group or of a seed: its x, its y, the band around it, or where a single run is
 * smoothed the raw values behind it. */
function curveOf(item, measure, pale) {
    const from = item.curves[measure], {isLoss} = measures[measure];
    const bits = measure === 'train' ? item.trainBits : item.bits;
    const smoothed = measure !== 'val' && state.smoothing > 0;
    const values = name => from[name] && shown(from[name], isLoss, bits);
    const settle = list => list && smoothed ? smooth(list, state.smoothing) : list;
    return {item, measure, pale, x: from[state.x].map(at => at === null ? NaN : at),
        y: settle(values('mean')), low: settle(values('low')), high: settle(values('high')),
        raw: smoothed && !from.low ? values('mean') : null};
}

const itemsShown = corpus => groups.filter(group => group.corpus === corpus && isDrawn(group))
    .flatMap(group => state.seeds && group.seeds.length > 0 ? group.seeds : [group]);

function curvesOf(measure, corpus) {
    const curves = [], items = itemsShown(corpus);
    if (measure === 'val' && state.together)
        curves.push(...items.map(item => curveOf(item, 'train', true)));
    curves.push(...items.map(item => curveOf(item, measure)));
    return curves.filter(curve => curve.y.some(Number.isFinite));
}

function floorShown(measure, corpus) {
    const {floor} = data.corpora[corpus];
    const {bits} = groups.find(group => group.corpus === corpus);
    const level = measures[measure].isLoss && floor !== null ? shown([floor], true, bits)[0] : NaN;
    return Number.isFinite(level) ? level : null;
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

/* All charts of a corpus have the same x axis, which starts at 0. */
function xAxis(corpus, from, to) {
    const ends = itemsShown(corpus).flatMap(item => Object.values(item.curves)
        .map(curve => curve[state.x][curve[state.x].length - 1] || 0));
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

/* Whether a point, or its line to the one before or after it, lies within the axis. */
function reaches(curve, i, x) {
    const before = curve.x[Math.max(i - 1, 0)];
    const after = curve.x[Math.min(i + 1, curve.x.length - 1)];
    return after >= x.low && before <= x.high;
}

/* The level of the entropy widens the axis only as long as the curves keep most of it; diverged
 * runs do not, beside others. */
function yAxis(measure, corpus, curves, x, from, to) {
    const steady = curves.filter(curve => !curve.item.diverged);
    const visible = (steady.length ? steady : curves).flatMap(curve => [curve.y, curve.raw, curve.low, curve.high]
        .flatMap(values => (values || []).filter((_, i) => reaches(curve, i, x))));
    const log = state.log, floor = floorShown(measure, corpus), label = 24;
    const [least] = rangeOf(visible, log);
    let [low, high] = rangeOf(measure === 'speed' && !log ? visible.concat(0) : visible, log);
    const floorFits = floor !== null && floor < least && high - least >= 0.7 * (high - floor);
    if (floorFits)
        low = log ? floor : floor - (high - floor) * label / (from - to);
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
    return {loss: 'nats per token', perplexity: 'perplexity', bits: 'bits per byte'}[state.y];
}

function titleOf(measure, corpus) {
    const where = data.corpora.length > 1 ? ' on ' + data.corpora[corpus].name : '';
    const smoothed = state.smoothing <= 0 ? '' : measure !== 'val' ? ' (smoothed)'
        : state.together ? ' (training smoothed)' : '';
    if (!measures[measure].isLoss)
        return measures[measure].title + smoothed + where;
    const what = {loss: ' loss', perplexity: ' perplexity', bits: ' bits per byte'}[state.y] +
        (state.y !== 'bits' && data.corpora[corpus].byBits
            ? ' per token of different tokenizers (not comparable)' : '') +
        (measure === 'val' && data.corpora[corpus].part ? ' on a part of the text' : '') + smoothed;
    return (measure === 'val' && state.together ? 'Training and validation'
        : measures[measure].title) + what + where;
}
