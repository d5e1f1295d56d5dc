#!/bin/sh
# Tests the page of compare --html: report.sh BIN, where BIN is the directory of the programs. The
# runs are made up here, hostile ones among them. If chromium is installed, report/drive.js uses the
# page in it; otherwise that part is skipped with a message.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$top/tests/cases.sh"
bin=$(CDPATH='' cd -- "${1:-$top/bin}" && pwd) || exit 1
unset CDPATH
cd -- "$work" || exit 1
evidence() { messages; }

# --- runs ---

# run NAME ROWS EVERY SETTINGS: a run directory with a log of ROWS rows, validated every EVERY rows.
# The training loss has a peak in the middle, and is missing in some rows if it $diverged; all
# losses are larger by $more.
diverged=0
more=0
run() {
    mkdir -p -- "$1"
    printf '# parameters: 1234\n%s\n' "$4" >"$1/settings.conf"
    awk -v rows="$2" -v every="$3" -v diverged="$diverged" -v more="$more" 'BEGIN {
        print "step,epoch,tokens,seconds,lr,train_loss,val_loss,grad_norm,tokens_per_second"
        for (i = 1; i <= rows; i++) {
            loss = 2 + more + 4 * exp(-4 * i / rows) + 0.1 * sin(i * i)
            if (i == int(rows / 2) + 1) loss = 9.125
            if (diverged && i > rows / 3 && i < rows / 2) loss = "nan"
            valid = i % every ? "" : (loss == "nan" ? "nan" : loss + 0.05)
            printf "%d,%.6f,%d,%.3f,0.001,%s,%s,1,%.1f\n", i, i / rows * 5, i * 640, i / 40, \
                loss, valid, 25000 + 500 * sin(i)
        }
    }' >"$1/log.csv"
}

# page RUN...: writes the page of these runs to page.html.
page() { "$bin/compare" --html page.html "$@" >out 2>err </dev/null; }

hostile='<script>alert(1)</script>'
hostile_folder='<script>window.alerted=1<&sol;script>"'\''&amp;'
rude=$(printf 'bell\007 \033[31m \377 end')
texts='# training text: 900 tokens, 3600 bytes
# validation text: 100 tokens, 400 bytes, 5 unknown'
run plain 300 30 "$texts
attn = linear
seed = 1"
more=0.01
run plain-2 300 30 "$texts
attn = linear
seed = 2"
more=0
run words 100 10 "$texts
# validation part: 40 tokens
attn = linear
tokens = word"
run bytes 100 10 '# training text: 3600 tokens, 3600 bytes
# validation text: 400 tokens, 400 bytes, 0 unknown
attn = linear
tokens = byte'
run "$hostile_folder" 200 20 "attn = $hostile
corpus = </td></tr></table><img src=x onerror=window.alerted=1>"
run "$rude" 100 10 'attn = softmax'
run one-row 1 1 'attn = softmax'
run long 100000 500 'attn = softmax'
diverged=1
run diverged 300 10 'attn = softmax'
diverged=0

# --- contents ---

check 'compare writes a page for one run' page plain
check 'a page of one run has no differences' fails grep -q 'id="forests"' page.html
check 'the page is complete' grep -q '</html>' page.html
check 'the page has a picture for readers without scripts' grep -q '<svg xmlns' page.html
check 'the page has numbers' grep -q 'class="number">1.234<\|class="number">1.*234<' page.html
check 'the page loads nothing from a network' fails grep -i \
    -e 'src="http' -e 'href="http' -e '@import' -e 'fetch(' page.html
check 'the page explains a missing sample' grep -q 'No sample: ' page.html
printf 'step 1 </pre><script>window.alerted=1</script>\n\033[2Jtext\n' >plain/samples.txt
check 'compare writes a page for hostile names and settings' page plain "$hostile_folder" "$rude"
check 'hostile names become no elements' \
    fails grep -q '<script>alert\|<script>window.alerted\|<img' page.html
check 'hostile names are shown as text' grep -q '&lt;script&gt;alert(1)&lt;/script&gt;' page.html
check 'hostile samples are shown as text' grep -q 'step 1 &lt;/pre&gt;&lt;script&gt;' page.html
check 'hostile names are escaped in the data' \
    grep -q -F '"name":"\u003cscript>window.alerted' page.html
check 'the page has no control characters' eval \
    '[ "$(tr -d "\n\t\040-\176\200-\377" <page.html | wc -c)" -eq 0 ]'
check 'the page is UTF-8' eval 'iconv -f UTF-8 -t UTF-8 page.html >/dev/null 2>&1'
check 'compare writes a page for a diverged run' page diverged
check 'the data of a diverged run have no NaN' \
    eval '! sed -n "/id=\"data\"/,/<\/script>/p" page.html |
    grep -q -i "nan\|inf"'
check 'compare writes a page for runs with different tokenizers' page words bytes
check 'that page compares them in bits per byte' grep -q '"byBits":true' page.html
check 'the picture for readers without scripts is in bits per byte, too' \
    grep -q '<title>Validation bits per byte: words and bytes' page.html
check 'that page names the best in bits per byte' \
    grep -q 'class="verdict">words has the fewest bits per byte' page.html
check 'that page says that tokens are unknown' grep -q 'unknown: words (5 %)' page.html
check 'that page marks losses on a part of the text' grep -q '[0-9]~<' page.html
check 'that page says what the mark means' grep -q '~: on a part .*, 40 of 100 tokens' page.html
check 'compare writes a page for a log of a hundred thousand rows' page long
check 'the page thins out long logs' [ "$(wc -c <page.html)" -lt 2000000 ]
check 'the page says that a log is thinned out' grep -q 'are thinned' page.html
check 'thinning keeps peaks' grep -q '9\.125' page.html
check 'compare writes a page for groups' page plain plain-2 one-row
check 'the page counts runs and groups' grep -q '3 runs in 2 groups' page.html
check 'the page warns of groups that differ in more than the model' \
    grep -q 'class="warning">Compare with care: the groups differ in more .* tokens seen' page.html
check 'the page has a forest plot for readers without scripts' \
    grep -q '<div id="forests" class="still">' page.html
cp page.html kept.html
check 'compare fails if it cannot write the page' fails page --html no/such/folder.html plain
check 'compare names the page that it cannot write' grep -q 'no/such' err
check 'compare does not replace a directory with a page' fails page --html long plain
check 'a failed page leaves the previous one unchanged' cmp -s page.html kept.html

# --- samples ---

awk 'BEGIN { for (i = 0; i < 200; i++) print "the", i % 7, "birds", i % 3 ? "sing" : "sleep" }' \
    >text.txt
"$bin/train" --layers 1 --dim 16 --heads 2 --context 16 --batch 4 --steps 20 --quiet \
    --run writer text.txt >out 2>err
check 'compare writes a page for a run with a model' page writer
"$bin/sample" --seed 1 --no-unk --length 60 writer >sample 2>err </dev/null
first=$(head -n 1 sample)
check 'the page has the sample that sample prints' grep -q -F "$first" page.html

# --- groups ---

# grid KINDS SEEDS ROWS NAME...: for each kind as many runs as seeds, NAME-KIND-SEED, with the
# setting attn; kinds are of several ideas.
grid() {
    names='softmax fox window linear relu gla hgrn2 delta kda'
    kinds=$1 seeds=$2 rows=$3 name=$4
    for kind in $(seq "$kinds"); do
        attn=$(echo "$names" | cut -d ' ' -f "$kind")
        for seed in $(seq "$seeds"); do
            more=$(awk -v k="$kind" -v s="$seed" 'BEGIN { print 0.03 * k + 0.01 * s * s }')
            run "$name/${attn:-kind-$kind}-seed$seed" "$rows" 5 "$texts
attn = ${attn:-kind-$kind}
seed = $seed
lr = ${rate:-0.001}"
        done
    done
    more=0
}
grid 4 3 100 twelve
grid 34 3 20 hundred
rm -r hundred/kind-34-seed[23]
check 'compare writes a page for a hundred runs' page hundred/*
check 'the page says how certain the ranking of many groups is' \
    grep -q 'class="verdict">softmax has .* Behind softmax, in this order: fox (.* and 26 more' page.html
check 'a hundred runs are compared and written within two seconds' \
    eval 'timeout 2 "$bin/compare" --html page.html hundred/* >out 2>err'
for rate in 0.001 0.003 0.01; do
    grid 3 2 40 "rates/$rate"
done

# --- a grid that is not finished ---

# grid_file STATE: the file of a grid of two runs, of which the second is in this state.
grid_file() {
    printf '{"command": ["train"], "seconds_left": 90, "runs": [%s, %s]}\n' \
        '{"run": "softmax-seed1", "state": "finished"}' \
        "{\"run\": \"softmax-seed2\", \"state\": \"$1\"}" >new.json
    mv new.json twelve/grid.json
}
grid_file open
check 'compare writes a page for a grid that is not finished' page twelve
check 'the page says how far the grid is' \
    grep -q '1 of 2 runs are finished, about 0:01:30 left' page.html
check 'without --watch it does not load itself anew' grep -q '"reload":0' page.html
"$bin/compare" --html watched.html --watch 1 twelve >watched 2>watched.err &
watcher=$!
eventually grep -q '"reload":1}' watched.html 2>err
cp watched.html reloading.html
check 'a watched page loads itself anew, also without scripts' \
    grep -q '<noscript><meta http-equiv="refresh" content="1">' watched.html
check 'compare --watch says what it waits for' \
    grep -q '1 of 2 runs finished; watched.html is written every 1 s' watched.err
grid_file finished
check 'compare --watch ends with the grid' wait "$watcher"
check 'it prints the results at the end' grep -q '^softmax ' watched
check 'the last page does not load itself anew' grep -q '"reload":0' watched.html
check 'compare --watch needs a grid' \
    eval '! "$bin/compare" --html page.html --watch 1 plain 2>err && grep -q "no grid given" err'
rm twelve/grid.json

# --- in a browser ---

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)

# used NAME WIDTH ARGUMENT...: opens the page in a window of this width, then of others, and counts
# drive.js's checks.
used() {
    name=$1 width=$2
    shift 2
    page "$@" || echo "failed: $name: compare writes a page"
    { cat page.html && echo '<script>' && cat "$top/tests/report/drive.js" && echo '</script>'; } \
        >driven.html
    {
        echo "<!DOCTYPE html><iframe style='border: 0; width: ${width}px; height: 900px'></iframe>"
        cat <<'END'
<pre id="verdict"></pre><script>
onmessage = event => document.getElementById('verdict').append('\n' + event.data);
const page = atob(`
END
        base64 driven.html
        cat <<'END'
`), bytes = Uint8Array.from(page, letter => letter.charCodeAt(0));
document.querySelector('iframe').srcdoc = new TextDecoder().decode(bytes);
</script>
END
    } >frame.html
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" \
        --virtual-time-budget=30000 --window-size=1400,1000 --dump-dom \
        "file://$work/frame.html" 2>err | sed -n '/id="verdict"/,/<\/pre>/p' >verdict
    passed=$((passed + $(grep -c '^pass ' verdict)))
    failed=$((failed + $(grep -c '^fail ' verdict)))
    sed -n "s/^fail /failed: $name: /p" verdict
    check "$name: drive.js finishes" grep -q '^pass all of it was tried' verdict
}

if [ -z "$browser" ]; then
    skip 'using the page in a browser: chromium is not installed'
else
    used 'one run' 1280 plain
    used 'two runs' 1280 plain one-row
    used 'seeds' 1280 plain plain-2 writer
    used 'a narrow window' 400 plain "$hostile_folder" diverged
    used 'hostile names' 1280 "$hostile_folder" "$rude" plain
    used 'many rows' 1280 long diverged
    used 'different tokenizers' 1280 words bytes
    used 'twelve runs' 1280 twelve/*
    used 'twelve runs in a narrow window' 400 twelve/*
    used 'a hundred runs' 1280 hundred/*
    used 'results by a setting' 1280 --by lr rates/*/*
    used 'values compared apart' 1280 --within lr rates/*/*
    cat >>reloading.html <<'END'
<script>
const first = document.querySelector('#legend button'), how = performance.getEntriesByType('navigation');
console.log(how[0].type + ', highlighted: ' + first.getAttribute('aria-pressed'));
if (how[0].type === 'navigate')
    first.click();
else
    clearTimeout(setTimeout(() => {}) - 1); /* once is enough */
</script>
END
    timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" \
        --virtual-time-budget=2500 --enable-logging=stderr --dump-dom \
        "file://$work/reloading.html" >out 2>err
    check 'a watched page keeps highlights when it loads itself anew' \
        grep -q 'reload, highlighted: true' err
fi

count_cases
