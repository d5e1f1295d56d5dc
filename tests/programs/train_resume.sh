#!/bin/sh
# Tests that a run that was stopped resumes bit-identically, and what train refuses to resume.
. "$(dirname -- "$0")/../commands.sh"

train softmax text.txt

# --- stopped and resumed ---

# resumes NAME FIRST OPTIONS...: a run stopped after FIRST steps and resumed is bit-identical to
# one without a stop.
resumes() {
    how=$1 first=$2
    shift 2
    train straight --eval-every 7 "$@" text.txt
    train parts --eval-every 7 --stop-after "$first" "$@" text.txt
    check "$how: the first session stops" \
        [ "$(recorded parts/last.safetensors step)" = "$first" ]
    resume parts
    check "$how: the run resumes" exits 0
    check "$how: a resumed run is bit-identical" same_runs straight parts
    cp straight/log.csv kept.log
    rm -rf straight parts
}
resumes 'gradient accumulation in mid-epoch, before weight averaging begins' \
    11 --accumulate 2 --dropout 0.1 --average tail --average-from 0.5
resumes 'one step before the end, during weight averaging' \
    39 --average tail --average-from 0.5 --no-tied --pos rotary --norm post --act swiglu
resumes 'a recurrent state carried across sequences, with exponential weight averaging' \
    11 --attn gated-delta --pos none --carry-state --average ema --average-from 0.1 --optimizer muon
resumes 'early stopping' 16 --patience 3 --lr 0
check 'early stopping ends a resumed run' [ "$(tail -n 1 kept.log | cut -d , -f 1)" -lt 40 ]

train parts --stop-after 13 --threads 1 text.txt
check 'a stopped run notes its time' grep -q '^# stopped: 13 steps, [0-9.e-]* seconds$' parts/settings.conf
sed -i 's/^# stopped:.*/# stopped: 13 steps, 1000 seconds/' parts/settings.conf
resume parts --threads 3 --stop-after 9
check 'a run stops a second time' [ "$(recorded parts/last.safetensors step)" = 22 ]
check 'its clock goes on from there' \
    awk -F , '$1 == 10 { before = $4 } $1 == 15 { exit !(before < 1000 && $4 >= 1000) }' parts/log.csv
resume parts --threads 2
check 'a run in three sessions with other threads is bit-identical' same_runs softmax parts

# shellcheck disable=SC2086
run "$bin/train" $small --stop-after 1 --steps 9 --run told text.txt
check 'train says how to continue' prints 'To continue: .*train --resume told$'
# shellcheck disable=SC2086
run "$bin/train" $small --stop-after 1 --steps 9 --run 'told again' --threads 2 --save-minutes 2.5 \
    --sample-every 3 --tensorboard --recompute --max-mem 9000 --max-input-mb 7 text.txt
check 'with the options that a run does not store' eval "prints \"To continue: .*train --resume \
'told again' --max-input-mb 7 --save-minutes 2.5 --threads 2 --max-mem 9000 --recompute \
--sample-every 3 --tensorboard\$\""

# --- finished runs, other settings and texts ---

cksum softmax/last.safetensors softmax/log.csv >sums.before
run "$bin/train" --resume softmax
check 'a finished run has nothing to do' prints 'Nothing to do'
check 'resuming a finished run is no error' exits 0
cksum softmax/last.safetensors softmax/log.csv >sums.after
check 'resuming a finished run changes nothing' same sums.before sums.after

train parts2 --stop-after 20 text.txt
refused 'train refuses another --dim on resuming' 2 '--dim 32.* 16' \
    "$bin/train" --resume parts2 --dim 32
works 'train accepts the same --dim on resuming' \
    "$bin/train" --resume parts2 --dim 16 --stop-after 1 --quiet
refused 'train refuses --run with --resume' 2 '--run and --resume' \
    "$bin/train" --resume parts2 --run none
cp text.txt kept.txt
make_text 200 7 >text.txt
refused 'train refuses another training text on resuming' 1 'not the training text' \
    "$bin/train" --resume parts2
cp kept.txt text.txt
train valid --valid kept.txt --stop-after 20 text.txt
make_text 200 7 >kept2.txt
refused 'train refuses another validation text on resuming' 1 'kept2.txt.*not the validation text' \
    "$bin/train" --resume valid --valid kept2.txt
rm text.txt
refused 'train refuses to resume without the training text' 1 'text.txt' \
    "$bin/train" --resume parts2
cp kept.txt text.txt
resume parts2
check 'a run resumes exactly after refusals' same_runs softmax parts2
mkdir empty
refused 'train refuses to resume a missing run' 1 'no such run' "$bin/train" --resume nowhere
refused 'train refuses to resume a run without a checkpoint' 1 'no checkpoint in this directory' \
    "$bin/train" --resume empty

# --- damaged files ---

cut_by_one() { head -c "$(($(wc -c <"$1") - 1))" "$1" >cut && cat cut >"$1"; }
cp -r softmax damaged
cut_by_one damaged/last.safetensors
resume damaged
check 'a run resumes from the previous checkpoint if the last one is damaged' exits 0
check 'train names the damaged checkpoint and its replacement' \
    says 'damaged/last.safetensors: .* step 30 in damaged/previous.safetensors instead'
check 'a run resumed from the previous checkpoint is bit-identical' same_runs softmax damaged
check 'the replaced rows of the log are kept in log.csv.bak' \
    [ "$(cut -d , -f 1 damaged/log.csv.bak | tr '\n' ' ')" = 'step 35 40 ' ]
check 'the damaged checkpoint is kept' [ -f damaged/last.safetensors.damaged ]
cut_by_one damaged/last.safetensors
cut_by_one damaged/previous.safetensors
rm damaged/last.safetensors.damaged
cksum damaged/* >sums.before
refused 'train refuses to resume if every checkpoint is damaged' 1 'damaged/last.safetensors: ' \
    "$bin/train" --resume damaged
cksum damaged/* >sums.after
check 'refusing a run with damaged checkpoints changes no files' same sums.before sums.after
train torn --stop-after 20 text.txt
printf '25,1.6' >>torn/log.csv
resume torn
check 'a run resumes with an incomplete row in the log' exits 0
check 'the incomplete row is written again' same_runs softmax torn

# A checkpoint of a kind that has computed something else before.
train kda --attn kda --steps 2 text.txt
LC_ALL=C sed 's/"header_crc32"/"header_crc--"/; s/"crc32"/"crc--"/; s/kda=1/kda=0/' kda/last.safetensors >former.safetensors
refused 'a model of an earlier form of its kind is refused with the reason' 1 \
    "earlier 'kda' attention, which this linnet does not have: its rates come from .*(since 0.2)" \
    "$bin/sample" --length 3 former.safetensors

count_cases
