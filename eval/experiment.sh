#!/bin/sh
# The experiments of RESULTS.md, from the training to its tables and pictures. Stopped, it goes on
# where it was: a run that is complete is neither trained nor scored again.
#
#   experiment.sh [PART...]        without any, all parts
#
# In the environment: PRECISION=pair for processors that have tiles, and RUNS, the folder that the
# runs are in (otherwise runs/experiment). In the folder of each run "command" tells how it was
# made, and "commit" of what.
set -eu
cd -- "$(dirname -- "$0")/.."
runs=${RUNS:-runs/experiment} precision=${PRECISION:-single}
report=eval/RESULTS.md stride=32

# --- runs ---

# score RUN CORPUS SPLIT: in windows of the context of training, which move by the stride.
score() {
    bin/eval "$1" "$2" --split "$3" --stride "$stride" --precision "$precision" >/dev/null
}

# run NAME CORPUS OPTIONS...: trains it to its end, and reads the validation and the test text.
run() {
    folder=$runs/$1 corpus=$2
    shift 2
    [ ! -f "$folder/done" ] || return 0
    echo "$folder" >&2
    if [ -f "$folder/last.safetensors" ] || [ -f "$folder/previous.safetensors" ]; then
        bin/train --quiet --resume "$folder"
    else
        rm -rf "$folder" # killed before its first save, it has nothing to go on from
        mkdir -p "$(dirname "$folder")"
        bin/train --quiet "$@" --precision "$precision" --run "$folder" "$corpus"
    fi
    [ -f "$folder/commit" ] || git rev-parse --short HEAD >"$folder/commit"
    echo "bin/train $* --precision $precision ${corpus##*/}" >"$folder/command"
    score "$folder" "$corpus" valid
    score "$folder" "$corpus" test
    : >"$folder/done"
}

# --- what is made of them ---

# publish NAME FILE: puts standard input between the marks of that name, in place of what is there.
publish() {
    cat >"$runs/part.md"
    awk -v begin="<!-- $1 -->" -v end="<!-- end of $1 -->" -v part="$runs/part.md" '
        $0 == end { within = 0; marks++ }
        !within
        $0 == begin { within = 1; marks++; while ((getline line < part) > 0) print line }
        END { exit marks != 2 }' "$2" >"$runs/whole.md" ||
        { echo "experiment.sh: the marks of '$1' are missing in $2" >&2; exit 1; }
    cat "$runs/whole.md" >"$2"
}

# A number from a program's JSON, by its key.
number() { sed -n "s/.*\"$1\": *\([0-9.eE+-]*\).*/\1/p" | head -n 1; }

# The perplexity of a run on a part of the text, as eval has noted it.
perplexity() {
    awk -F , -v part="$2" -v stride="$stride" '
        $1 == part && $3 == stride && $11 == "plain" { printf "%.2f", $9 }' "$1/scores.csv"
}

# Every complete run, and how it was made.
list_runs() {
    echo '| run | validation | test | minutes | commit | command |'
    echo '|---|---:|---:|---:|---|---|'
    for folder in $(find "$runs" -name 'done' -exec dirname {} + | sort -V); do
        printf '| %s | %s | %s | %s | %s | `%s` |\n' "${folder#"$runs"/}" \
            "$(perplexity "$folder" valid)" "$(perplexity "$folder" test)" \
            "$(tail -n 1 "$folder/log.csv" | awk -F , '{ printf "%.1f", $4 / 60 }')" \
            "$(cat "$folder/commit")" "$(cat "$folder/command")"
    done
}

# --- the parts ---

# Every kind with what suits it, once. Its speeds want a machine that does nothing else.
sizes='--layers 2 --dim 128 --heads 4 --context 128'
decode_rate() {
    # shellcheck disable=SC2086
    bin/bench decode --attn "$1" $sizes --positions "$2" --repeats 25 --json |
        number tokens_per_second
}
kind_row() {
    # shellcheck disable=SC2086
    speed=$(bin/bench train --attn "$1" $sizes --precision "$precision" --repeats 20 --json)
    printf '| `%s` | %s | %s | %.0f | %.0f | %.0f | %.0f | %s |\n' "$1" \
        "$(perplexity "$runs/kinds/$1" valid)" "$(perplexity "$runs/kinds/$1" test)" \
        "$(echo "$speed" | number tokens_per_second)" "$(echo "$speed" | number peak_rss_mb)" \
        "$(decode_rate "$1" 10)" "$(decode_rate "$1" 4000)" \
        "$(bin/compare --json "$runs/kinds/$1" | number parameters)"
}
kinds() {
    all=$(bin/train --attn help | sed -n 's/^\([a-z][a-z0-9-]*\)  .*/\1/p')
    for kind in $all; do
        # shellcheck disable=SC2086
        run "kinds/$kind" ptb.txt --attn "$kind" $sizes
    done
    {
        echo '| kind | validation | test | tokens/s | MB | decode at 10 | at 4,000 | parameters |'
        echo '|---|---:|---:|---:|---:|---:|---:|---:|'
        for kind in $all; do
            kind_row "$kind"
        done
    } | publish kinds src/attention/README.md
}

[ -f data/ptb.train.txt ] || {
    echo "experiment.sh: there is no data/ptb.train.txt; data/get-ptb puts it there" >&2
    exit 1
}
mkdir -p "$runs"
if [ $# -eq 0 ]; then
    set -- kinds
fi
for part; do
    case $part in
    kinds) "$part" ;;
    *)
        echo "experiment.sh: there is no part '$part'; the parts are: kinds" >&2
        exit 2
        ;;
    esac
done
list_runs | publish runs $report
