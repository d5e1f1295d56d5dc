/* Tests the page of compare --html with clicks, keys and the pointer. Sends a line for each check
 * to the surrounding page, "pass" or "fail". report.sh appends this script to a copy of the page
 * and shows it in a frame of the tested width, because browser windows have a minimum width. */
'use strict';
addEventListener('error', event => report('the page has no error: ' + event.message, false));
const lines = [];
function report(name, good) {
    lines.push((good ? 'pass ' : 'fail ') + name);
}
const all = (selector, inside) => [...(inside || document).querySelectorAll(selector)];
const one = (selector, inside) => (inside || document).querySelector(selector);
const legend = () => all('#legend button');
const figure = index => all('#charts figure')[index];
const picture = index => one('.plot > svg', figure(index));
/* The curves of all charts of a measure, of every corpus. */
const curves = index => all('#charts figure').filter((_, i) => i % 3 === index)
    .flatMap(chart => all('[data-curve]', one('.plot > svg', chart)));
const lineOf = group => all(':scope > path:not(.raw)', group)[0].getAttribute('d');
const words = index => all('text', picture(index)).map(text => text.textContent);
const pressed = () => legend().map(button => button.getAttribute('aria-pressed') === 'true');
const sleep = time => new Promise(done => setTimeout(done, time));

function set(name, value) {
    const field = one('#controls').elements[name];
    if (field.type === 'checkbox')
        field.checked = value;
    else
        field.value = value;
    field.dispatchEvent(new Event('input', {bubbles: true}));
}

/* A pointer event at this fraction of the plot's width and height. */
function point(index, kind, x, y) {
    const area = picture(index).getBoundingClientRect();
    picture(index).dispatchEvent(new PointerEvent(kind, {bubbles: true, button: 0,
        clientX: area.left + 60 + x * (area.width - 74), clientY: area.top + y * area.height}));
}

function press(target, key) {
    target.dispatchEvent(new KeyboardEvent('keydown', {bubbles: true, cancelable: true, key}));
}

/* The files that the page offers for download, kept as text: a headless browser with virtual
 * time does not wait for blobs. */
const files = [];
window.Blob = class extends Blob {
    constructor(parts, options) {
        super(parts, options);
        this.source = parts.join('');
    }
};
HTMLCanvasElement.prototype.toBlob = function (done, type) {
    done({url: this.toDataURL(type)});
};
URL.createObjectURL = blob => {
    files.push(blob);
    return 'about:blank#file';
};
HTMLAnchorElement.prototype.click = function () {
    this.handed = true;
};

function testStart(runs) {
    report('the static picture is removed', one('#still') === null);
    report('the legend has an entry for each run', legend().length === runs.length);
    report('the legend shows the names unchanged', legend().every((button, i) =>
        button.textContent === runs[i].name));
    report('every run with validations has a validation curve',
        curves(0).length === runs.filter(run => run.val.some(loss => loss !== null)).length);
    report('every run has a training curve', curves(1).length === runs.length);
    report('every number in a picture is finite',
        all('#charts svg').every(svg => !/NaN|Infinity|undefined/.test(svg.outerHTML)));
    report('every run has one colour everywhere', runs.every((run, i) => {
        const colours = [one('path', legend()[i]),
            ...all('.numbers .swatch path').slice(i, i + 1),
            ...all('.settings .swatch path').slice(i, i + 1),
            ...all('.samples .swatch path').slice(i, i + 1)];
        return colours.every(path => path.getAttribute('stroke') === run.colour) &&
            curves(1).filter(group => group.dataset.curve === run.name)
                .every(group => one('path', group).getAttribute('stroke') === run.colour);
    }));
    report('nothing is wider than the page',
        document.documentElement.scrollWidth <= document.documentElement.clientWidth);
    report('names run no scripts', !window.alerted && all('main script').length === 0);
}

function testGaps(runs) {
    const broken = runs.find(run => run.train.slice(1, -1).includes(null));
    if (!broken)
        return;
    set('smoothing', 0);
    const group = curves(1).find(curve => curve.dataset.curve === broken.name);
    const wanted = broken.train.filter((loss, i) => loss !== null &&
        (i === 0 || broken.train[i - 1] === null)).length;
    report('a missing value is a gap in the curve', lineOf(group).split('M').length - 1 === wanted);
    set('smoothing', 0.6);
    report('a missing value is a gap in the smoothed curve', lineOf(curves(1).find(curve =>
        curve.dataset.curve === broken.name)).split('M').length - 1 === wanted);
}

function testLegend(runs) {
    const before = curves(1).length;
    legend()[0].click();
    report('a click on the legend hides a run', !pressed()[0] && curves(1).length === before - 1);
    legend()[0].click();
    report('a second click shows the run again', pressed()[0] && curves(1).length === before);
    const last = legend()[runs.length - 1];
    const twice = () => {
        last.click();
        last.click();
        last.dispatchEvent(new MouseEvent('dblclick', {bubbles: true}));
    };
    twice();
    report('a double click shows only that run',
        pressed().every((on, i) => on === (i === runs.length - 1)));
    twice();
    report('a second double click shows all runs', pressed().every(on => on));
    last.dispatchEvent(new MouseEvent('click', {bubbles: true, shiftKey: true}));
    report('Shift and a click show only that run', pressed().filter(on => on).length === 1);
    last.dispatchEvent(new MouseEvent('click', {bubbles: true, shiftKey: true}));
    legend().forEach(button => button.click());
    report('the chart says when it has no runs to show', words(0).includes('nothing to show'));
    legend().forEach(button => button.click());
}

function testAxes(runs) {
    const seen = new Set();
    for (const axis of ['epoch', 'step', 'tokens', 'seconds']) {
        set('x', axis);
        const label = words(0).find(word => /^(epoch|step|tokens|wall time)/.test(word));
        report('along ' + axis + ' the axis says so',
            axis === 'seconds' ? /^wall time \(/.test(label) : label === axis);
        seen.add(all('text', picture(0)).map(text => text.textContent).join());
    }
    report('every x axis has its own ticks', seen.size === 4);
    set('x', 'epoch');
    const own = one('[name=y]').value, loss = lineOf(curves(1)[0]);
    set('y', 'perplexity');
    report('perplexity changes the curve', lineOf(curves(1)[0]) !== loss &&
        words(1).includes('perplexity') &&
        one('h3', figure(1)).textContent.startsWith('Training perplexity'));
    const plain = lineOf(curves(1)[0]);
    set('log', true);
    report('a logarithmic scale changes the curve', lineOf(curves(1)[0]) !== plain);
    set('log', false);
    set('y', own);
    report('switching back restores the curve', lineOf(curves(1)[0]) === loss);
    const bits = one('[name=y] [value=bits]');
    report('bits per byte are offered where a run knows them',
        (bits !== null) === runs.some(run => run.bits !== null));
    if (bits !== null) {
        set('y', 'bits');
        report('the axis says that it shows bits per byte', words(1).includes('bits per byte') &&
            one('h3', figure(1)).textContent.startsWith('Training bits per byte'));
        set('y', own);
    }
    set('together', true);
    const validated = runs.filter(run => run.val.some(loss => loss !== null)).length;
    report('one chart shows both losses', figure(1).hidden &&
        curves(0).length === runs.length + validated);
    set('together', false);
    report('a chart that was hidden has its width again',
        picture(1).viewBox.baseVal.width === picture(0).viewBox.baseVal.width);
}

/* Checks the last point of the first run's smoothed training curve. */
function testSmoothing(runs) {
    const values = runs[0].train, weight = 0.9;
    if (values.length < 2)
        return;
    set('smoothing', weight);
    report('a smoothed curve has the raw one behind it', all('.raw', curves(1)[0]).length === 1);
    let last = 0, count = 0, shown = NaN;
    for (const value of values)
        if (value !== null) {
            last = last * weight + (1 - weight) * value;
            shown = last / (1 - Math.pow(weight, ++count));
        }
    point(1, 'pointermove', 1, 0.5);
    const cell = one('.values td:last-child', figure(1));
    const told = all('.values tr', figure(1))
        .find(row => row.textContent.includes(runs[0].name));
    report('smoothing is unbiased',
        cell !== null && told !== undefined && (values[values.length - 1] === null ||
            told.lastChild.textContent.startsWith(shown.toFixed(4))));
    set('smoothing', 0);
    report('without smoothing there is only the raw curve', all('.raw', curves(1)[0]).length === 0);
    set('smoothing', 0.6);
}

function testPointer(runs) {
    point(0, 'pointermove', 1, 0.5);
    const rows = all('.values tr', figure(0));
    report('hovering shows values', !one('.values', figure(0)).hidden && rows.length > 0);
    const run = runs.find(some =>
        some.val.length > 0 && some.val[some.val.length - 1] !== null);
    const row = rows.find(some => some.textContent.includes(run.name));
    report('hovering at the end shows the last values', rows.length >= 14 ||
        row.lastChild.textContent === run.val[run.val.length - 1].toFixed(4));
    point(0, 'pointerleave', 1, 0.5);
    report('leaving the chart hides the values', one('.values', figure(0)).hidden);
    const before = words(0).join();
    point(0, 'pointerdown', 0.5, 0.5);
    point(0, 'pointermove', 0.75, 0.5);
    point(0, 'pointerup', 0.75, 0.5);
    const zoomed = words(0).join();
    report('dragging zooms in',
        zoomed !== before && !one('figcaption button', figure(0)).hidden);
    one('.plot', figure(0)).dispatchEvent(new MouseEvent('dblclick', {bubbles: true}));
    report('a double click zooms out', words(0).join() === before);
    picture(0).focus();
    press(picture(0), 'ArrowLeft');
    report('arrow keys show values', !one('.values', figure(0)).hidden &&
        one('#spoken').textContent.includes(':'));
    press(picture(0), '+');
    report('+ enlarges', words(0).join() !== before);
    report('arrow keys keep the focus', document.activeElement === picture(0));
    for (let times = 0; times < 100; times++)
        press(picture(0), '+');
    report('+ ends while numbers still differ', words(0).length > 4);
    press(picture(0), 'Escape');
    report('Escape shows all', words(0).join() === before);
}

async function testFiles(runs) {
    const [, svg, png] = all('figcaption button', figure(0));
    svg.click();
    const {source} = files.pop();
    const parsed = new DOMParser().parseFromString(source, 'image/svg+xml');
    report('the saved SVG is well-formed', one('parsererror', parsed) === null &&
        parsed.documentElement.localName === 'svg');
    report('the saved SVG is independent of the page', !source.includes('var('));
    report('the saved SVG names the runs of its corpus', legend().every((button, i) =>
        runs[i].corpus !== 0 || parsed.documentElement.textContent.includes(button.textContent)));
    png.click();
    for (let tries = 0; files.length === 0 && tries < 100; tries++)
        await sleep(50);
    const {url} = files.pop();
    report('the saved PNG is a PNG', url.startsWith('data:image/png;base64,iVBORw0KGgo'));
    const image = new Image();
    const loaded = new Promise(done => image.onload = image.onerror = done);
    image.src = url;
    await loaded;
    const canvas = Object.assign(document.createElement('canvas'),
        {width: image.width || 1, height: image.height || 1});
    canvas.getContext('2d').drawImage(image, 0, 0);
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    const colour = getComputedStyle(document.documentElement)
        .getPropertyValue(runs[0].colour.slice('var('.length, -1)).trim();
    const wanted = parseInt(colour.slice(1), 16);
    let found = 0;
    for (let i = 0; i < pixels.length; i += 4)
        found += (pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]) === wanted;
    report('the saved PNG shows the first run', found > 20);
}

function testRest(runs, groups) {
    const root = document.documentElement;
    const paper = () => getComputedStyle(document.body).backgroundColor;
    const before = paper();
    one('#theme').click();
    report('the switch turns dark mode on',
        paper() !== before && root.dataset.theme !== undefined);
    one('#theme').click();
    report('the switch turns dark mode off', paper() === before);
    const only = one('#only');
    if (only) {
        const hidden = () => all('.settings .same')
            .filter(row => row.offsetHeight === 0).length;
        const same = all('.settings .same').length;
        report('equal settings are hidden', hidden() === same);
        only.click();
        report('equal settings can be shown', hidden() === 0);
    }
    const seeds = groups.some(group => group.runs.length > 1);
    report('the mean is offered only with several seeds', one('#mean').hidden === !seeds);
    if (seeds) {
        set('mean', true);
        report('the mean shows one curve for each group', legend().length === groups.length &&
            curves(0).length === groups.length);
        report('the mean has a band', all('path[opacity="0.18"]', picture(0)).length > 0);
        set('mean', false);
        report('switching the mean off shows the runs', legend().length === runs.length);
    }
}

(async function () {
    const data = JSON.parse(one('#data').textContent);
    try {
        testStart(data.runs);
        report('different tokenizers start in bits per byte', one('[name=y]').value ===
            (data.corpora.some(corpus => corpus.byBits) ? 'bits' : 'loss'));
        set('y', 'loss');
        testGaps(data.runs);
        testLegend(data.runs);
        testAxes(data.runs);
        testSmoothing(data.runs);
        testPointer(data.runs);
        await testFiles(data.runs);
        testRest(data.runs, data.groups);
        report('all of it was tried', true);
    } catch (error) {
        report('nothing was thrown: ' + error.stack, false);
    }
    parent.postMessage(lines.join('\n') + '\n', '*');
})();
