#!/bin/sh
# Runs the experiments of RESULTS.md and writes its tables and pictures. Interrupted, it resumes
# where it stopped: complete runs are neither trained nor scored again.
#
#   experiment.sh [PART...]        default: all parts
#
# Environment: PRECISION=bf16 for processors that multiply bf16; RUNS, the directory of the runs
# (default runs/experiment). Each run has a line in results.csv, from which the tables are made; a
# run that is repeated replaces its line.
set -eu
export LC_ALL=C # numbers with points
unset CDPATH
cd -- "$(dirname -- "$0")/.."
runs=${RUNS:-runs/experiment} precision=${PRECISION:-single}
results=eval/results.csv recalls=eval/recall.csv report=eval/RESULTS.md stride=32
corpus=ptb.txt          # of the runs; a part may set another
part=$runs/part.md # the output of a part, complete before it is published
parts='article tiny ablation small best night char length kinds convert tuning recall'

die() {
    echo "experiment.sh: $1" >&2
    exit 1
}

case $runs in
*' '*) die "RUNS=$runs: choose a path without blanks" ;;
esac

# --- runs ---

# score DIR OPTIONS...: scores with the context length of training and the stride.
score() {
    bin/eval "$@" --stride "$stride" --precision "$precision" "$corpus"
}

# The number of a key in a program's JSON.
number() { sed -n "s/.*\"$1\": *\([0-9.eE+-]*\).*/\1/p" | head -n 1; }

# This machine in a few words.
machine() {
    name=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1 | tr -s ', ' ' ')
    echo "$(getconf _NPROCESSORS_ONLN) processors of ${name:-$(uname -m)}"
}

# loss DIR SPLIT: the loss in nats that eval wrote to scores.csv.
loss() {
    awk -F , -v part="$2" -v stride="$stride" '
        $1 == part && $3 == stride && $11 == "plain" { found = $8 }
        END { print found }' "$1/scores.csv"
}

# record NAME: writes the line of a complete run to results.csv.
record() {
    folder=$runs/$1 line=$1
    summary=$(bin/compare --json "$folder")
    for value in "$(loss "$folder" valid)" "$(loss "$folder" test)" \
        "$(echo "$summary" | number seconds)" "$(echo "$summary" | number tokens_per_second)" \
        "$(echo "$summary" | number peak_mb)" "$(echo "$summary" | number parameters)" \
        "$(sed -n 1p "$folder.made")" "$(machine)" "$(sed -n 2p "$folder.made")"; do
        [ -n "$value" ] || die "$folder: a value is missing in log.csv or scores.csv, after '$line'"
        line=$line,$value
    done
    {
        head -n 1 "$results"
        {
            sed 1d "$results" | grep -v "^$1," || true
            echo "$line"
        } | sort -t , -k 1,1
    } >"$results.new"
    mv "$results.new" "$results"
}

# Notes the command and commit that start a run; resuming keeps them.
begin() {
    if [ -e "$1/lock" ] && ! flock --nonblock "$1/lock" true; then
        die "$1: it is still being trained; wait for process $(cat "$1/lock"), or stop it"
    fi
    rm -rf "$1" # a run killed before its first checkpoint cannot be resumed
    mkdir -p "$(dirname "$1")"
    commit=$(git rev-parse --short HEAD 2>/dev/null) || commit=unknown
    printf '%s\n' "$commit" "$2" >"$1.made"
}

# started_by DIR COMMAND: fails if something else started the run.
started_by() {
    [ "$(sed -n 2p "$1.made")" = "$2" ] || die "$1 was not started by '$2'; move it away"
}

# finish DIR COMMAND OPTIONS...: trains a run to its end.
finish() {
    folder=$1 command=$2
    shift 2
    if [ -f "$folder/last.safetensors" ] || [ -f "$folder/previous.safetensors" ]; then
        started_by "$folder" "$command"
        bin/train --quiet --resume "$folder"
    else
        begin "$folder" "$command"
        bin/train --quiet "$@" --run "$folder" "$corpus"
    fi
}

# run NAME OPTIONS...: trains to the end and scores the validation and test texts.
run() {
    name=$1
    shift
    set -- "$@" --precision "$precision"
    command="bin/train $* $corpus"
    if [ ! -f "$runs/$name/done" ]; then
        echo "$runs/$name" >&2
        finish "$runs/$name" "$command" "$@"
        score "$runs/$name" --split valid >/dev/null
        score "$runs/$name" --split test >/dev/null
        record "$name"
        : >"$runs/$name/done"
        return
    fi
    started_by "$runs/$name" "$command"
    grep -q "^$name," "$results" || record "$name"
}

# row NAME OPTIONS...: makes sure that results.csv has the row of this run; its folder is only needed
# to train it. A row of another command is an error, as is a folder of another one.
row() {
    name=$1
    shift
    command="bin/train $* --precision $precision $corpus"
    found=$(awk -F , -v name="$name" '$1 == name { print $10 }' "$results")
    [ -z "$found" ] || [ "$found" = "$command" ] ||
        die "$results: the row of $name is of '$found', not of '$command'; rename one of them"
    [ -n "$found" ] || run "$name" "$@"
}

# validation NAME: the loss in its row.
validation() { awk -F , -v name="$1" '$1 == name { print $2 }' "$results"; }

# preset NAME: the settings of models/NAME.conf as options, since presets change and rows do not.
preset() {
    switches=$(bin/train --help all | sed -n 's/^  --\[no-\]\([a-z0-9-]*\).*/\1/p')
    sed 's/#.*//' "models/$1.conf" | while read -r setting _ value; do
        case $(echo "$switches" | grep -q -x -e "$setting" && echo switch):$value in
        :) ;;
        switch:no) echo "--no-$setting" ;;
        switch:*) echo "--$setting" ;;
        *) echo "--$setting $value" ;;
        esac
    done
}

# --- tables ---

# publish NAME FILE: replaces the text between the marks of that name with the part.
publish() {
    awk -v begin="<!-- $1 -->" -v end="<!-- end of $1 -->" -v part="$part" '
        $0 == end { within = 0; marks++ }
        !within
        $0 == begin { within = 1; marks++; while ((getline line < part) > 0) print line }
        END { exit marks != 2 }' "$2" >"$2.new" || {
        rm "$2.new"
        die "$2: the marks of '$1' are missing"
    }
    mv "$2.new" "$2"
}

# table BASE PART: the base run, then the runs of the part in order of validation loss.
table() {
    echo '| run | parameters | validation ppl | test ppl | test ppl vs. first | minutes | tokens/s | MB |'
    echo '|---|---:|---:|---:|---:|---:|---:|---:|'
    {
        grep "^$1," "$results"
        grep "^$2/" "$results" | grep -v "^$1," | sort -t , -k 2,2g
    } | awk -F , '
        END { exit NR == 0 } # no line of the base
        NR == 1 { first = $3 }
        {
            change = NR > 1 ? sprintf("%+.1f %%", 100 * (exp($3 - first) - 1)) : ""
            printf "| %s | %d | %.2f | %.2f | %s | %.1f | %.0f | %.0f |\n",
                $1, $7, exp($2), exp($3), change, $4 / 60, $5, $6
        }'
}

# All complete runs and their commands.
list_runs() {
    echo '| run | validation | test | minutes | machine | commit | command |'
    echo '|---|---:|---:|---:|---|---|---|'
    sed 1d "$results" | awk -F , '{
        printf "| %s | %.2f | %.2f | %.1f | %s | %s | `%s` |\n",
            $1, exp($2), exp($3), $4 / 60, $9, $8, $10 }'
}

# --- the parts ---

# The plain recipe in single precision, with three seeds per kind for confidence intervals.
article() (
    precision=single
    for seed in 1 2 3; do
        for kind in softmax linear; do
            run "article/$kind-$seed" --preset article --attn "$kind" --seed "$seed"
        done
    done
    {
        bin/compare "$runs"/article/softmax-? "$runs"/article/linear-? --markdown \
            --svg eval/article.svg
        printf '\n![Validation loss by epoch, means and bands of the seeds](article.svg)\n'
    } >"$part"
    publish article $report
)

# "Test perplexity relative to softmax: linear +12 %, ..." from the means of the seeds.
tiny_title() {
    for kind in softmax linear gated-delta; do
        grep "^tiny/$kind-" "$results"
    done | awk -F , '
        { kind = $1; gsub("^tiny/|-[0-9]+$", "", kind) }
        !(kind in runs) { order[count++] = kind }
        { loss[kind] += $3; runs[kind]++ }
        END {
            printf "Test perplexity relative to %s:", order[0]
            for (i = 1; i < count; i++) {
                difference = loss[order[i]] / runs[order[i]] - loss[order[0]] / runs[order[0]]
                printf "%s %s %+.0f %%", (i > 1 ? "," : ""), order[i], 100 * (exp(difference) - 1)
            }
        }'
}

# three_seeds GROUP OPTIONS...: the kinds of tiny with these options.
three_seeds() {
    group=$1
    shift
    for seed in 1 2 3; do
        for kind in softmax linear gated-delta; do
            run "$group/$kind-$seed" "$@" --attn "$kind" --seed "$seed"
        done
    done
}

tiny() {
    three_seeds tiny --preset tiny
    bin/compare "$runs"/tiny/softmax-? "$runs"/tiny/linear-? "$runs"/tiny/gated-delta-? \
        --markdown --svg eval/curves.svg --title "$(tiny_title)" >"$part"
    publish tiny $report
    bin/compare "$runs"/tiny/softmax-? "$runs"/tiny/linear-? --svg eval/loss.svg \
        --title 'Softmax attention learns more per epoch' >/dev/null
}

# soften RUN...: sets $soft, a file of soft targets: what the runs predict on average.
soften() {
    soft=$runs/${1%%/*}/soft-targets
    [ -f "$soft" ] && return
    for name; do
        shift
        set -- "$@" "$runs/$name"
    done
    bin/eval --split train --stride 64 --precision "$precision" --soft-targets "$soft" "$@" \
        "$corpus" >/dev/null
}

# The options of tiny before strong weight decay and beta2 .99; the ablations start from these.
tiny_before='--beta2 .95 --weight-decay .1 --embedding-decay 1 --word-dropout .05 --no-value-residual
    --no-head-gate'

# change NAME OPTIONS...: tiny as it was, with other options.
# shellcheck disable=SC2086
change() {
    name=$1
    shift
    run "ablation/$name" --preset tiny $tiny_before "$@"
}

# shellcheck disable=SC2086
ablation() {
    three_seeds tiny-before --preset tiny $tiny_before
    without='--word-dropout 0 --input-dropout 0 --output-dropout 0' # no dropout
    # parts of tiny removed
    change without-muon --optimizer adamw --lr 2e-3
    change without-relu2 --act gelu
    change without-qk-norm --no-qk-norm
    change without-zero-init --no-zero-init
    change without-unigram-bias --head-bias no
    change without-tying --no-tied
    change without-trapezoid --schedule cosine
    change without-rotary --pos learned
    change without-word-dropout --word-dropout 0
    change without-input-dropout --input-dropout 0
    change without-output-dropout --output-dropout 0
    change without-any-dropout $without
    change without-weight-decay --weight-decay 0
    # parts added
    change with-branch-dropout --dropout 0.1
    change with-attention-dropout --attn-dropout 0.1
    change with-value-residual --value-residual
    change with-value-residual-2 --value-residual --seed 2
    change with-logit-cap --logit-cap 30
    change with-convolution --conv yes
    change with-residual-convolution --conv residual
    change with-tail-average --average tail --average-from 0.8
    change with-moving-average --average ema
    change with-longer-context --context 256 --batch 8
    change with-more-heads --heads 8
    # stronger weight decay, mostly in place of dropout
    change with-decay-1-no-dropout --weight-decay 1 $without
    change with-decay-1-embedding-.1 --weight-decay 1 --embedding-decay .1
    change with-decay-1-embedding-.1-no-dropout --weight-decay 1 --embedding-decay .1 $without
    change with-decay-2-embedding-.05-no-dropout --weight-decay 2 --embedding-decay .05 $without
    with_values="--embedding-decay .1 $without --value-residual --head-gate"
    change with-decay-1-and-values $with_values --weight-decay 1
    change with-decay-1-and-values-batch-8 $with_values --weight-decay .75 --batch 8 --lr 2e-3
    change with-decay-1-and-values-linear $with_values --weight-decay 1 --schedule linear
    change with-decay-1-and-values-lr $with_values --weight-decay 1.5 --lr 2e-3
    change with-decay-1-and-values-beta2 $with_values --weight-decay 1 --beta2 .99

    soften ablation/with-decay-1-embedding-.1-no-dropout ablation/with-decay-1-embedding-.1
    change with-decay-1-and-soft-targets --weight-decay 1 --embedding-decay .1 $without \
        --soft-targets "$soft"
    # other attention kinds
    change with-softmax1 --attn softmax1
    change with-window+softmax --attn window+softmax --window 32
    change with-window+gated-delta --attn window+gated-delta
    change with-gated-delta-turned --attn gated-delta --pos rotary
    change with-gated-delta-not-normed --attn gated-delta --no-qk-norm
    [ "$precision" = single ] || (precision=single && change in-single-precision)
    table tiny-before/softmax-1 ablation >"$part"
    publish ablation $report
}

# small before beta2 .99 and much dropout: the teacher of the conversions.
small_decay='--beta2 .95 --word-dropout .05 --input-dropout .2 --output-dropout .2'

# Three seeds of softmax and of a kind in linear time with as many parameters, for which its MLP is
# smaller; then softmax and the recipes that the preset had before, from the oldest.
# shellcheck disable=SC2086
small() {
    hybrid='--attn window+gated-delta --ffn 952'
    for seed in 1 2 3; do
        run "small/softmax-$seed" --preset small --attn softmax --seed "$seed"
        run "small/window+gated-delta-$seed" --preset small $hybrid --seed "$seed"
    done
    run small-decay/softmax --preset small $small_decay
    run small-beta2/softmax --preset small $small_decay --beta2 .99
    set -- --preset small --beta2 .95 --weight-decay .1 --embedding-decay 1 --no-head-gate \
        --word-dropout .15
    run small-before/softmax "$@"
    run small-before/window+gated-delta "$@" $hybrid
    run small-before/linear "$@" --attn linear
    {
        bin/compare "$runs"/small/softmax-? "$runs"/small/window+gated-delta-? --markdown \
            --svg eval/small.svg
        printf '\n![Validation loss by epoch, means and ranges of the seeds](small.svg)\n\n'
        table small-before/softmax 'small[a-z0-9-]*'
    } >"$part"
    publish small $report
}

# with_other_ways NAME OPTIONS...: the row of a run; below it, what other ways of scoring give. Their
# parameters come from the validation text.
with_other_ways() {
    name=$1 ways=$runs/$1/ways.txt
    shift
    if [ ! -f "$ways" ]; then
        score "$runs/$name" --split test "$@" >"$ways.new"
        mv "$ways.new" "$ways"
    fi
    {
        table "$name" "$name"
        printf '\n```text\n'
        cat "$ways"
        echo '```'
    } >"$part"
    publish "$name" $report
}

best() {
    run best --preset best
    with_other_ways best --tune-temperature --cache 2000 --tune-cache --dynamic --tune-dynamic
}

night() {
    run night --preset night
    with_other_ways night --dynamic --dynamic-segment 16 --dynamic-lr 2e-5 --dynamic-decay .0007
}

# The preset, and those before it: narrower, without n-gram embeddings, for an hour.
char() {
    run char --preset char
    run char-narrow --preset char --dim 192 --heads 3 --epochs 13
    run char-without-ngrams --preset char --dim 192 --heads 3 --ngrams 1 --beta2 .95 \
        --weight-decay .5 --epochs 11
    run char-before --preset char --attn window+window+softmax+window+softmax --layers 5 \
        --dim 192 --heads 6 --no-value-residual --no-head-gate --ngrams 1 --beta2 .95 \
        --weight-decay .1 --embedding-decay 1 --epochs 7
    {
        echo '| run | parameters | validation bits | test bits | minutes |'
        echo '|---|---:|---:|---:|---:|'
        grep -E '^char(-[a-z]+)*,' $results | awk -F , '{
            printf "| %s | %d | %.4f | %.4f | %.0f |\n", $1, $7, $2 / log(2), $3 / log(2), $4 / 60 }'
    } >"$part"
    publish char $report
}

# Milliseconds of attention, forward + backward, by sequence length; needs an idle machine.
length() {
    bin/bench attention --batch 8 --dim 64 --heads 1 --repeats 5 --csv \
        --n 128,256,512,1024,2048,4096,8192 --kinds softmax,window,linear,gated-delta \
        --title 'Softmax attention takes time quadratic in the length, the others linear' \
        --svg eval/length.svg >"$runs/length.csv"
    {
        printf '![Time of a forward pass by sequence length and kind](length.svg)\n\n'
        echo '| length | `softmax` | `window` | `linear` | `gated-delta` |'
        echo '|---:|---:|---:|---:|---:|'
        sed 1d "$runs/length.csv" | awk -F , '
            !($2 in row) { row[$2] = "| " $2; order[++count] = $2 }
            { row[$2] = sprintf("%s | %.1f + %.1f", row[$2], $4, $5) }
            END { for (i = 1; i <= count; i++) print row[order[i]] " |" }'
    } >"$part"
    publish length $report
    bin/bench attention --batch 8 --dim 64 --heads 1 --repeats 7 --kinds softmax,linear \
        --n 128,256,512,1024,2048,4096,8192 --svg eval/time.svg \
        --title 'Linear attention is faster, ever more with length' >/dev/null
}

# The kinds, then softmax and linear attention with the parts that the delta kinds have, so that kind
# and part come apart: a line for each, its name and its options.
kinds_list() {
    parts_of_delta='--conv yes --head-norm yes --out-gate yes'
    bin/train --attn help | sed -n 's/^\([a-z][a-z0-9-]*\)  .*/\1 --attn \1/p'
    for kind in softmax linear; do
        echo "$kind+parts --attn $kind $parts_of_delta"
        echo "$kind+gate --attn $kind --head-gate"
    done
}

# lower LOSS BEST: whether it is a number, and lower than the best one, which may be empty.
lower() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a ~ /^[0-9]/ && (b == "" || a < b)) }'; }

# best_rate NAME OPTIONS...: sets $rate, the learning rate with the lowest validation loss of seed 1:
# three rates, and further ones while the best is at an edge.
best_rate() {
    group=$1 ladder='2.5e-4 5e-4 1e-3 2e-3 4e-3 8e-3 1.6e-2 3.2e-2' low=5 high=7
    shift
    while :; do
        best='' place=0
        for candidate in $ladder; do
            place=$((place + 1))
            [ $place -ge $low ] && [ $place -le $high ] || continue
            row "$group-$candidate-1" "$@" --lr "$candidate" --seed 1
            loss=$(validation "$group-$candidate-1")
            if lower "$loss" "$best"; then
                best=$loss rate=$candidate at=$place
            fi
        done
        if [ $at -eq $low ] && [ $low -gt 1 ]; then
            low=$((low - 1))
        elif [ $at -eq $high ] && [ $high -lt 8 ]; then
            high=$((high + 1))
        else
            return 0
        fi
    done
}

# Every kind with as many parameters as softmax, at its best learning rate, three seeds: 37 rows of
# six runs or more, two minutes each in bf16 on two cores with AMX, some seven hours. In a pilot ten
# epochs instead of five left the order of softmax, linear, gated-delta and retention and their gaps
# in nats as they were, to .011.
# shellcheck disable=SC2086
kinds() {
    recipe="$(preset kinds | sed '/^--lr /d; /^--batch /d; s/^--epochs .*/--epochs 5/' | tr '\n' ' ')--batch 16"
    kinds_list >"$runs/kinds.list"
    while read -r label options <&3; do
        set -- $recipe --match-params 1676800 $options
        best_rate "kinds/$label" "$@"
        for seed in 2 3; do
            row "kinds/$label-$rate-$seed" "$@" --lr "$rate" --seed "$seed"
        done
    done 3<"$runs/kinds.list"
}

# The validation loss in a log: at the start, after matching and the lowest one after that. A run
# without the first stage has only the last of them.
stages() {
    awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
        $column["val_loss"] == "" { next }
        $1 == 0 { start = $column["val_loss"]; next }
        $column["match_loss"] != "" { matched = $column["val_loss"]; next }
        low == "" || $column["val_loss"] + 0 < low { low = $column["val_loss"] + 0 }
        END {
            printf "%s | %s | %.2f", start == "" ? "" : sprintf("%.2f", exp(start)),
                matched == "" ? "" : sprintf("%.2f", exp(matched)), exp(low) }' "$runs/$1/log.csv"
}
# conversion_row WORDS NAME TEACHER: a line of the table, in relation to the teacher.
conversion_row() {
    grep -h "^$2,\|^$3," $results | awk -F , -v name="$2" -v first="$3" -v words="$1" \
        -v stages="$(stages "$2")" '
        $1 == name { test = $3; minutes = $4 / 60 }
        $1 != name || name == first { teacher = $3; full = $4 / 60 }
        END {
            printf "| %s | %s | %.2f | %+.1f %% | %.1f | %.0f %% |\n", words, stages, exp(test),
                100 * (exp(test - teacher) - 1), minutes, 100 * minutes / full }'
}
# The softmax model of small converted to other kinds, beside new models of these kinds.
# shellcheck disable=SC2086
convert() (
    teacher=small-decay/softmax
    run "$teacher" --preset small $small_decay
    for kind in hedgehog gated-delta; do
        run "convert/$kind-converted" --convert "$runs/$teacher" --attn "$kind" --epochs 3
        run "convert/$kind-short" --preset small $small_decay --attn "$kind" --epochs 3
        run "convert/$kind-anew" --preset small $small_decay --attn "$kind"
    done
    {
        echo '| model | at the start | after matching | at the end | test | against softmax | minutes | of the full time |'
        echo '|---|---:|---:|---:|---:|---:|---:|---:|'
        conversion_row '`softmax`, the teacher' "$teacher" "$teacher"
        for kind in hedgehog gated-delta; do
            conversion_row "\`$kind\`, converted" "convert/$kind-converted" "$teacher"
            conversion_row "\`$kind\`, from scratch, 3 epochs" "convert/$kind-short" "$teacher"
            conversion_row "\`$kind\`, from scratch" "convert/$kind-anew" "$teacher"
        done
    } >"$part"
    publish convert $report
)

# "Bits per byte of the manual: 2.10 from scratch, 1.80 after the book", the lowest of the logs.
lowest_bits() {
    awk -F , 'NR > 1 && $11 != "" && (low == "" || $11 + 0 < low) { low = $11 + 0 }
        END { printf "%.2f", low }' "$runs/tuning/$1/log.csv"
}
tuning_title() {
    echo "Bits per byte of a manual: $(lowest_bits anew) from scratch, $(lowest_bits tuned) after a book"
}

# A model of a book learns the Debian Policy Manual, beside models that know nothing yet. The book
# has the settings of README.md, but one epoch.
tuning() (
    mkdir -p "$runs/tuning"
    for package in anarchism debian-policy; do
        [ -d /usr/share/doc/$package ] || die "the Debian package $package is missing; install it"
    done
    zcat -f /usr/share/doc/anarchism/markdown/* >"$runs/tuning/book.txt"
    zcat /usr/share/doc/debian-policy/policy.txt.gz >"$runs/tuning/policy.txt"
    corpus=$runs/tuning/book.txt
    run tuning/book --tokens bpe --vocab-size 4096 --epochs 1
    corpus=$runs/tuning/policy.txt
    set -- --epochs 15 --eval-every 40 --eval-tokens 0
    run tuning/anew "$@" --tokens bpe --vocab-size 4096
    run tuning/tuned "$@" --init "$runs/tuning/book" --lr 1e-3
    run tuning/tuned-own-tokens "$@" --init "$runs/tuning/book" --init-tokens text --lr 1e-3
    {
        bin/compare "$runs/tuning/anew" "$runs/tuning/tuned" "$runs/tuning/tuned-own-tokens" \
            --markdown --svg eval/tuning.svg --title "$(tuning_title)"
        printf '\n![Validation loss by epoch of the manual](tuning.svg)\n'
    } >"$part"
    publish tuning $report
)

# --- recall: accuracy of multi-query associative recall against the number of pairs ---

# recall_name KIND PAIRS RATE SEED: the name of a run, which says all that differs.
recall_name() { echo "recall/$1-$2-$3-$4"; }

# recall_train KIND PAIRS RATE SEED: trains the run to its end.
recall_train() {
    name=$(recall_name "$@") corpus=recall:pairs=$2,keys=128,lines=10000
    options="--preset recall --attn $1 --epochs 4 --lr $3 --seed $4 --precision $precision"
    command="bin/train $options $corpus"
    [ ! -f "$runs/$name/done" ] || return 0
    echo "$runs/$name" >&2
    # shellcheck disable=SC2086
    finish "$runs/$name" "$command" $options
    : >"$runs/$name/done"
}

# recall_accuracy KIND PAIRS RATE SEED: prints it in percent, from its line in recall.csv; trains
# the run if it has none.
recall_accuracy() {
    name=$(recall_name "$@")
    if ! grep -q "^$name," "$recalls"; then
        recall_train "$@"
        summary=$(bin/compare --json "$runs/$name")
        echo "$name,$(echo "$summary" | number best_val_accuracy | awk '{ print 100 * $1 }'),$(
            echo "$summary" | number state_bytes),$(sed -n 1p "$runs/$name.made"),$(machine)" \
            >>"$recalls"
    fi
    awk -F , -v name="$name" '$1 == name { print $2 }' "$recalls"
}

# within VALUE LOW HIGH
within() { awk "BEGIN { exit !($1 >= $2 && $1 < $3) }"; }

# recall_cell KIND PAIRS: prints the learning rate that answers best, and then the accuracy of
# every seed. The preset's rate stands if it answers 95 %. Otherwise a higher one is tried and, if
# that is no better, a lower one. What lies between 10 and 95 % has three seeds.
recall_cell() {
    rate=3e-3 best=$(recall_accuracy "$1" "$2" 3e-3 1)
    for other in 1e-2 1e-3; do
        if [ "$rate" = 3e-3 ] && within "$best" 0 95; then
            accuracy=$(recall_accuracy "$1" "$2" "$other" 1)
            if within "$best" 0 "$accuracy"; then
                rate=$other best=$accuracy
            fi
        fi
    done
    echo "$rate $best"
    if within "$best" 10 95; then
        for seed in 2 3; do
            recall_accuracy "$1" "$2" "$rate" "$seed"
        done
    fi
}

# About a minute a run, in all some three hours on two idle processors. The table has all kinds,
# the picture those of $drawn. A kind of which every run answers less than half is not asked more
# pairs.
recall() (
    pairs='16 32 64' pictured=''
    drawn=' softmax fox window linear taylor2 hedgehog retention gla mamba2 delta gated-delta kda comba rwkv7 '
    {
        echo '| accuracy, % | state | 16 pairs | 32 pairs | 64 pairs |'
        echo '|---|---:|---:|---:|---:|'
    } >"$part"
    for kind in $(bin/train --attn help | sed -n 's/^\([a-z][a-z0-9-]*\)  .*/\1/p'); do
        row='' best=100
        for count in $pairs; do
            if within "$best" 0 50; then
                row="$row | -"
                continue
            fi
            # shellcheck disable=SC2046
            set -- $(recall_cell "$kind" "$count")
            name=$(recall_name "$kind" "$count" 3e-3 1)
            best=$(echo "$@" | tr ' ' '\n' | sed 1d | sort -g | tail -n 1)
            row="$row | $(echo "$@" | awk '{
                low = high = $2
                for (i = 2; i <= NF; i++) {
                    sum += $i
                    low = $i < low ? $i : low
                    high = $i > high ? $i : high
                }
                printf "%.1f", sum / (NF - 1)
                if (NF > 2) printf " (%.0f to %.0f)", low, high
                if ($1 != "3e-3") printf " at %s", $1 }')"
            case $drawn in
            *" $kind "*)
                for seed in $(seq $(($# - 1))); do
                    recall_train "$kind" "$count" "$1" "$seed"
                    pictured="$pictured $runs/$(recall_name "$kind" "$count" "$1" "$seed")"
                done
                ;;
            esac
        done
        state=$(awk -F , -v name="$name" '$1 == name { print $3 }' "$recalls")
        echo "| $kind | $(((state + 500) / 1000)) kB$row |" >>"$part"
    done
    # shellcheck disable=SC2086
    bin/compare $pictured --by pairs --svg eval/recall.svg \
        --title 'For their bytes, states with the delta rule answer the most pairs' >/dev/null
    printf '\n![Accuracy by the number of pairs, a line for each kind](recall.svg)\n' >>"$part"
    publish recall $report
)

if [ $# -eq 0 ]; then
    # shellcheck disable=SC2086
    set -- $parts
fi
for wanted; do
    case " $parts " in
    *" $wanted "*) ;;
    *) die "unknown part '$wanted'; the parts are: $parts" ;;
    esac
    case " length recall tuning " in # need no text
    *" $wanted "*) ;;
    *)
        [ -f data/ptb.train.txt ] ||
            die "data/ptb.train.txt is missing; get it with data/get ptb"
        ;;
    esac
done
mkdir -p "$runs"
for wanted; do
    "$wanted"
done
list_runs >"$part"
publish runs $report
