#!/bin/sh
# Tests runs that learn from another one: train --distill RUN, --convert RUN.
. "$(dirname -- "$0")/../commands.sh"

parent='--layers 2 --dim 16 --heads 2 --context 16 --batch 4 --pos rotary'
# shellcheck disable=SC2086
run "$bin/train" $parent --steps 200 --lr 0.01 --warmup 5 --quiet --run parent text.txt
check 'the parent is trained' exits 0

# --- distillation ---

# distil NAME OPTIONS...: a short run of another kind with the parent as its teacher.
distil() {
    folder=$1
    shift
    # shellcheck disable=SC2086
    run "$bin/train" $parent --attn linear --steps 40 --lr 0.01 --log-every 5 --run "$folder" "$@"
}
distil alone text.txt
distil taught --distill parent text.txt
check 'a run learns from a teacher' exits 0
check 'the screen names the teacher' prints '^Teacher  *parent/best.safetensors, step '
check 'the teacher is in settings.conf' \
    grep -q '^# teacher: parent/best.safetensors, step .*, crc32 [0-9a-f]*$' taught/settings.conf
check 'the teacher is in its checkpoints' [ -n "$(recorded taught/last.safetensors teacher)" ]
check 'the teacher changes the weights' fails same_numbers alone/last.safetensors taught/last.safetensors
check 'the teacher helps' \
    awk -v a="$(best_loss taught)" -v b="$(best_loss alone)" 'BEGIN { exit !(a < b) }'
distil share --distill parent --distill-share 0 --quiet text.txt
check 'a teacher without a share changes nothing' same_numbers alone/last.safetensors share/last.safetensors
distil threads --distill parent --threads 1 --quiet text.txt
check 'threads change no bit of a distilled run' same_runs taught threads
distil fresh --distill parent --recompute --quiet text.txt
check '--recompute changes no bit of a distilled run' same_runs taught fresh
distil parts --distill parent --stop-after 17 --quiet text.txt
resume parts
check 'a distilled run resumes bit-identically' same_runs taught parts
distil moved --distill parent --stop-after 17 --quiet text.txt
mv parent away
refused 'a run does not resume without its teacher' 1 'nowhere\|parent: no such run.*new path with --distill' \
    "$bin/train" --resume moved
resume moved --distill away
check 'a run resumes with its teacher in a new place' same_numbers taught/last.safetensors moved/last.safetensors
mv away parent
distil changed --distill parent --stop-after 17 --quiet text.txt
refused 'another teacher is refused' 1 'not the teacher that the run began with' \
    "$bin/train" --resume changed --distill alone
refused 'a run without a teacher takes none later' 1 'began without a teacher' \
    "$bin/train" --resume alone --distill parent --epochs 9
run "$bin/compare" alone taught
check 'compare names the teacher' prints 'taught was distilled from parent/best'

refused '--distill refuses a missing run' 1 'nowhere: no such run' \
    "$bin/train" --distill nowhere text.txt
refused '--distill refuses another vocabulary' 1 'its vocabulary of .* is not that of this run' \
    "$bin/train" --distill parent --tokens char text.txt
refused '--distill-share needs --distill' 2 '--distill-share has no effect' \
    "$bin/train" --distill-share 0.2 text.txt
run "$bin/train" --layers 1 --dim 16 --heads 2 --context 16 --pos learned --steps 1 --quiet --run short text.txt
refused 'a teacher cannot read more positions than it has learned' 2 'learned positions for 16 tokens' \
    "$bin/train" --distill short --context 32 text.txt

# --- conversion ---

# convert NAME KIND OPTIONS...: converts the parent.
convert() {
    folder=$1 kind=$2
    shift 2
    run "$bin/train" --convert parent --attn "$kind" --log-every 5 --run "$folder" "$@"
}
# cell RUN STEP COLUMN: a number in a log.
cell() { awk -F , -v step="$2" -v column="$3" '$1 == step { print $column }' "$1/log.csv"; }
at_most() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && a + 0 < b + 0) }'; }
last_step() { tail -n 1 "$1/log.csv" | cut -d , -f 1; }

convert linear linear
check 'a run is converted to another kind' exits 0
check 'the text is that of the run' prints '^Text  *text.txt'
check 'the screen names the two stages' \
    prints 'attention transfer in the first 15 steps, at learning rate 0.01'
check 'progress names the first stage' says 'matching attention outputs, mean square error 0.*'
check 'progress names the second stage' says 'distilling, loss'
check 'a validation in the first stage shows the error' prints '^epoch 1  .*  matching 0.*  validation'
check 'a validation in the second stage shows the loss' prints '^epoch 2  .*  train [0-9.]*  validation'
total=$(last_step linear)
epoch=$((total / 3))
check 'three epochs' grep -q '^epochs = 3$' linear/settings.conf
check 'the learning rate is a fifth of that of the run' grep -q '^lr = 0.002$' linear/settings.conf
check 'the teacher alone is imitated' grep -q '^distill-share = 1$' linear/settings.conf
check 'there is no dropout' [ "$(grep -c '^[a-z-]*dropout = 0$' linear/settings.conf)" = 6 ]
check 'no training loss while matching' [ -z "$(cell linear "$epoch" 6)" ]
check 'the error of the matching is logged' [ -n "$(cell linear "$epoch" 15)" ]
check 'a training loss afterwards' [ -n "$(cell linear "$total" 6)" ]
check 'no error afterwards' [ -z "$(cell linear "$total" 15)" ]
check 'the error falls' at_most "$(cell linear "$epoch" 15)" "$(cell linear 5 15)"
convert delta gated-delta --quiet
check 'a run is converted to a kind with new parts' exits 0

# A model that knows the toy language is still good after its conversion.
"$bin/toy" --length 20000 >language.txt
"$bin/train" --layers 2 --dim 16 --heads 2 --context 32 --batch 8 --pos rotary --epochs 6 --lr 0.01 \
    --quiet --run speaker language.txt
for kind in linear gated-delta; do
    run "$bin/train" --quiet --convert speaker --attn $kind --run "speaker-$kind"
    end=$(last_step "speaker-$kind")
    check "matching improves a model of $kind" \
        at_most "$(cell "speaker-$kind" $((end / 3)) 7)" "$(cell "speaker-$kind" 0 7)"
    check "distillation improves it further" \
        at_most "$(cell "speaker-$kind" "$end" 7)" "$(cell "speaker-$kind" $((end / 3)) 7)"
    check "its loss is near that of the run" near "$(best_loss "speaker-$kind")" "$(best_loss speaker)" 0.1
done

# --- the same to the bit ---

for stop in 3 $((epoch - 1)) "$epoch" $((epoch + 1)) $((total - 2)); do
    convert "stop-$stop" gated-delta --stop-after "$stop" --quiet
    resume "stop-$stop"
    check "a conversion that stops after step $stop resumes bit-identically" same_runs delta "stop-$stop"
done
convert one gated-delta --quiet --threads 1
check 'threads change no bit of a conversion' same_runs delta one
convert two gated-delta --quiet --threads 2
check 'nor do two threads' same_runs delta two
convert frugal gated-delta --quiet --recompute
check '--recompute changes no bit of a conversion' same_runs delta frugal
convert shards gated-delta --quiet --shards 3
check 'a conversion in shards' near "$(best_loss shards)" "$(best_loss delta)" 0.02
convert shards2 gated-delta --quiet --shards 3 --threads 1 --stop-after 7
resume shards2
check 'shards resume bit-identically' same_runs shards shards2
"$bin/train" --quiet --preset delta/settings.conf --run again >out 2>err
check 'settings.conf reproduces a conversion' same_runs delta again
convert longer gated-delta --quiet
run "$bin/train" --quiet --resume longer --epochs 4
check 'a conversion is extended' [ "$(last_step longer)" = $((total + epoch)) ]
convert straight gated-delta --quiet --match-epochs 0
check '--match-epochs 0 only distils' [ -z "$(cell straight "$epoch" 15)" ]
convert average gated-delta --quiet --average ema --average-from 0
check 'weights are averaged after the matching only' \
    [ "$(recorded average/last.safetensors averaged)" = $((total - epoch)) ]
run "$bin/train" --quiet --convert parent --attn linear,performer --run kinds
check 'several quiet runs print nothing' [ ! -s out ]
check 'a run is converted to several kinds' grep -q '^convert = parent' kinds/performer/settings.conf
run "$bin/train" --quiet --convert parent --attn performer+softmax --run mixed
check 'some layers keep their kind' exits 0

# Another text than the run's, which had a validation text of its own; and regularisation.
cp text.txt other.txt
head -n 40 language.txt >few.txt
# shellcheck disable=SC2086
run "$bin/train" $small --quiet --steps 8 --valid few.txt --dropout 0.2 --output-dropout 0.3 \
    --run bounded text.txt
run "$bin/train" --quiet --convert bounded --attn linear --steps 20 --run onward other.txt
check 'a conversion drops what regularised the run' \
    [ "$(grep -c -e '^dropout = 0$' -e '^output-dropout = 0$' onward/settings.conf)" = 2 ]
run "$bin/train" --quiet --preset onward/settings.conf --run onward2
check 'the settings of a conversion to another text repeat it' \
    same onward/best.safetensors onward2/best.safetensors

# --- shown ---

run "$bin/compare" parent linear delta
check 'compare says where the first stage ends' \
    eval "tr '\n' ' ' <out | grep -q 'delta: attention transfer up to step $epoch, epoch 1'"
run "$bin/compare" --csv-log linear
check 'compare --csv-log has the error' prints 'match_loss$'
run "$bin/compare" --html page.html --svg picture.svg parent linear
check 'the page marks where the first stage ends' grep -q '"matched"' page.html
convert early gated-delta --stop-after 4 --quiet
run "$bin/compare" early
check 'a run in its first stage has not diverged' fails says diverged

# --- refused ---

refused '--convert needs another kind' 2 'it has this attention kind already' \
    "$bin/train" --convert parent text.txt
refused '--convert and --resume contradict each other' 2 '--convert and --resume contradict' \
    "$bin/train" --convert parent --resume parent
refused '--convert and another --init contradict each other' 2 '--init taught and --convert parent' \
    "$bin/train" --convert parent --init taught --attn linear
refused '--convert and another --distill contradict each other' 2 '--distill taught and --convert' \
    "$bin/train" --convert parent --distill taught --attn linear
refused '--convert refuses another shape' 2 '--dim 32 differs from 16 of parent' \
    "$bin/train" --convert parent --attn linear --dim 32
refused '--convert refuses a missing run' 1 'nowhere: no such run' \
    "$bin/train" --convert nowhere --attn linear text.txt
refused '--convert refuses carried states' 2 'cannot be combined with --carry-state' \
    "$bin/train" --convert parent --attn retention --carry-state
refused '--match-epochs needs --convert' 2 '--match-epochs has no effect' \
    "$bin/train" --match-epochs 2 text.txt
refused '--match-epochs leaves epochs to distil' 2 'give more --epochs, or fewer' \
    "$bin/train" --convert parent --attn linear --match-epochs 3

count_cases
