#!/bin/sh
# Tests what eval does beyond the loss of a model: temperature, neural cache, dynamic evaluation,
# baselines.
. "$(dirname -- "$0")/../commands.sh"
export COLUMNS=300 # a line for each sentence

train softmax text.txt
train linear --attn linear text.txt

# --- temperature, neural cache, dynamic evaluation ---

eval_json softmax text.txt --split test
plain=$(field nats)
cp -r softmax ways
rm -f ways/scores.csv
run "$bin/eval" ways text.txt --split test && cp out plain.txt
run "$bin/eval" ways text.txt --split test --temperature 1.5 --cache 50 --dynamic
check 'eval combines temperature, cache and dynamic evaluation' exits 0
check 'eval prints the plain score first' begins out plain.txt
check 'eval prints a line for the temperature' prints '^temperature 1.5: loss '
check 'eval prints a line for the neural cache' \
    prints '^cache 50, theta 0.01, lambda 0.15: loss '
check 'eval prints a line for dynamic evaluation' \
    prints '^dynamic 16, lr 0.0001, decay 0.003, epsilon 0.1, statistics 200: loss '
check 'eval prints no further lines' lines out 5
check 'eval saves the scores of all methods' \
    [ "$(cut -d , -f 11,12 ways/scores.csv | tr '\n' ' ')" = "method,found \
plain, temperature 1.5, cache 50 theta 0.01 lambda 0.15, \
dynamic 16 lr 0.0001 decay 0.003 epsilon 0.1 statistics 200, " ]
run "$bin/compare" ways
check 'compare shows the plain score' \
    prints "  $(sed -n 's/.*perplexity \([0-9.]*\),.*/\1/p' plain.txt)  *"
check 'dynamic evaluation does not change the checkpoint' \
    same ways/best.safetensors softmax/best.safetensors
run "$bin/eval" ways text.txt --split test --tune-temperature --cache 50 --tune-cache \
    --dynamic --dynamic-statistics 20 --tune-dynamic
check 'eval marks tuned parameters' \
    eval "prints '^temperature [0-9.]*, tuned on the validation text: ' &&
    prints '^cache 50, theta [0-9.]*, lambda [0-9.]*, tuned on the validation text: ' &&
    prints '^dynamic 16, lr [^ ]*, decay [^ ]*, epsilon 0.1, statistics 20, tuned on the \
validation text: '"
check 'eval saves the tuned parameters of the cache' grep -q \
    ',cache 50 theta tuned lambda tuned,theta [0-9.]* lambda [0-9.]*,' ways/scores.csv
check 'eval saves the tuned parameters of dynamic evaluation' grep -q \
    ',dynamic 16 lr tuned decay tuned epsilon 0.1 statistics 20,lr [^ ]* decay [^ ]*,' \
    ways/scores.csv
run "$bin/eval" softmax/best.safetensors text.txt --tune-temperature
check 'eval warns of tuning on the text that is scored' prints 'tuned on this very text'
eval_json softmax text.txt --split test --temperature 1 --cache 50 --cache-lambda 0 --dynamic \
    --dynamic-lr 0
check 'eval --json has all methods' \
    eval "is_json && prints '\"ways\": \[{\"method\": \"temperature\"'"
check 'methods that change nothing give one loss' \
    [ "$(grep -o '"nats": [0-9]*\.[0-9]' out | sort -u | wc -l)" -eq 1 ]
check 'methods that change nothing give the plain loss' near "$(field nats)" "$plain" 1e-6
ways='--split test --temperature 0.7 --cache 9 --dynamic --stride 4'
# shellcheck disable=SC2086
eval_json linear text.txt $ways && cp out first
# shellcheck disable=SC2086
eval_json linear text.txt $ways --threads 3
check 'the number of threads does not change any method' same out first
# Four words repeated in an order that the training text does not have.
yes 'alone flies wren this' | head -n 32 >again.txt
eval_json softmax text.txt --test again.txt --split test
plain=$(field nats)
eval_json softmax text.txt --test again.txt --split test --cache 50 --dynamic \
    --dynamic-lr 0.003 --dynamic-segment 4
nats_of() { sed -n "s/.*\"method\": \"$1\"[^}]*\"nats\": \([0-9.]*\).*/\1/p" out; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a + 0 < b + 0) }'; }
check 'a neural cache lowers the loss of a repetitive text' less "$(nats_of cache)" "$plain"
check 'dynamic evaluation lowers the loss of a repetitive text' \
    less "$(nats_of dynamic)" "$plain"

train carrying --attn gated-delta --pos none --carry-state text.txt
run "$bin/eval" carrying text.txt --temperature 1.2 --cache 20 --dynamic
check 'eval scores a model that carries its state' eval "exits 0 && prints '^dynamic 16, '"
refused 'eval refuses several streams for a cache over a carried state' 2 '--batch 2: ' \
    "$bin/eval" carrying text.txt --batch 2 --cache 20
refused 'eval refuses segments for dynamic evaluation over a carried state' 2 \
    '--dynamic-segment 4: ' \
    "$bin/eval" carrying text.txt --dynamic --dynamic-segment 4
run "$bin/eval" softmax text.txt --dynamic --dynamic-lr 1e6
check 'eval reports a diverged dynamic evaluation' \
    says '--dynamic-lr of 1e+06 does no better.*--tune-dynamic'
works '--no-tune-cache needs no --cache' "$bin/eval" softmax text.txt --no-tune-cache
refused 'eval refuses two temperatures' 2 '--tune-temperature searches' \
    "$bin/eval" softmax text.txt --temperature 2 --tune-temperature
refused 'eval refuses a temperature that is too low' 2 '--temperature 0.001' \
    "$bin/eval" softmax text.txt --temperature 0.001
refused 'eval refuses --cache-theta without --cache' 2 \
    '--cache-theta only has an effect with --cache' \
    "$bin/eval" softmax text.txt --cache-theta 1
refused 'eval refuses --cache-theta with --tune-cache' 2 '--tune-cache searches for' \
    "$bin/eval" softmax text.txt --cache 9 --tune-cache --cache-theta 1
refused 'eval refuses --dynamic-lr with --tune-dynamic' 2 '--tune-dynamic searches for' \
    "$bin/eval" softmax text.txt --dynamic --tune-dynamic --dynamic-lr 1e-4
refused 'eval refuses --dynamic-segment without --dynamic' 2 \
    '--dynamic-segment only has an effect with --dynamic' \
    "$bin/eval" softmax text.txt --dynamic-segment 3
refused 'eval refuses a segment longer than the window' 2 'longer than --context 16' \
    "$bin/eval" softmax text.txt --dynamic --dynamic-segment 17

# --- baselines ---

baseline() { run "$bin/eval" --baseline "$@"; }
baseline text.txt
check 'eval --baseline scores a Kneser-Ney model without a run' \
    eval "exits 0 && prints '^5-gram, Kneser-Ney: loss '"
check 'eval --baseline scores a unigram model' prints '^unigram: loss .* perplexity [0-9]'
baseline text.txt --split test --order 2 --json
check 'eval --baseline --json is JSON' is_json
check 'eval --baseline --json has the order' prints '"order": 2}'
printf 'the cuckoo sings here\nthe cuckoo sings\n' >cuckoo.txt
baseline text.txt --test cuckoo.txt --split test
check 'eval --baseline reports tokens of probability zero' prints \
    '^unigram: perplexity infinite, as 2 of 9 tokens do not occur .* of the other tokens [0-9.]*$'
check 'eval --baseline gives n-grams a finite loss there' \
    prints '^5-gram, Kneser-Ney: loss [0-9.]* '
baseline text.txt --test cuckoo.txt --split test --json
check 'eval --baseline --json writes an infinite loss as null' \
    prints '"loss": null, .*"impossible": 2'
for kind in char byte; do
    works "eval --baseline scores ${kind}s" "$bin/eval" --baseline --tokens "$kind" text.txt
done
# Only with the Penn Treebank. 141.2 is Mikolov's published figure.
known() {
    baseline "$top/data/ptb.txt" --split "$1"
    check "the unigram perplexity of the Penn Treebank's $1 text is the known one" \
        prints "^unigram: .* perplexity $2,"
    check "the 5-gram perplexity of the Penn Treebank's $1 text is the known one" \
        prints "^5-gram, Kneser-Ney: .* perplexity $3,"
}
if [ -f "$top/data/ptb.train.txt" ]; then
    known valid 687.03 148.01
    known test 639.30 141.19
fi
refused 'eval refuses --baseline with a run' 2 'exactly one corpus' \
    "$bin/eval" --baseline softmax text.txt
refused 'eval refuses --baseline with --context' 2 '--context needs a model' \
    "$bin/eval" --baseline text.txt --context 5
refused 'eval refuses --order without --baseline' 2 '--order only has an effect with --baseline' \
    "$bin/eval" softmax text.txt --order 3
refused 'eval --baseline refuses a missing corpus' 1 'missing.txt' \
    "$bin/eval" --baseline missing.txt

count_cases
