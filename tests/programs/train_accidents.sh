#!/bin/sh
# Tests what becomes of a run when it is interrupted or killed, cannot save, runs out of disk or
# memory, or meets values that are not finite. tests/faults tests that runs which were killed, got
# signals or could not save end bit-identically to undisturbed ones.
. "$(dirname -- "$0")/../commands.sh"

train softmax text.txt

# --- signals ---

endless="$small --steps 1000000 --eval-every 7 --log-every 1"
# shellcheck disable=SC2086
"$bin/train" $endless --run parts text.txt >out 2>err </dev/null &
child=$!
eventually grep -q '^6,' parts/log.csv 2>/dev/null
kill -INT "$child"
wait "$child"
status=$?
child=
check 'Ctrl-C ends a run with exit status 130' exits 130
check 'Ctrl-C: train says how to resume' prints 'train --resume parts'
rm -rf parts
# shellcheck disable=SC2086
(trap '' HUP && exec "$bin/train" $endless --quiet --run parts text.txt) \
    >out 2>err </dev/null &
child=$!
sleep 0.5
kill -HUP "$child"
sleep 0.3
check 'a run under nohup survives a hangup' kill -0 "$child"
kill -TERM "$child"
wait "$child"
child=

# --- accidents ---

# Starts a run in the background, in the directory parts, and waits for its first checkpoint.
start_endless() {
    rm -rf parts
    # shellcheck disable=SC2086
    "$bin/train" $endless "$@" --quiet --run parts text.txt >out 2>err </dev/null &
    child=$!
    eventually [ -f parts/last.safetensors ]
}
# Makes every save fail: a directory takes the name of the next checkpoint. Waits for the first
# failure, because a run without a failed save may already have written its last checkpoint.
bar_saving() {
    eventually mkdir parts/next.safetensors 2>/dev/null
    eventually grep -q 'The training continues' err
}
end_with() {
    kill "-$1" "$child"
    wait "$child" 2>/dev/null
    status=$?
    child=
}
start_endless
cp err kept.err
refused 'train refuses a run directory in use' 1 "parts: in use by process $child" \
    "$bin/train" --resume parts
cp kept.err err
check 'the run in use continues' kill -0 "$child"
end_with KILL
check 'a killed run leaves its lock file' [ -f parts/lock ]
: >"parts/last.safetensors.$(sh -c 'echo $$').tmp"
resume parts --stop-after 20
check 'a run resumes despite the lock of a killed one' exits 0
check 'resuming removes the lock and temporary files' eval '! ls parts | grep -q -e tmp -e lock'

start_endless
bar_saving
check 'a failed save is reported' says 'parts/next.safetensors: cannot replace'
check 'a failed save does not end the run' kill -0 "$child"
rmdir parts/next.safetensors
sleep 0.3
end_with TERM
check 'a failed save followed by a good one is no error' exits 143
start_endless
bar_saving
end_with TERM
check 'a failed last save is an error' exits 1
check 'a failed last save names the checkpoint to resume from' \
    says 'parts/last.safetensors is intact'
rmdir parts/next.safetensors
resume parts --stop-after 20
check 'a run resumes after a failed last save' exits 0

rm -rf straight parts
train straight text.txt
train parts --stop-after 39 text.txt
rm -f parts/best.safetensors
mkdir parts/best.safetensors
resume parts
check 'failing to save the best model is an error' exits 1
rmdir parts/best.safetensors
resume parts
check 'resuming a finished run saves the missing best model' \
    eval 'same_numbers straight/best.safetensors parts/best.safetensors &&
        same straight/last.safetensors parts/last.safetensors'
run "$bin/train" --resume parts
check 'a finished run with its best model has nothing to do' prints 'Nothing to do'
rm -rf straight parts

start_endless
mv parts gone
eventually [ -f parts/best.safetensors -a -f parts/last.safetensors ]
end_with TERM
check 'a removed run directory is made again' exits 143
grep -v '^# stopped:' parts/settings.conf >settings.now
check 'the new run directory has the settings' same settings.now gone/settings.conf
steps=$(recorded parts/last.safetensors step)
# shellcheck disable=SC2086
run "$bin/train" $endless --quiet --run straight --stop-after "$((steps + 1))" text.txt
resume parts --stop-after 1 # its first act is the validation that the signal may have broken off
check 'the new run directory has the log' same_logs straight parts
check 'the new run directory has the model' \
    same_numbers straight/last.safetensors parts/last.safetensors
rm -rf gone straight

start_endless
kill -INT "$child"
end_with INT
check 'two interrupts end a run' exits 130
works 'a run interrupted twice leaves a valid checkpoint' \
    "$bin/sample" --length 3 parts/last.safetensors
make_text 5000 3 >long.txt
endless="$endless --valid long.txt"
start_endless --eval-every 1
end_with TERM
check 'SIGTERM ends a run during validation' exits 143
resume parts --stop-after 1
check 'a run ended during validation resumes' exits 0
rm -rf parts

# --- signals in a validation that takes long ---

make_text 60000 3 >long.txt
# signals_at STEP OPTIONS...: starts the run parts, and sends it $signals in the validation after
# this step; the last one follows a checkpoint.
signals_at() {
    step=$1
    shift
    rm -rf parts
    # shellcheck disable=SC2086
    "$bin/train" $small --log-every 1 --threads 1 --valid long.txt --run parts "$@" text.txt \
        >out 2>err </dev/null &
    child=$!
    eventually grep -q "step $step/" err
    [ "$which" != last ] || eventually [ -f parts/last.safetensors ]
    for signal in $signals; do
        kill "-$signal" "$child"
    done
    wait "$child"
    status=$?
    child=
}
# validates_later WHICH STEP OPTIONS...: whatever ends the run there, it goes on from the step.
validates_later() {
    which=$1
    shift
    for signals in INT 'INT INT' KILL; do
        [ "$signals" = INT ] || [ "$which" = last ] || continue
        signals_at "$@"
        check "$signals in the $which validation ends a run" [ "$status" -gt 128 ]
        check "$signals in the $which validation: the run is saved before it" \
            [ "$(recorded parts/last.safetensors step)" = "$1" -a \
            "$(recorded parts/last.safetensors validation_due)" = 1 ]
        check "$signals in the $which validation leaves no temporary file" \
            eval '! ls parts | grep -q tmp'
        resume parts --threads 2 --sample-every 1
        check "$signals in the $which validation: the resumed run is bit-identical" \
            same_runs straight parts
    done
}
slow='--steps 5'
# shellcheck disable=SC2086
run "$bin/train" $small --log-every 1 --quiet --valid long.txt --run straight $slow text.txt
# shellcheck disable=SC2086
validates_later last 5 $slow
rm -rf straight
slow='--steps 8 --eval-every 3 --eval-tokens 0 --sample-every 1 --patience 1 --lr 0'
# shellcheck disable=SC2086
run "$bin/train" $small --log-every 1 --quiet --valid long.txt --run straight $slow text.txt
# shellcheck disable=SC2086
validates_later first 3 $slow
check 'an older checkpoint is that of a run without a stop, too' \
    same straight/previous.safetensors parts/previous.safetensors
check 'a resumed run writes no sample twice' same straight/samples.txt parts/samples.txt
rm -rf straight
signals=INT which=list
signals_at 5 --steps 5 --attn softmax,linear
check 'Ctrl-C in the last validation of one of several runs ends them' exits 130
check 'and no other is begun' [ "$(echo parts/*/)" = parts/softmax/ ]
check 'and it is said what is left' prints '^Grid: 0 of 2 runs finished, 1 open, 1 missing, about'
check 'and how to continue' prints 'To continue the grid: .* --resume parts$'
rm -rf parts
signals_at 3 --steps 5 --save-every 1 --seed 1,2
for again in continues 'has nothing to do'; do
    # shellcheck disable=SC2086
    run "$bin/train" $small --log-every 1 --save-every 1 --valid long.txt --run parts --steps 5 \
        --seed 1,2 text.txt
    check "the same list again $again" eval 'exits 0 && [ "$(echo parts/*/)" = "parts/seed1/ parts/seed2/" ]'
done
check 'a finished list trains nothing' prints '^== runs 1 to 2 of 2: finished$'
# shellcheck disable=SC2086
run "$bin/train" $small --log-every 1 --save-every 1 --quiet --valid long.txt --steps 5 --seed 2 \
    --run whole text.txt
check 'a run of a list that was continued is bit-identical' same_runs whole parts/seed2
rm -rf parts whole
# shellcheck disable=SC2086
for options in '--steps 2' '--steps 2' '--steps 3'; do
    run "$bin/train" $small $options --quiet --attn linear,relu text.txt
done
check 'a list takes a new number only for other settings' \
    [ "$(cd runs && echo linear-text* relu-text*)" = 'linear-text linear-text-2 relu-text relu-text-2' ]
rm -rf runs

# --- values that are not finite ---

# Weights that grow by a factor of ten thousand in each step.
explosive='--lr 100 --weight-decay 100 --warmup 0 --schedule constant --steps 60'
# shellcheck disable=SC2086
train nan $explosive --save-every 1 text.txt
check 'a run with a non-finite loss ends' exits 1
check 'train names the step of the non-finite value' \
    says 'step [0-9]*: the [a-z]* is not finite, at learning rate 100, in batch'
check 'train names the first tensor with a non-finite value' says 'first in '
check 'train names the checkpoint to resume from after a non-finite loss' \
    says 'nan/last.safetensors is intact'
works 'the checkpoint before a non-finite loss is valid' \
    "$bin/sample" --length 3 nan/last.safetensors
# shellcheck disable=SC2086
train early $explosive text.txt
check 'a run that breaks off before its first checkpoint saves one' \
    eval 'exits 1 && [ -s early/last.safetensors ]'
run "$bin/train" --quiet --resume early --on-nan skip --nan-limit 9 --stop-after 2
check 'that run goes on' eval '[ "$(recorded early/last.safetensors skipped)" = 2 ]'
rm early/log.csv
run "$bin/train" --quiet --resume early --stop-after 1
check 'a run whose log is gone begins a new one' \
    eval "exits 0 && says 'log.csv: missing' && [ -s early/log.csv ]"
train skip $explosive --on-nan skip --nan-limit 4 text.txt
check '--nan-limit ends a run that skips steps' \
    eval "exits 1 && says '--nan-limit is reached: 4 steps before it had to be skipped'"
check 'train counts skipped steps' says '4 steps were skipped'
check 'train reports every skipped step' [ "$(grep -c 'Skipped$' err)" -eq 4 ]
check 'the log has every skipped step' \
    [ "$(cut -d , -f 6,8 skip/log.csv | grep -c '^nan,nan$')" -eq 4 ]
run "$bin/train" --quiet --resume nan --on-nan skip --nan-limit 9 --stop-after 3
check '--on-nan skip works on resuming' \
    eval '[ "$(recorded nan/last.safetensors skipped)" = 3 ]'
run "$bin/train" --quiet --resume nan --stop-after 3
check 'the count of skipped steps survives resuming' \
    eval '[ "$(recorded nan/last.safetensors skipped_in_row)" = 6 ]'
run "$bin/train" --quiet --resume nan --stop-after 9
check '--nan-limit holds across sessions' eval "exits 1 && says '9 steps before it'"

# --- too little memory ---

# A program built with a sanitizer reserves more memory than this limit.
if (ulimit -v 4000000 && "$bin/train" --version) >/dev/null 2>&1; then
    (ulimit -v 4000000 && exec "$bin/train" --max-mem 100000000 --dim 1024 --batch 9999 \
        --context 16 --run none text.txt) >out 2>err </dev/null
    status=$?
    check 'train names a memory limit set by ulimit' \
        eval "wanted=1 phrase=ulimit; well_refused && says 'training needs [0-9]* MB'"
    # ends MB COMMAND...: within this address space the command works, or says why not.
    ends() {
        (ulimit -v $(($1 * 1000)) && shift && exec timeout -s KILL 60 "$@") >out 2>err </dev/null
        status=$?
        exits 0 || { { exits 1 || exits 127; } && tail -n 1 err | grep -q 'memory\|map'; }
    }
    for megabytes in 6 12 20 60 100 170; do
        for command in "train $small --run limited --quiet text.txt" 'eval softmax text.txt' \
            'sample --length 5 softmax' 'compare softmax'; do
            rm -rf limited
            # shellcheck disable=SC2086
            check "$megabytes MB of address space: ${command%% *} ends" \
                ends "$megabytes" "$bin/"$command
        done
    done
else
    skip "a memory limit, because this build cannot start with one"
fi

# --- a full disk ---

train full --stop-after 20 text.txt
# The limit is far above the size of the log, and far below the size of a checkpoint.
(ulimit -f 16 && exec "$bin/train" --quiet --resume full) >out 2>err </dev/null
status=$?
check 'a full disk ends a run' exits 1
check 'train reports a full disk' says 'safetensors: cannot write'
check 'train says how to resume after a full disk' says 'train --resume full'
check 'a full disk leaves no temporary file' eval '! ls full | grep -q tmp'
works 'the last checkpoint before a full disk is valid' \
    "$bin/sample" --length 3 full/last.safetensors
(ulimit -f 0 && exec "$bin/train" --quiet --run unborn --steps 20 text.txt) >out 2>err </dev/null
status=$?
check 'a run that cannot begin ends' exits 1
check 'a run that cannot begin leaves no directory' [ ! -e unborn ]
resume full
check 'a run resumed after a full disk is bit-identical' same_runs softmax full

# --- a file of the run directory that cannot be written ---

train blocked --stop-after 20 text.txt
rm -f blocked/curves.svg
mkdir -p blocked/curves.svg/in-the-way
run "$bin/train" --quiet --resume blocked
check 'curves that cannot be written are an error at the end' eval 'exits 1 && says curves.svg'
check 'the training goes on without curves' same_numbers softmax/last.safetensors blocked/last.safetensors

count_cases
