#!/bin/sh
# Tests runs that learn from another one: train --distill RUN and train --convert RUN.
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
refused 'a run does not resume without its teacher' 1 'nowhere\|parent: no such run.*--distill RUN may' \
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
refused 'a teacher cannot read more positions than it has learned' 1 'learned positions for 16 tokens' \
    "$bin/train" --distill short --context 32 text.txt

count_cases
