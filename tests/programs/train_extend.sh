#!/bin/sh
# Tests that a finished or interrupted run becomes longer or shorter: --resume RUN --steps N.
. "$(dirname -- "$0")/../commands.sh"

rate_at() { awk -F , -v step="$2" '$1 == step { print $5 }' "$1/log.csv"; }
steps_of() { recorded "$1/last.safetensors" step; }

# extends NAME OPTIONS...: a finished run that is extended by half, in one session or, killed at
# once, in three, ends with the same bits; its learning rate is the schedule's of the new length.
extends() {
    how=$1
    shift
    train parts "$@" text.txt
    cp parts/last.safetensors parts/best.safetensors .
    cp -r parts straight
    resume straight --steps 60
    check "$how: a finished run is extended" exits 0
    check "$how: it goes on to the new end" [ "$(steps_of straight)" = 60 ]
    check "$how: the finished run is kept" same last.safetensors straight/step-40.safetensors
    resume parts --steps 60 --stop-after 1 --threads 1
    resume parts --stop-after 7
    resume parts
    check "$how: interruptions of an extended run change no bit" same_runs straight parts
    mv parts moved
    resume moved --steps 70
    check "$how: a run in another directory is extended again" [ "$(steps_of moved)" = 70 ]
    check "$how: both extensions are recorded" \
        grep -q '^# extended: step 40: 40 to 60 steps; step 60: 60 to 70 steps$' \
        moved/settings.conf
    cp straight/log.csv extended.csv
    rm -rf straight moved
}
# shellcheck disable=SC2086 # options
for schedule in cosine linear trapezoid constant 'cosine --cycles 3'; do
    extends "$schedule" --schedule $schedule --dropout 0.1 --log-every 1
    train whole --schedule $schedule --steps 60 --log-every 1 text.txt
    cut -d , -f 1,5 whole/log.csv | sed '1,41d' >rates.whole
    cut -d , -f 1,5 extended.csv | sed '1,41d' >rates.extended
    check "$schedule: an extended run has the learning rates of the new length" \
        same rates.whole rates.extended
    rm -rf whole
done
extends 'tail average' --average tail --average-from 0.5
extends 'moving average' --average ema --average-from 0.1
extends 'early stopping' --patience 100 --eval-every 7
extends 'carried states' --attn gated-delta --pos none --carry-state

# A run that is extended before its length has mattered is the longer run.
train parts --stop-after 15 --average tail --average-from 0.5 text.txt
resume parts --steps 60
train whole --steps 60 --average tail --average-from 0.5 text.txt
check 'an interrupted run that is extended on the plateau has the weights of the longer run' \
    same_numbers parts/last.safetensors whole/last.safetensors
check 'an interrupted run leaves no step-N.safetensors' [ ! -e parts/step-15.safetensors ]
run "$bin/compare" --json parts whole
check 'compare tells an extended run from a straight one' prints 'step 15: 40 to 60 steps'
check 'compare does not take them for two seeds' [ "$(grep -c '"best_val_loss"' out)" -ge 2 ]
rm -rf parts whole

# --- averages ---

train parts --average tail --average-from 0.5 text.txt
run "$bin/train" --resume parts --steps 100
check 'the screen says that weight averaging starts again' \
    prints 'weight averaging starts again after step 50'
check 'only weights of the new tail are averaged' \
    [ "$(recorded parts/last.safetensors averaged)" = 50 ]
rm -rf parts
train parts --average tail --average-from 0.5 text.txt
resume parts --steps 50
check 'an average that has begun in the new length goes on' \
    [ "$(recorded parts/last.safetensors averaged)" = 30 ]
rm -rf parts

# A schedule of 40 steps, then cycles of 6 or 7.
# shellcheck disable=SC2086 # options
for schedule in trapezoid 'cosine --lr-floor 0.1'; do
    train parts --schedule $schedule --warmup 4 text.txt
    resume parts --steps 60 --cycles 3
    check "$schedule: a finished run goes on with cycles, and the weights at four ends are averaged" \
        [ "$(recorded parts/last.safetensors averaged)" = 4 ]
    resume parts --steps 80 --cycles 6
    train whole --schedule $schedule --warmup 4 --steps 80 --cycles 6 text.txt
    check "$schedule: twice extended by cycles, it has the weights of one training with them all" \
        same_numbers parts/last.safetensors whole/last.safetensors
    check "$schedule: so has the best model" \
        same_numbers parts/best.safetensors whole/best.safetensors
    rm -rf parts whole
done
train parts --cycles 3 text.txt
run "$bin/train" --resume parts --steps 120
check 'the screen says that an average of cycles starts again' \
    prints 'weight averaging starts again after step 79'
rm -rf parts

# --- shorter, in epochs, with another learning rate ---

train softmax text.txt
train parts --stop-after 20 --log-every 1 text.txt
cp -r parts kept
run "$bin/train" --resume parts --steps 30
check 'the screen says how the learning rate goes on' \
    prints 'from step 21 on: 0.01, was 0.01'
check 'a run is cut short' [ "$(steps_of parts)" = 30 ]
refused 'train refuses a length that is done already' 2 '--steps 20: .* has done 30' \
    "$bin/train" --resume parts --steps 20
check 'refusing it changes nothing' [ "$(steps_of parts)" = 30 ]
refused 'train refuses another --lr without another length' 2 '--lr 1: .* together with' \
    "$bin/train" --resume kept --lr 1
resume kept --steps 30 --lr 0.002 --schedule constant
check 'the learning rate and the schedule change with the length' \
    [ "$(rate_at kept 21)" = 0.002 ]
check 'the change is recorded' \
    grep -q '^# extended: step 20: 40 to 30 steps, lr 0.01 to 0.002, schedule trap' kept/settings.conf
rm -rf kept parts

# shellcheck disable=SC2086 # options
run "$bin/train" $small --epochs 2 --warmup 5 --lr 0.01 --quiet --run parts text.txt
first=$(steps_of parts)
resume parts --epochs 3
check 'a run is extended in epochs' [ "$(steps_of parts)" = "$((first / 2 * 3))" ]
resume softmax --epochs 3
check 'a run whose length was given in steps is extended in epochs' \
    [ "$(steps_of softmax)" = "$((first / 2 * 3))" ]
rm -rf parts
cp -r softmax parts
sum() { cksum <parts/last.safetensors; }
before=$(sum)
resume parts --epochs 3
check 'the same length again changes nothing' [ "$(sum)" = "$before" ]

# --- early stopping, the best model ---

rm -rf parts
train parts --lr 0 --eval-every 5 --patience 2 text.txt
cp -r parts kept
check 'early stopping ended the run' [ "$(steps_of parts)" = 15 ]
resume parts --steps 60
check 'early stopping counts anew in an extended run' [ "$(steps_of parts)" = 25 ]
check 'the best model stays as long as no better one is found' \
    same parts/best.safetensors kept/best.safetensors
check 'a run that early stopping ended is kept' \
    same parts/step-15.safetensors kept/last.safetensors

count_cases
