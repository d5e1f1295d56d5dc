#!/bin/sh
# Runs the experiments of RESULTS.md and draws its tables and pictures. Interrupted, it resumes
# where it stopped. What results.csv has is not trained again: there every run has a row, with all
# its options.
#
#   experiment.sh [PART...]     default: all parts
#   experiment.sh again NAME    trains and scores the run of a row anew, and says whether the
#                               losses are the same
#   experiment.sh speeds        measures the speed of the best runs in one pass, for which the
#                               machine must be idle
#   experiment.sh draw [PART...]
#                               draws the tables and pictures from results.csv
#
# Environment: PRECISION=bf16 for processors that multiply bf16; RUNS, the directory of the runs
# (default runs/experiment).
set -eu
export LC_ALL=C # numbers with points
unset CDPATH
cd -- "$(dirname -- "$0")/.."
runs=${RUNS:-runs/experiment} precision=${PRECISION:-single}
results=eval/results.csv report=eval/RESULTS.md
positions=eval/positions.csv # the losses of the part length by position
corpus=ptb.txt # of the runs; a part may set another
stride=32      # of the sequences in which a text is scored; a part may set another
parts='kinds user length texts recall tracking'

die() {
    echo "experiment.sh: $1" >&2
    exit 1
}

case $runs in
*' '*) die "RUNS=$runs: choose a path without blanks" ;;
esac

# --- runs ---

# The number of a key in a program's JSON.
number() { sed -n "s/.*\"$1\": *\([0-9.eE+-]*\).*/\1/p" | head -n 1; }

# This machine in a few words.
machine() {
    name=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1 | tr -s ', ' ' ')
    echo "$(getconf _NPROCESSORS_ONLN) processors of ${name:-$(uname -m)}"
}

# is_task: whether the corpus is a synthetic task, whose runs are compared by accuracy.
is_task() {
    case $corpus in
    *:*) ;;
    *) return 1 ;;
    esac
}

# score_of DIR SPLIT: the loss in nats, the tokens and the bytes that eval wrote to scores.csv.
score_of() {
    awk -F , -v split_name="$2" -v stride="$stride" '
        $1 == split_name && $3 == stride && $11 == "plain" { found = $8 "," $6 "," $13 }
        END { print found }' "$1/scores.csv"
}

# scores DIR: those of the validation and the test text. The columns of a task are empty, and
# those of a run that diverged.
scores() {
    if is_task || [ -f "$1.diverged" ]; then
        echo ,,,,,
        return
    fi
    for split in valid test; do
        bin/eval "$1" --split $split --stride "$stride" --precision "$precision" "$corpus" >/dev/null
    done
    echo "$(score_of "$1" valid),$(score_of "$1" test)"
}

# record_positions NAME: writes the validation losses of a run by position to positions.csv.
record_positions() {
    bin/eval "$runs/$1" --by-position --json --precision "$precision" "$corpus" 2>/dev/null |
        grep -o '{"from"[^}]*}' | tr -dc '0-9.,\n' | sed "s|^|$1,|" >"$runs/positions.csv"
    {
        echo run,from,to,tokens,loss
        {
            sed "1d; \\|^$1,|d" "$positions"
            cat "$runs/positions.csv"
        } | sort -s -t , -k 1,1
    } >"$positions.new"
    mv "$positions.new" "$positions"
}

# record NAME: writes the line of a complete run to results.csv.
record() {
    folder=$runs/$1
    case $1 in
    length/*) record_positions "$1" ;;
    esac
    summary=$(bin/compare --json "$folder")
    line=$1,$(scores "$folder"),$(echo "$summary" | number best_val_accuracy)
    for key in seconds tokens_per_second peak_mb parameters state_bytes; do
        line=$line,$(echo "$summary" | number $key)
    done
    line=$line,$(sed -n 1p "$folder.made"),$(machine),$(sed -n 2p "$folder.made")
    {
        head -n 1 "$results"
        {
            sed 1d "$results"
            echo "$line"
        } | sort -t , -k 1,1
    } >"$results.new"
    mv "$results.new" "$results"
}

# Notes the command and commit that start a run; resuming keeps them.
begin() {
    rm -rf "$1" # a run killed before its first checkpoint cannot be resumed
    mkdir -p "$(dirname "$1")"
    commit=$(git rev-parse --short HEAD 2>/dev/null) || commit=unknown
    printf '%s\n' "$commit" "$2" >"$1.made"
}

# train DIR COMMAND: trains a run to its end.
# shellcheck disable=SC2086
train() {
    if [ -e "$1/lock" ] && ! flock --nonblock "$1/lock" true; then
        die "$1: it is still being trained; wait for process $(cat "$1/lock"), or stop it"
    fi
    if [ -f "$1/last.safetensors" ] || [ -f "$1/previous.safetensors" ]; then
        [ "$(sed -n 2p "$1.made")" = "$2" ] || die "$1 was not started by '$2'; move it away"
        set -- "$1" --resume "$1"
    else
        begin "$1" "$2"
        set -- "$1" --run "$1" ${2#bin/train }
    fi
    folder=$1
    shift
    bin/train --quiet "$@" 2>"$folder.errors" || {
        cat "$folder.errors" >&2
        grep -q 'is not finite' "$folder.errors" || exit 1
        mv "$folder.errors" "$folder.diverged" # a result, too
    }
    rm -f "$folder.errors"
}

# cell NAME COLUMN: what results.csv has; the command is the last column.
cell() {
    awk -F , -v name="$1" -v column="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i; last = NF; next }
        $1 != name { next }
        at < last { print $at; next }
        { for (i = 1; i < last; i++) sub(/[^,]*,/, ""); print }' "$results"
}

# row NAME OPTIONS...: makes sure that results.csv has the row of this run; its folder is only
# needed to train it. A row of another command is an error, as is a folder of another one.
row() {
    name=$1
    shift
    command="bin/train $* --precision $precision $corpus"
    found=$(cell "$name" command)
    [ -z "$found" ] || [ "$found" = "$command" ] ||
        die "$results: the row of $name is of '$found', not of '$command'; rename one of them"
    if [ -z "$found" ]; then
        echo "$runs/$name" >&2
        train "$runs/$name" "$command"
        record "$name"
    fi
}

# --- the learning rate ---

ladder='2.5e-4 5e-4 1e-3 2e-3 4e-3 8e-3 1.6e-2 3.2e-2 6.4e-2'
rate_at() { echo "$ladder" | cut -d ' ' -f "$1"; }

# loss_of NAME: what rates are chosen by; nothing for a run that diverged.
loss_of() {
    if is_task; then
        cell "$1" accuracy | awk '{ print 1 - $1 }'
    else
        cell "$1" validation
    fi
}

# try PLACE GROUP OPTIONS...: the run of seed 1 at a rate, and whether it is the best one yet.
try() {
    candidate=$(rate_at "$1") place=$1 group=$2
    shift 2
    row "$group-$candidate-1" "$@" --lr "$candidate" --seed 1
    loss=$(loss_of "$group-$candidate-1")
    if awk -v a="$loss" -v b="$best" 'BEGIN { exit !(a != "" && (b == "" || a < b)) }'; then
        best=$loss at=$place
    fi
}

# Whether the task is solved at the best rate, or a tenth of it at most.
is_solved() { is_task && awk -v loss="$best" 'BEGIN { exit !(loss < .01) }'; }
is_guessed() { is_task && awk -v loss="$best" 'BEGIN { exit !(loss > .9) }'; }

# best_rate GROUP OPTIONS...: sets $rate, the learning rate with the lowest loss: $usual, the rates
# beside it, and further ones while the best is at an edge.
best_rate() {
    low=$(echo "$ladder " | sed "s/ $usual .*/ $usual/" | wc -w)
    high=$low at=$low best=''
    try "$low" "$@"
    until is_solved || { is_guessed && [ $((high - low)) -ge 2 ]; }; do
        if [ "$at" -eq "$low" ] && [ "$low" -gt 1 ]; then
            low=$((low - 1))
            try "$low" "$@"
        elif [ "$at" -eq "$high" ] && [ "$high" -lt "$(echo "$ladder" | wc -w)" ]; then
            high=$((high + 1))
            try "$high" "$@"
        else
            break
        fi
    done
    rate=$(rate_at "$at")
}

# means GROUP: a line with the mean loss, the seeds and the loss of the first one for each rate of
# GROUP/NAME-RATE-SEED or, where GROUP has the name, GROUP-RATE-SEED; 1e9 if one diverged.
means() {
    awk -F , -v group="$1" -v of_task="$(! is_task || echo yes)" '
        index($1, group) != 1 { next }
        { loss = of_task ? 1 - $8 : $2 == "" ? 1e9 : $2; rate = $1; sub(/-[0-9]+$/, "", rate) }
        match(rate, /-[0-9.]+e-[0-9]+$/) {
            seeds[rate]++
            sum[rate] += loss
            if ($1 ~ /-1$/) first[rate] = loss
        }
        END { for (rate in seeds) print sum[rate] / seeds[rate], seeds[rate], first[rate], rate }' "$results"
}

# contender GROUP: the rate whose first seed is better than the best mean of three seeds, and which
# has one seed only.
contender() {
    means "$1" | awk -v group="$1-" '
        index($4, group) != 1 || substr($4, length(group) + 1) !~ /^[0-9.]+e-[0-9]+$/ { next }
        $2 == 3 && (low == "" || $1 < low) { low = $1 }
        $2 == 1 { first[substr($4, length(group) + 1)] = $3 }
        END {
            for (rate in first)
                if ((low == "" || first[rate] < low) && (at == "" || first[rate] < first[at])) at = rate
            print at
        }'
}

# three_seeds GROUP OPTIONS...: three seeds at the best rate. A first seed may be lucky, so rates are
# compared by their means: a rate whose first seed is below the best mean gets three seeds, too.
three_seeds() {
    group=$1
    shift
    best_rate "$group" "$@"
    while [ -n "$rate" ]; do
        for seed in 2 3; do
            row "$group-$rate-$seed" "$@" --lr "$rate" --seed "$seed"
        done
        rate=
        is_guessed || rate=$(contender "$group")
    done
}

# best_rows GROUP: a table with the rows of GROUP/NAME-RATE-SEED at the rate with the lowest mean of
# three seeds.
best_rows() {
    means "$1/" | awk '
        $2 == 3 {
            name = $4
            sub(/-[0-9.]+e-[0-9]+$/, "", name)
            if (!(name in low) || $1 < low[name]) { low[name] = $1; best[name] = $4 }
        }
        END { for (name in best) print best[name] }' >"$runs/best.list"
    awk -F , '
        NR == FNR { chosen[$1]; next }
        FNR == 1 { print; next }
        { rate = $1; sub(/-[0-9]+$/, "", rate) }
        rate in chosen' "$runs/best.list" "$results"
}

# --- the parts ---

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

# Two layers of 128: small and plain, so that all kinds train in hours.
small_recipe='--layers 2 --dim 128 --heads 4 --context 128 --act gelu --no-qk-norm --no-zero-init
    --head-bias no --input-dropout 0.15 --dropout 0.15 --output-dropout 0'
plain_training='--optimizer adamw --schedule cosine --lr-floor 0.1 --warmup 200 --batch 16'

# Every kind with as many parameters as softmax, at its best learning rate, three seeds: 37 rows of
# six runs or more, two minutes each in bf16 on two cores with AMX, some seven hours. In a pilot ten
# epochs instead of five left the order of softmax, linear, gated-delta and retention and their gaps
# in nats as they were, to .011.
# shellcheck disable=SC2086
kinds() {
    usual=8e-3
    mkdir -p "$runs"
    kinds_list >"$runs/kinds.list"
    while read -r label options <&3; do
        three_seeds "kinds/$label" $small_recipe --epochs 5 $plain_training \
            --match-params 1676800 $options
    done 3<"$runs/kinds.list"
}

# What a user's first comparison gives, the default recipe: ten runs, 25 minutes.
user() {
    for seed in 1 2 3 4 5; do
        for kind in softmax linear; do
            row "user/$kind-$seed" --attn "$kind" --seed "$seed"
        done
    done
}

# The book, a text of long documents.
book() {
    corpus=$runs/book.txt
    [ -d /usr/share/doc/anarchism ] || die "the Debian package anarchism is missing; install it"
    if [ ! -f "$corpus" ]; then
        mkdir -p "$runs"
        zcat -f /usr/share/doc/anarchism/markdown/* >"$corpus"
    fi
}

length_kinds='softmax fox window linear retention mamba2 gated-delta kda window+gated-delta
    3xgated-delta+softmax'

# Bits per byte by context length, with equal tokens in a step and in all. A pilot of half the
# training at a context of 512 chooses the rate of each kind. Ten kinds, 41 runs of six minutes and
# 30 of three for the pilot; a second seed of five kinds: some seven and a half hours.
length() (
    book
    usual=4e-3
    sizes='--tokens bpe --vocab-size 4096 --layers 4 --dim 256 --heads 4 --batch-tokens 8192'
    for kind in $length_kinds; do
        stride=128
        # shellcheck disable=SC2086
        best_rate "length-pilot/$kind" $sizes --attn "$kind" --context 512 --epochs 1
        for context in 128 512 2048 8192; do
            case $context:$kind in
            8192:*softmax | 8192:fox) continue ;; # quadratic
            esac
            stride=$((context / 4))
            for seed in $(length_seeds "$kind"); do
                # shellcheck disable=SC2086
                row "length/$kind-$context-$seed" $sizes --attn "$kind" --context "$context" \
                    --epochs 2 --lr "$rate" --seed "$seed"
            done
        done
    done
)
length_seeds() {
    case $1 in
    softmax | linear | gated-delta | window+gated-delta) echo 1 2 ;;
    *) echo 1 ;;
    esac
}

# leaders GROUP COUNT: the names with the lowest mean validation loss over seeds.
leaders() {
    best_rows "$1" | awk -F , 'NR > 1 {
        name = $1
        gsub(/^[^\/]*\/|-[0-9.]+e-[0-9]+-[0-9]+$/, "", name)
        sum[name] += $2
        count[name]++
    }
    END { for (name in sum) print sum[name] / count[name], name }' |
        grep -v '+' | sort -g | head -n "$2" | cut -d ' ' -f 2
}

# The ten kinds that lead on the Penn Treebank and five classical ones, on the book: 75 runs or more
# of two minutes.
texts() (
    book
    usual=8e-3
    for kind in $({ leaders kinds 10; printf '%s\n' softmax window linear retention performer; } | sort -u); do
        # shellcheck disable=SC2086
        three_seeds "texts/$kind" $small_recipe $plain_training --tokens bpe --vocab-size 4096 \
            --match-params 921088 --epochs 2 --attn "$kind"
    done
)

# Associative recall: accuracy by the number of pairs, 2,500 steps, and by the bytes of the state. A kind
# that answers less than a tenth is not asked more pairs. Some 250 runs of a minute, four hours.
recall_sizes='--layers 2 --conv yes --batch 32 --epochs 8'
recall() (
    usual=4e-3
    for kind in softmax window linear taylor2 hedgehog retention gla mamba2 delta gated-delta kda rwkv7; do
        for pairs in 16 32 64 128; do
            corpus=recall:pairs=$pairs,keys=128,lines=10000
            # shellcheck disable=SC2086
            three_seeds "recall/$kind-$pairs" $recall_sizes --dim 64 --heads 2 --attn "$kind"
            ! is_guessed || break
        done
    done
    corpus=recall:pairs=64,keys=128,lines=10000
    for kind in linear mamba2 delta gated-delta kda; do
        for shape in '64 4' '64 1' '128 2'; do
            # shellcheck disable=SC2086
            set -- $shape
            # shellcheck disable=SC2086
            three_seeds "state/$kind-$1-$2" $recall_sizes --dim "$1" --heads "$2" --attn "$kind"
        done
    done
)

# State tracking: parity, and the word problem of S5, with write rates of the delta rule up to 1 and
# up to 2. Some 90 runs of a minute or two, two hours.
tracking_sizes='--layers 2 --dim 64 --heads 2 --batch 64 --epochs 10'
tracking() (
    usual=4e-3
    for corpus in parity:length=32 s5:length=8,lines=100000; do
        for kind in softmax linear mamba2 rwkv7; do
            # shellcheck disable=SC2086
            three_seeds "tracking/$kind-${corpus%%:*}" $tracking_sizes --attn "$kind"
        done
        for kind in delta gated-delta kda 'deltaproduct --steps-per-token 4'; do
            for negative in --no-negative-eigenvalues --negative-eigenvalues; do
                # shellcheck disable=SC2086
                three_seeds "tracking/${kind%% *}$negative-${corpus%%:*}" $tracking_sizes \
                    --attn $kind $negative
            done
        done
    done
)

# --- speeds, in one pass on an idle machine ---

# options_of NAME: those of its row, without the length of the training.
options_of() {
    cell "$1" command | sed 's/^bin\/train //; s/ [^ ]*$//; s/--epochs [^ ]* //'
}

# decoding NAME: tokens per second at the end of the context, and the bytes of the state there.
decoding() {
    context=$(options_of "$1" | sed -n 's/.*--context \([0-9]*\).*/\1/p')
    # shellcheck disable=SC2046
    bin/bench decode --json --vocab 4096 --positions $((context - 1)) $(options_of "$1" | grep -o -e '--\(attn\|layers\|dim\|heads\) [^ ]*') |
        tr ',' '\n'
}

# The speed of a short training for each of the best runs, first seeds, of kinds and length.
speeds() {
    mkdir -p "$runs/speed"
    echo run,tokens_per_second,peak_mb,decoding_per_second,machine >"$runs/speeds.csv"
    for name in $({ best_rows kinds; sed -n '/^length\//p' "$results"; } | grep -o '^[^,]*-1,' | tr -d ,); do
        corpus=$(cell "$name" command | sed 's/.* //')
        rm -rf "$runs/speed/run"
        # shellcheck disable=SC2046
        bin/train --quiet $(options_of "$name") --steps 60 --eval-every 60 --run "$runs/speed/run" "$corpus"
        summary=$(bin/compare --json "$runs/speed/run")
        echo "$name,$(echo "$summary" | number tokens_per_second),$(echo "$summary" | number peak_mb),$(
            decoding "$name" | number tokens_per_second),$(machine)" >>"$runs/speeds.csv"
    done
    cp "$runs/speeds.csv" eval/speeds.csv
}

# --- a run again ---

# again NAME: trains and scores the run of a row anew. Processors of one kind give the same bits.
again() {
    command=$(cell "$1" command)
    [ -n "$command" ] || die "$results has no row '$1'"
    corpus=${command##* }
    [ "$corpus" != "$runs/book.txt" ] || book
    precision=$(echo "$command" | sed -n 's/.*--precision \([a-z0-9]*\).*/\1/p')
    case $1 in
    length*) stride=$(($(echo "$command" | sed -n 's/.*--context \([0-9]*\).*/\1/p') / 4)) ;;
    esac
    train "$runs/again/$1" "$command"
    found=$(scores "$runs/again/$1"),$(bin/compare --json "$runs/again/$1" | number best_val_accuracy)
    noted=
    for column in validation validation_tokens validation_bytes test test_tokens test_bytes accuracy; do
        noted=$noted${noted:+,}$(cell "$1" $column)
    done
    printf 'noted %s on %s\nfound %s on %s\n' "$noted" "$(cell "$1" machine)" "$found" "$(machine)"
    [ "$noted" = "$found" ] || die "$1: the results differ"
}

# --- tables and pictures ---

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

# with_speeds: puts the speeds and the memory of eval/speeds.csv, measured in one pass, in place of
# those of the rows, which come from several machines.
with_speeds() {
    awk -F , -v OFS=, '
        NR == FNR { name = $1; sub(/-1$/, "", name); speed[name] = $2; peak[name] = $3; next }
        FNR > 1 { name = $1; sub(/-[0-9]+$/, "", name) }
        FNR > 1 && name in speed { $10 = speed[name]; $11 = peak[name] }
        { print }' eval/speeds.csv -
}

# bare GROUP: names without that of the group and without the rates.
bare() { sed "s|^$1/||; s/^\([^,]*\)-[0-9.]*e-[0-9]*-\([0-9]*,\)/\1-\2/"; }

# ranked FILE: a table of runs, the groups with the lowest mean test loss first.
ranked() {
    awk -F , '
        NR == FNR { name = $1; sub(/-[0-9]+$/, "", name); sum[name] += $5; seeds[name]++; next }
        FNR == 1 { print "-1," $0; next }
        { name = $1; sub(/-[0-9]+$/, "", name); print sum[name] / seeds[name] "," $0 }' "$1" "$1" |
        sort -s -t , -k 1,1g | cut -d , -f 2-
}

# A table of compare, without the columns that come from several machines, and its forest plot:
# draw_forest GROUP PICTURE TITLE, from the table in $runs.
draw_forest() {
    ranked "$runs/$1.csv" >"$runs/ranked.csv"
    bin/compare "$runs/ranked.csv" --control softmax --forest --title "$3" --svg "eval/$2.svg" \
        --markdown |
        sed '/^Test perplexity:/d' | cut -d '|' -f 1,2,4-6,8-12,14- >"$part"
    publish "$1" $report
}

draw_kinds() {
    best_rows kinds | with_speeds | bare kinds >"$runs/kinds.csv"
    draw_forest kinds forest 'Penn Treebank: test perplexity against softmax'
}

draw_user() {
    rows_of user | bare user >"$runs/user.csv"
    draw_forest user user 'Penn Treebank, the default recipe: test perplexity against softmax'
    bin/compare "$runs"/user/softmax-? "$runs"/user/linear-? --svg eval/curves.svg >/dev/null
}

draw_texts() {
    best_rows texts | bare texts >"$runs/texts.csv"
    draw_forest texts texts 'A book: test perplexity against softmax'
    rank_correlation >>"$part"
    publish texts $report
}

# Spearman's rank correlation of the mean test losses of the kinds that both texts have.
rank_correlation() {
    {
        best_rows kinds | bare kinds
        best_rows texts | bare texts | sed 1d | sed 's/^/texts,/'
    } | awk -F , '
        FNR == 1 { next }
        { second = $1 == "texts"; name = $(1 + second); sub(/-[0-9]+$/, "", name); sum[second, name] += $(5 + second) }
        second { names[name] }
        END {
            for (name in names)
                for (other in names) {
                    rank0[name] += sum[0, other] < sum[0, name]
                    rank1[name] += sum[1, other] < sum[1, name]
                }
            for (name in names) { n++; squares += (rank0[name] - rank1[name]) ^ 2 }
            printf "\nRank correlation of the %d kinds on both texts (Spearman): %.2f.\n", n,
                1 - 6 * squares / (n * (n * n - 1)) }'
}

# A table of the rows of a group.
rows_of() {
    head -n 1 "$results"
    grep "^$1/" "$results" || die "$results has no row of $1 yet"
}

# A line for each kind, a column for each context.
by_context() {
    awk -F , -v show="$1" '
        NR == FNR { decoding[$1] = $4; next }
        FNR > 1 {
            name = $1; sub(/-[0-9]+$/, "", name)
            match(name, /-[0-9]+$/); context = substr(name, RSTART + 1); kind = substr(name, 1, RSTART - 1)
            if (!(kind in kinds)) { kinds[kind]; order[++count] = kind }
            runs[kind, context]++
            bits[kind, context] += $5 * $6 / ($7 * log(2))
            time[kind, context] = 1e6 / $10; peak[kind, context] = $11
            speed[kind, context] = decoding["length/" $1] ? decoding["length/" $1] : speed[kind, context]
        }
        END {
            for (i = 1; i <= count; i++) {
                line = "| `" order[i] "`"
                for (context = 128; context <= 8192; context *= 4) {
                    at = order[i] SUBSEP context
                    line = line " | " (!(at in runs) ? "-" : show == "bits" ? sprintf("%.4f", bits[at] / runs[at]) :
                        sprintf("%.0f, %.0f MB, %.0f/s", time[at], peak[at], speed[at]))
                }
                print line " |"
            } }' eval/speeds.csv "$runs/length.csv"
}

# A line for each kind: its mean loss at a context of 2048 in spans of positions.
by_position() {
    awk -F , '
        $1 ~ /^length\/.*-2048-1$/ {
            name = $1; gsub(/^length\/|-2048-1$/, "", name)
            if (!(name in kinds)) { kinds[name]; order[++count] = name }
            span = $3 <= 16 ? 1 : $3 <= 64 ? 2 : $3 <= 256 ? 3 : $3 <= 1024 ? 4 : 5
            sum[name, span] += $4 * $5; tokens[name, span] += $4
        }
        END {
            for (i = 1; i <= count; i++) {
                line = "| `" order[i] "`"
                for (span = 1; span <= 5; span++)
                    line = line sprintf(" | %.3f", sum[order[i], span] / tokens[order[i], span])
                print line " |"
            } }' "$positions"
}

draw_length() {
    rows_of length | with_speeds | bare length >"$runs/length.csv"
    bin/compare "$runs/length.csv" --by context --x time-per-token --y bits-per-byte \
        --svg eval/length.svg --markdown >/dev/null
    {
        echo '| bits per byte of the test text | 128 | 512 | 2048 | 8192 |'
        echo '|---|---:|---:|---:|---:|'
        by_context bits
        printf '\n| training time per token (microseconds), memory, decoding at the end | 128 | 512 | 2048 | 8192 |\n'
        echo '|---|---:|---:|---:|---:|'
        by_context cost
        printf '\n| validation loss, nats per token, at the positions | 1-16 | 17-64 | 65-256 | 257-1024 | 1025-2048 |\n'
        echo '|---|---:|---:|---:|---:|---:|'
        by_position
    } >"$part"
    publish length $report
}

# accuracies GROUP COLUMNS: a line for each kind of GROUP/KIND-COLUMN-RATE-SEED, with the mean and
# the range of the seeds at the best rate in per cent.
accuracies() {
    awk -F , -v group="$1/" -v columns="$2" '
        index($1, group) == 1 {
            name = substr($1, length(group) + 1); sub(/-[0-9]+$/, "", name)
            match(name, /-[0-9.]+e-[0-9]+$/); rate = substr(name, RSTART + 1); name = substr(name, 1, RSTART - 1)
            match(name, /-[^-]*$/); column = substr(name, RSTART + 1); kind = substr(name, 1, RSTART - 1)
            if (!(kind in kinds)) { kinds[kind]; order[++count] = kind }
            at = kind SUBSEP column SUBSEP rate
            n[at]++; sum[at] += $8
            if (n[at] == 1 || $8 < low[at]) low[at] = $8
            if ($8 > high[at]) high[at] = $8
            cell = kind SUBSEP column
            if (n[at] == 3 && sum[at] > sum[cell, best[cell]]) best[cell] = rate
            state[kind] = $13 }
        END {
            columns_count = split(columns, wanted, " ")
            for (i = 1; i <= count; i++) {
                line = "| `" order[i] "` | " state[order[i]]
                for (c = 1; c <= columns_count; c++) {
                    cell = order[i] SUBSEP wanted[c]; at = cell SUBSEP best[cell]
                    line = line " | " (at in n ? sprintf("%.1f (%.0f to %.0f)", 100 * sum[at] / n[at], 100 * low[at], 100 * high[at]) : "-")
                }
                print line " |"
            } }' "$results"
}

draw_recall() {
    {
        echo '| accuracy, % | state, bytes | 16 pairs | 32 pairs | 64 pairs | 128 pairs |'
        echo '|---|---:|---:|---:|---:|---:|'
        accuracies recall '16 32 64 128'
    } >"$part"
    publish recall $report
    rows_of recall >"$runs/recall.csv"
    bin/compare "$runs/recall.csv" --by pairs --svg eval/recall.svg >/dev/null
    { rows_of state; rows_of recall | grep -e '-64-'; } >"$runs/state.csv"
    bin/compare "$runs/state.csv" --by state --svg eval/state.svg >/dev/null
}

draw_tracking() {
    {
        echo '| accuracy, % | state, bytes | parity | S5 |'
        echo '|---|---:|---:|---:|'
        accuracies tracking 'parity s5'
    } >"$part"
    publish tracking $report
}

# perplexities PATTERN SEEDS: a line for the rows of this pattern, by their validation loss: for each
# row, or the means of what SEEDS, another pattern at the end of names, leaves of them.
perplexities() {
    echo '| run | seeds | parameters | validation ppl | test ppl | test bits per byte | minutes |'
    echo '|---|---:|---:|---:|---:|---:|---:|'
    awk -F , -v pattern="$1" -v seeds="$2" '
        $1 ~ pattern {
            name = $1
            if (seeds != "") sub(seeds, "", name)
            if (!n[name]++) { parameters[name] = $12; minutes[name] = $9 / 60 }
            valid[name] += $2; test[name] += $5; bits[name] += $5 * $6 / ($7 * log(2))
        }
        END {
            for (name in n)
                printf "| `%s` | %d | %d | %.2f | %.2f | %.4f | %.0f |\n", name, n[name], parameters[name],
                    exp(valid[name] / n[name]), exp(test[name] / n[name]), bits[name] / n[name], minutes[name]
        }' "$results" | sort -t '|' -k 5 -g
}

draw_quality() {
    perplexities '^(tiny|small)/|^(best|night|char)$' '-[0-9]$' >"$part"
    publish recipes eval/quality.md
}

draw() {
    mkdir -p "$runs"
    part=$runs/part.md
    for drawn; do
        case " $parts quality " in
        *" $drawn "*) "draw_$drawn" ;;
        *) die "unknown part '$drawn' to draw; there are: $parts quality" ;;
        esac
    done
}

if [ $# -eq 0 ]; then
    # shellcheck disable=SC2086
    set -- $parts
fi
case $1 in
again)
    [ $# -eq 2 ] || die 'again needs the name of one row'
    again "$2"
    exit
    ;;
speeds)
    speeds
    exit
    ;;
draw)
    shift
    # shellcheck disable=SC2086
    [ $# -gt 0 ] || set -- $parts quality
    draw "$@"
    exit
    ;;
esac
for wanted; do
    case " $parts " in
    *" $wanted "*) ;;
    *) die "unknown part '$wanted'; the parts are: $parts" ;;
    esac
    case $wanted in
    kinds | user)
        [ -f data/ptb.train.txt ] ||
            die "data/ptb.train.txt is missing; get it with data/get ptb"
        ;;
    esac
done
for wanted; do
    "$wanted"
done
