#!/bin/sh
# Trains a model of each attention kind under equal conditions and prints one table of what came
# out. About eight minutes a kind on two cores, or five with PRECISION=pair in the environment
# and a processor for it. A kind whose run is complete is not trained again. The measurements
# come last, and want a machine that does nothing else.
#
#   eval/kinds.sh [CORPUS [FOLDER [KIND...]]]      otherwise ptb.txt, runs/kinds, and all kinds
set -eu
bin=$(CDPATH='' cd -- "$(dirname -- "$0")/../bin" && pwd)
corpus=${1:-ptb.txt} folder=${2:-runs/kinds}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] && shift
kinds=${*:-$("$bin/train" --attn help | sed -n 's/^\([a-z][a-z0-9-]*\)  .*/\1/p')}
sizes='--layers 2 --dim 128 --heads 4 --context 128'
precision="--precision ${PRECISION:-single}"

train() {
    run=$folder/$1
    [ ! -f "$run/done" ] || return 0
    if [ -d "$run" ]; then
        "$bin/train" --quiet --resume "$run" >&2
    else
        # shellcheck disable=SC2086
        "$bin/train" --quiet --attn "$1" $sizes $precision --run "$run" "$corpus" >&2
    fi
    : >"$run/done"
}

# A number from a program's JSON, by its key.
number() { sed -n "s/.*\"$1\": *\([0-9.eE+-]*\).*/\1/p" | head -n 1; }
decode_rate() {
    # shellcheck disable=SC2086
    "$bin/bench" decode --attn "$1" $sizes --positions "$2" --repeats 5 --json |
        number tokens_per_second
}
row() {
    summary=$("$bin/compare" --json "$folder/$1")
    test_score=$("$bin/eval" "$folder/$1" "$corpus" --split test --json)
    # shellcheck disable=SC2086
    training=$("$bin/bench" train --attn "$1" $sizes $precision --repeats 20 --json)
    loss=$(echo "$summary" | number best_val_loss)
    printf '| %s | %.2f | %.2f | %.0f | %.0f | %.0f | %.0f | %s |\n' "$1" \
        "$(awk -v x="$loss" 'BEGIN { print exp(x) }')" \
        "$(echo "$test_score" | number perplexity)" \
        "$(echo "$training" | number tokens_per_second)" \
        "$(echo "$training" | number peak_rss_mb)" \
        "$(decode_rate "$1" 10)" "$(decode_rate "$1" 4000)" \
        "$(echo "$summary" | number parameters)"
}

mkdir -p "$folder"
for kind in $kinds; do
    train "$kind"
done
echo '| kind | validation | test | tokens/s | memory MB | decode at 10 | at 4,000 | parameters |'
echo '|---|---|---|---|---|---|---|---|'
for kind in $kinds; do
    row "$kind"
done
