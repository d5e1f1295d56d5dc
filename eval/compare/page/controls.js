/* Last part of the script: the page answers to pointer, keys and controls. */

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
    return plane.curves.filter(curve => !anyChosen() || isChosen(curve.item.group))
        .map(curve => ({curve, index: nearestPoint(curve, x)}))
        .filter(({curve, index}) => {
            const first = curve.x[0], last = curve.x[curve.x.length - 1], at = curve.x[index];
            return x >= first - reach && x <= last + reach &&
                at >= plane.x.low && at <= plane.x.high;
        }).sort((a, b) => height(a) > height(b) ? 1 : height(a) < height(b) ? -1 : 0);
}

const charts = data.corpora.flatMap((_, corpus) => Object.keys(measures).map(measure => {
    const chart = Object.assign({measure, corpus, at: null},
        makeFigure('chart of ' + measures[measure].title.toLowerCase(), () => ({
            source: pictureOfChart(measure, corpus), title: titleOf(measure, corpus)})));
    chart.all = make('button', {type: 'button'}, 'Show all');
    chart.all.addEventListener('click', () => {
        zoomTo(null); /* which hides the button */
        chart.svg.focus({preventScroll: true});
    });
    chart.actions.prepend(chart.all);
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
    light(document);
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
    const close = 40;
    const away = row => Math.abs(plane.y.place(row.curve.y[row.index]) - pointerY);
    const nearest = pointerY === null ? null : rows.reduce((best, row) =>
        away(row) < (best === null ? Infinity : away(best)) ? row : best, null);
    hover(nearest && away(nearest) < close ? nearest.curve.item.group : null);
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
        const spread = curve.low ? make('small', {}, precise(chart.measure, curve.low[index]) +
            ' to ' + precise(chart.measure, curve.high[index])) : '';
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
    hover(null);
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

/* --- highlighting, and the legend --- */

function hover(group) {
    if (group === state.hovered)
        return;
    state.hovered = group;
    light(document);
}

function showChoice() {
    for (const button of $('legend').querySelectorAll('button')) {
        const group = groups[button.dataset.group];
        button.setAttribute('aria-pressed', String(state.pinned.has(group)));
        button.hidden = state.query !== '' && !matches(group) && !state.pinned.has(group);
    }
    for (const idea of $('legend').children)
        idea.hidden = [...idea.querySelectorAll('button')].every(button => button.hidden);
    $('clear').hidden = !anyChosen();
}

/* What was chosen has changed. */
function choose() {
    showChoice();
    if (state.alone)
        redraw();
    else
        light(document);
}

function pin(group) {
    if (!state.pinned.delete(group))
        state.pinned.add(group);
    choose();
}

/* The groups by idea; a few need no headings. */
function drawLegend() {
    const few = 6, byPlace = [...groups].sort((a, b) => a.place - b.place);
    const ideas = new Map();
    for (const group of byPlace) {
        const idea = groups.length > few ? group.idea : '';
        const listed = ideas.get(idea) || make('div', {class: 'idea'},
            idea ? make('span', {}, idea) : null);
        ideas.set(idea, listed);
        const button = make('button', {type: 'button', 'data-group': groups.indexOf(group)},
            swatch(state.seeds && group.seeds.length ? {colour: group.colour} : group),
            group.name);
        button.addEventListener('click', () => pin(group));
        listed.append(button);
    }
    $('legend').replaceChildren(...ideas.values());
    $('seeds').replaceChildren(...seedNames.map((seed, i) => make('span', {},
        swatch({colour: 'var(--quiet)', dash: seedDashes[i % seedDashes.length]}),
        ' seed ' + seed)));
    $('seeds').hidden = !state.seeds;
    showChoice();
}

/* Rows of tables and of forest plots highlight groups as well. */
function groupAt(event) {
    const part = event.target.closest('[data-group]:not(.plot [data-curve])');
    return part ? groups[part.dataset.group] : null;
}

document.addEventListener('pointerover', event => {
    if (!event.target.closest('#charts .plot'))
        hover(groupAt(event));
});

/* --- the table of results: runs fold out below their group --- */

function startTable() {
    const folds = [];
    let fold = null;
    for (const row of document.querySelectorAll('.numbers tbody tr')) {
        const name = row.querySelector('th'), group = row.classList.contains('run')
            ? groups[fold.row.dataset.group] : groups.find(each => each.name === name.textContent);
        if (group)
            row.dataset.group = groups.indexOf(group);
        if (!row.classList.contains('run')) {
            fold = {row, runs: []};
        } else {
            fold.runs.push(row);
            if (fold.runs.length === 1)
                folds.push(fold);
        }
    }
    const turn = ({button, runs}, open) => {
        button.setAttribute('aria-expanded', String(open));
        runs.forEach(row => row.hidden = !open);
    };
    for (const each of folds) {
        each.button = make('button', {type: 'button', class: 'fold',
            'aria-label': 'runs of ' + groups[each.row.dataset.group].name});
        each.button.addEventListener('click', () =>
            turn(each, each.button.getAttribute('aria-expanded') === 'false'));
        each.row.querySelector('th').prepend(each.button);
        turn(each, false);
    }
    const all = $('unfold');
    all.hidden = folds.length === 0;
    all.addEventListener('click', () => {
        const open = folds.some(({button}) => button.getAttribute('aria-expanded') === 'false');
        folds.forEach(each => turn(each, open));
    });
}

/* --- start --- */

function readControls() {
    const field = controls.elements;
    if (field.x.value !== state.x)
        state.zoom = null;
    Object.assign(state, {x: field.x.value, y: field.y.value,
        log: field.log.checked, smoothing: Number(field.smoothing.value),
        together: field.together.checked, seeds: field.seeds.checked,
        alone: field.alone.checked, query: field.search.value.trim().toLowerCase()});
    field.amount.value = state.smoothing.toFixed(2);
    drawLegend();
    redraw();
}

controls.addEventListener('submit', event => event.preventDefault());
controls.addEventListener('input', readControls);
$('clear').addEventListener('click', () => {
    state.pinned.clear();
    state.query = $('search').value = '';
    choose();
});

$('theme').addEventListener('click', () => {
    const root = document.documentElement;
    const dark = getComputedStyle(root).colorScheme === 'dark';
    root.dataset.theme = dark ? 'light' : 'dark';
});

/* A page that loads itself anew keeps what was chosen. Some browsers have no storage for
 * files. */
function startReload() {
    const key = 'linnet', names = () => [...controls.elements].filter(field => field.name);
    const attempt = action => {
        try {
            action();
        } catch (error) {
            console.info(error.message);
        }
    };
    attempt(() => {
        const kept = JSON.parse(sessionStorage.getItem(key) || '{}');
        for (const field of names().filter(field => field.name in (kept.fields || {})))
            Object.assign(field, kept.fields[field.name]);
        for (const group of groups.filter(group => (kept.pinned || []).includes(group.name)))
            state.pinned.add(group);
        if (kept.theme)
            document.documentElement.dataset.theme = kept.theme;
        sessionStorage.removeItem(key);
    });
    setTimeout(() => {
        attempt(() => sessionStorage.setItem(key, JSON.stringify({
            fields: Object.fromEntries(names().map(field => [field.name, field.type === 'checkbox'
                ? {checked: field.checked} : {value: field.value}])),
            pinned: [...state.pinned].map(group => group.name),
            theme: document.documentElement.dataset.theme})));
        location.reload();
    }, 1000 * data.reload);
}

/* Browsers bring back what was chosen before a reload, and would show it without its effect. */
controls.reset();
/* Runs with different tokenizers compare by bits per byte only. */
if (!groups.some(group => group.bits !== null))
    controls.elements.y.querySelector('[value=bits]').remove();
else if (data.corpora.some(corpus => corpus.byBits))
    controls.elements.y.value = 'bits';
$('still').remove();
for (const id of ['controls', 'legend', 'charts', 'help', 'theme'])
    $(id).hidden = false;
$('single').hidden = seedNames.length === 0;
$('find').hidden = groups.length <= 8;
$('chosen').hidden = groups.length < 2;
startTable();
startFigures();
if (data.reload > 0)
    startReload();
figures.forEach(redrawFigure);
readControls();
let width = innerWidth;
addEventListener('resize', () => {
    if (innerWidth !== width) {
        width = innerWidth;
        figures.forEach(redrawFigure);
        redraw();
    }
});
