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
const legend = () => all('#legend button').sort((a, b) => a.dataset.group - b.dataset.group);
const figure = index => all('#charts figure')[index];
const picture = index => one('.plot > svg', figure(index));
/* The curves of all charts of a measure, of every corpus. */
const curves = index => all('#charts figure').filter((_, i) => i % 3 === index)
    .flatMap(chart => all('[data-curve]', one('.plot > svg', chart)));
const curveOf = (index, name) => curves(index).find(curve => curve.dataset.curve === name);
const lineOf = group => all(':scope > path:not(.raw):not(.band)', group)[0].getAttribute('d');
const words = index => all('text', picture(index)).map(text => text.textContent);
const pressed = () => legend().map(button => button.getAttribute('aria-pressed') === 'true');
const sleep = time => new Promise(done => setTimeout(done, time));
const finite = values => values.filter(value => value !== null);
const last = values => values[values.length - 1];
const hasCurve = group => finite(group.curves.val.mean).length > 0;
const fits = () => document.documentElement.scrollWidth <= document.documentElement.clientWidth;
const sound = () => all('#charts svg, #forests svg, #by svg')
    .every(svg => !/NaN|Infinity|undefined/.test(svg.outerHTML));
console.error = text => report('the console has no error: ' + text, false);

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

function enter(target) {
    target.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
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

function testStart(groups) {
    report('the static picture is removed', one('#still') === null);
    report('the legend has an entry for each group', legend().length === groups.length);
    report('the legend shows the names unchanged', legend().every((button, i) =>
        button.textContent === groups[i].name));
    report('every group with validations has a validation curve',
        curves(0).length === groups.filter(hasCurve).length);
    report('every group has a training curve', curves(1).length === groups.length);
    report('every number in a picture is finite', sound());
    const swatches = (place, i) => all(place + ' .swatch path').slice(i, i + 1);
    report('every group has one colour everywhere', groups.every((group, i) => {
        const colours = [one('path', legend()[i]),
            one(`.numbers [data-group="${i}"].group path`), ...swatches('.settings', i),
            ...swatches('.samples', i)];
        return colours.every(path => path.getAttribute('stroke') === group.colour) &&
            curves(1).filter(curve => curve.dataset.curve === group.name).every(curve =>
                one('path:not(.band)', curve).getAttribute('stroke') === group.colour);
    }));
    report('settings have a column for each group',
        all('.settings thead th').length === 1 + groups.length);
    report('each group has a sample', all('.samples article').length === groups.length);
    report('nothing is wider than the page', fits());
    report('names run no scripts', !window.alerted && all('main script').length === 0);
}

/* --- groups and their seeds --- */

function testTable(groups) {
    const rows = kind => all('.numbers tr.' + kind), seen = row => row.offsetHeight > 0;
    const seeds = groups.flatMap(group => group.seeds);
    report('the table has a row for each group', rows('group').length === groups.length &&
        rows('group').every(seen));
    report('single runs are folded away', rows('run').length === seeds.length &&
        !rows('run').some(seen));
    report('the runs can be unfolded only where there are some',
        one('#unfold').hidden === (seeds.length === 0));
    if (seeds.length === 0)
        return;
    const fold = one('.fold'), group = groups[fold.closest('tr').dataset.group];
    fold.click();
    report('a group unfolds to its runs', rows('run').filter(seen).length ===
        group.seeds.length && fold.getAttribute('aria-expanded') === 'true');
    fold.click();
    report('and folds again', !rows('run').some(seen));
    one('#unfold').click();
    report('all groups unfold at once', rows('run').every(seen));
    one('#unfold').click();
    report('means have their intervals',
        rows('group').some(row => row.textContent.includes(' ± ')));
}

function testSeeds(groups) {
    const seeds = groups.flatMap(group => group.seeds);
    report('single seeds are offered only where a group has several',
        one('#single').hidden === (seeds.length === 0));
    if (seeds.length === 0)
        return;
    for (let measure = 0; measure < 3; measure++)
        report('groups of several seeds have a band in chart ' + measure,
            all('.band', figure(measure)).length > 0);
    set('seeds', true);
    report('single seeds have a curve each', curves(1).length ===
        groups.reduce((sum, group) => sum + Math.max(1, group.seeds.length), 0) &&
        all('.band').length === 0);
    const of = groups.findIndex(group => group.seeds.length > 1);
    const drawn = curves(1).filter(curve => Number(curve.dataset.group) === of);
    const looks = drawn.map(curve =>
        one('path:not(.raw)', curve).getAttribute('stroke-dasharray'));
    report('the seeds of a group have different dashes',
        new Set(looks).size === Math.min(looks.length, 4));
    report('the seeds are named', drawn.every(curve => /, seed \d/.test(curve.dataset.curve)) &&
        !one('#seeds').hidden && one('#seeds').textContent.includes('seed '));
    set('seeds', false);
    report('means come back', curves(1).length === groups.length && one('#seeds').hidden);
}

function testGaps(groups) {
    const gapped = group => group.curves.train.mean.slice(1, -1).includes(null);
    const broken = groups.find(gapped);
    if (!broken)
        return;
    set('smoothing', 0);
    const {mean} = broken.curves.train, pieces = () =>
        lineOf(curveOf(1, broken.name)).split('M').length - 1;
    const wanted = mean.filter((loss, i) => loss !== null && (i === 0 || mean[i - 1] === null))
        .length;
    report('a missing value is a gap in the curve', pieces() === wanted);
    set('smoothing', 0.6);
    report('a missing value is a gap in the smoothed curve', pieces() === wanted);
}

/* --- highlighting --- */

const dimmed = index => curves(index).filter(curve => curve.hasAttribute('opacity'));

function testHighlights(groups) {
    report('nothing is highlighted at first', dimmed(1).length === 0);
    if (groups.length < 2)
        return;
    const others = groups.length - 1;
    enter(legend()[1]);
    report('the pointer on a name highlights its group', dimmed(1).length === others &&
        !curveOf(1, groups[1].name).hasAttribute('opacity'));
    enter(document.body);
    report('and no longer when it leaves', dimmed(1).length === 0);
    enter(one('.numbers [data-group="0"]'));
    report('a row of the table highlights its group', dimmed(1).length === others);
    enter(document.body);
    legend()[1].click();
    report('a click keeps a group highlighted', pressed()[1] && dimmed(1).length === others);
    enter(legend()[0]);
    report('the pointer adds to what is kept', dimmed(1).length === others - 1);
    enter(document.body);
    report('the table dims the others', all('.numbers tr.dim.group').length === others);
    set('alone', true);
    report('only highlighted groups can be shown', curves(1).length === 1);
    set('alone', false);
    legend()[1].click();
    report('a second click ends it', !pressed()[1] && dimmed(1).length === 0);
    legend()[0].click();
    one('#clear').click();
    report('highlights can be cleared', dimmed(1).length === 0 && one('#clear').hidden);
    point(1, 'pointermove', 1, 0.9);
    report('the pointer on a curve highlights its group', dimmed(1).length === others ||
        dimmed(1).length === 0);
    point(1, 'pointerleave', 1, 0.9);
    report('leaving the chart ends it', dimmed(1).length === 0);
}

function testSearch(groups) {
    report('many groups have a search box', one('#find').hidden === (groups.length <= 8));
    if (groups.length <= 8)
        return;
    const wanted = group => `${group.name} ${group.idea}`.toLowerCase();
    const query = groups[groups.length - 1].name.slice(-3).toLowerCase();
    const found = groups.filter(group => wanted(group).includes(query)).length;
    set('search', ' ' + query.toUpperCase());
    report('the search keeps the names that match',
        legend().filter(button => !button.hidden).length === found);
    report('the search highlights what it finds', dimmed(1).length === groups.length - found);
    set('search', 'no group has this name');
    report('a search may find nothing', legend().every(button => button.hidden));
    one('#clear').click();
    report('clearing ends the search', legend().every(button => !button.hidden) &&
        dimmed(1).length === 0);
    const ideas = new Set(groups.map(group => group.idea));
    report('the legend is grouped by idea', all('#legend .idea > span').length === ideas.size);
}

/* --- differences, and results by a setting --- */

function testForests(corpora, groups) {
    const forests = corpora.map(corpus => corpus.forest).filter(forest => forest !== null);
    report('there is a forest plot where differences are known',
        all('#forests figure').length === forests.length);
    forests.forEach((forest, i) => {
        const rows = all('[data-group]', all('#forests .plot')[i]);
        report('a forest plot has a row for each group', rows.length === forest.rows.length);
        report('its rows have names and verdicts', rows.every((row, r) => {
            const {group, cells} = forest.rows[r], {textContent} = row;
            return textContent.includes(groups[group].name) &&
                (cells[1] === null || textContent.includes(cells[1]));
        }));
        report('its marks are filled where groups are told apart', rows.every((row, r) => {
            const dot = one('circle', row), {estimate, filled, group} = forest.rows[r];
            return estimate === null ? dot === null
                : dot.getAttribute('fill') === (filled ? groups[group].colour : 'var(--paper)');
        }));
        all('#forests figcaption button')[2 * i].click();
        const {source} = files.pop();
        report('it can be saved', !source.includes('var(') && one('parsererror',
            new DOMParser().parseFromString(source, 'image/svg+xml')) === null);
    });
}

function testBy(by) {
    report('results by a setting are shown where they were asked for',
        (one('#by svg') !== null) === (by !== null));
    if (by === null)
        return;
    const lines = all('#by [data-line]');
    report('they have a line for each kind', lines.length === by.lines.length);
    report('they have every seed as a point', lines.every((line, i) =>
        all('.seed', line).length === by.lines[i].points.reduce((sum, {seeds}) =>
            sum + (seeds.length > 1 ? seeds.filter(seed => seed.result !== null).length : 0), 0)));
    report('they ring the best', lines.every((line, i) =>
        all('.best', line).length === (by.lines[i].best === null ? 0 : 1)));
    report('they say what was chosen', all('#by ~ ul li').length ===
        by.lines.filter(line => line.verdict !== null).length);
}

/* --- charts --- */

function testAxes(groups) {
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
    report('bits per byte are offered where a group knows them',
        (bits !== null) === groups.some(group => group.bits !== null));
    if (bits !== null) {
        set('y', 'bits');
        report('the axis says that it shows bits per byte', words(1).includes('bits per byte') &&
            one('h3', figure(1)).textContent.startsWith('Training bits per byte'));
        set('y', own);
    }
    set('together', true);
    report('one chart shows both losses', figure(1).hidden &&
        curves(0).length === groups.length + groups.filter(hasCurve).length);
    set('together', false);
    report('a chart that was hidden has its width again',
        picture(1).viewBox.baseVal.width === picture(0).viewBox.baseVal.width);
}

/* Checks the last point of the first group's smoothed training curve. */
function testSmoothing(groups) {
    const values = groups[0].curves.train.mean, weight = 0.9;
    if (values.length < 2)
        return;
    set('smoothing', weight);
    report('a smoothed curve of one run has the raw one behind it',
        all('.raw', curveOf(1, groups[0].name)).length === (groups[0].seeds.length > 0 ? 0 : 1));
    let mean = 0, count = 0, shown = NaN;
    for (const value of finite(values)) {
        mean = mean * weight + (1 - weight) * value;
        shown = mean / (1 - Math.pow(weight, ++count));
    }
    if (groups.length > 1)
        legend()[0].click(); /* others have no row then */
    point(1, 'pointermove', 1, 0.5);
    const told = all('.values tr', figure(1))
        .find(row => row.textContent.includes(groups[0].name));
    report('smoothing is unbiased', told !== undefined && (last(values) === null ||
        told.lastChild.textContent.startsWith(shown.toFixed(4))));
    if (groups.length > 1)
        legend()[0].click();
    set('smoothing', 0);
    report('without smoothing there is only the raw curve', all('.raw', curves(1)[0]).length === 0);
    set('smoothing', 0.6);
}

function testPointer(groups) {
    point(0, 'pointermove', 1, 0.5);
    const rows = all('.values tr', figure(0));
    report('hovering shows values', !one('.values', figure(0)).hidden && rows.length > 0);
    const group = groups.find(some => hasCurve(some) && last(some.curves.val.mean) !== null);
    const row = rows.find(some => some.textContent.includes(group.name));
    report('hovering at the end shows the last values', rows.length >= 14 ||
        row.lastChild.textContent.startsWith(last(group.curves.val.mean).toFixed(4)));
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
    picture(0).blur();
}

async function testFiles(groups) {
    const [, svg, png] = all('figcaption button', figure(0));
    svg.click();
    const {source} = files.pop();
    const parsed = new DOMParser().parseFromString(source, 'image/svg+xml');
    report('the saved SVG is well-formed', one('parsererror', parsed) === null &&
        parsed.documentElement.localName === 'svg');
    report('the saved SVG is independent of the page', !source.includes('var('));
    report('the saved SVG names the groups of its corpus', groups.every(group =>
        group.corpus !== 0 || parsed.documentElement.textContent.includes(group.name)));
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
        .getPropertyValue(groups[0].colour.slice('var('.length, -1)).trim();
    const wanted = parseInt(colour.slice(1), 16);
    let found = 0;
    for (let i = 0; i < pixels.length; i += 4)
        found += (pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]) === wanted;
    report('the saved PNG shows the first group', found > 20);
}

/* --- the rest --- */

function testSettings() {
    const only = one('#only');
    if (!only)
        return;
    const hidden = () => all('.settings .same').filter(row => row.offsetHeight === 0).length;
    const same = all('.settings .same').length;
    report('equal settings are hidden', hidden() === same);
    report('settings that differ do differ', all('.settings .differs').every(row =>
        new Set(all('td', row).map(cell => cell.textContent)).size > 1 ||
        one('td', row).textContent.includes(', ')));
    only.click();
    report('equal settings can be shown', hidden() === 0);
    only.click();
}

/* At every width, light and dark, nothing sticks out. */
async function testWidths() {
    const paper = () => getComputedStyle(document.body).backgroundColor;
    const light = paper(), own = frameElement.style.width;
    for (const width of [1400, 800, 400]) {
        frameElement.style.width = width + 'px';
        for (let tries = 0; tries < 100 && (innerWidth !== width ||
            picture(0).viewBox.baseVal.width > width); tries++)
            await sleep(10);
        for (const theme of ['dark', 'light']) {
            one('#theme').click();
            report(`${width} pixels, ${theme}: the switch works`,
                (paper() === light) === (theme === 'light'));
            report(`${width} pixels, ${theme}: nothing is wider than the page`, fits());
        }
        report(`${width} pixels: every number in a picture is finite`, sound());
        report(`${width} pixels: no text leaves its picture`, all('#forests svg, #by svg')
            .every(svg => all('text', svg).every(text => {
                const {left, right} = text.getBoundingClientRect();
                const area = svg.getBoundingClientRect();
                return left >= area.left - 2 && right <= area.right + 2;
            })));
    }
    frameElement.style.width = own;
}

(async function () {
    const {corpora, groups, by} = JSON.parse(one('#data').textContent);
    try {
        testStart(groups);
        report('different tokenizers start in bits per byte', one('[name=y]').value ===
            (corpora.some(corpus => corpus.byBits) ? 'bits' : 'loss'));
        testTable(groups);
        testForests(corpora, groups);
        testBy(by);
        set('y', 'loss');
        testGaps(groups);
        testHighlights(groups);
        testSearch(groups);
        testAxes(groups);
        testSmoothing(groups);
        testPointer(groups);
        await testFiles(groups);
        testSeeds(groups);
        testSettings();
        await testWidths();
        report('all of it was tried', true);
    } catch (error) {
        report('nothing was thrown: ' + error.stack, false);
    }
    parent.postMessage(lines.join('\n') + '\n', '*');
})();
