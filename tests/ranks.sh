#!/bin/sh
# Tests data-parallel training: ranks.sh BIN PLAIN, with programs built with MPI=1 and without. Tiny
# models learn the toy language. Prints a line for each failed check, and at the end how many
# passed and failed.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$top/tests/cases.sh"
bin=$(CDPATH='' cd -- "${1:?}" && pwd) || exit 1
plain=$(CDPATH='' cd -- "${2:?}" && pwd) || exit 1
export LC_ALL=C
# Tests may run as root, and with more ranks than processors.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

cd -- "$work" || exit 1
evidence() { messages; }

together() {
    ranks=$1
    shift
    timeout 300 mpirun --oversubscribe -n "$ranks" "$@" >out 2>err </dev/null
}
common='--layers 2 --dim 48 --heads 3 --context 40 --lr 0.003 --warmup 10 --dropout 0.1
    --log-every 20 --eval-every 30 --threads 1 --quiet'
corpus=toy
# settings RUN OPTIONS...: the command line of a run.
settings() {
    run=$1
    shift
    # shellcheck disable=SC2086
    printf '%s\n' $common --run "$run" "$@" "$corpus"
}
train() {
    program=$1
    shift
    # shellcheck disable=SC2046
    "$program/train" $(settings "$@") >out 2>err </dev/null
}
train_together() {
    ranks=$1
    shift
    # shellcheck disable=SC2046
    together "$ranks" "$bin/train" $(settings "$@")
}
one_message() { [ "$(grep -c '^train: ' err)" -eq 1 ] && grep -q "$1" err; }
# refused_together MESSAGE COMMAND...: it fails, and says why once. Of programs that end with an error,
# Open MPI 4.1 does not pass on every word, so that a silent one gets another chance.
refused_together() {
    message=$1
    shift
    for _ in 1 2 3 4 5; do
        ! "$@" || return 1
        ! grep -q '^train: ' err || break
    done
    one_message "$message"
}

# --- bit-identical runs ---

options='--batch 8 --shards 4 --steps 60'
# shellcheck disable=SC2086
{
    train "$plain" alone $options
    train "$bin" one $options
    check 'a run with one rank is bit-identical to one without MPI' same_runs alone one
    for ranks in 2 3 4; do
        train_together "$ranks" "by-$ranks" $options
        check "a run with $ranks ranks is bit-identical to one without" \
            same_runs alone "by-$ranks"
    done
    train_together 4 again $options
    check 'repeating a run with ranks is bit-identical' same_runs alone again
}
# Shards of unequal size, not a power of two, with every feature that has a state.
options='--batch 7 --shards 5 --accumulate 2 --steps 40 --average ema --optimizer muon
    --attn delta+window --carry-state --clip 0.3 --word-dropout 0.1 --subwords'
# shellcheck disable=SC2086
{
    train "$plain" odd $options
    train_together 3 odd-3 $options
    check 'unequal shards give a bit-identical run' same_runs odd odd-3
    train_together 5 odd-5 $options --stop-after 17
    together 2 "$bin/train" --resume odd-5 --quiet --stop-after 11
    "$plain/train" --resume odd-5 --quiet >out 2>err
    check 'a run resumes bit-identically with other numbers of ranks' same_runs odd odd-5
}
# Runs that begin with another, on a text of 57 steps an epoch.
"$plain/toy" --length 20000 >little.txt
corpus=little.txt
options='--batch 8 --shards 4 --steps 80'
# shellcheck disable=SC2086
train "$plain" parent $options
# shellcheck disable=SC2086
for begun in '--init parent --lr 0.001' '--distill parent' '--convert parent --attn gated-delta'; do
    word=${begun%% *}
    train "$plain" "after$word" $options $begun
    train_together 3 "after$word-3" $options $begun
    check "a run with $word and ranks is bit-identical to one without" \
        same_runs "after$word" "after$word-3"
done
corpus=toy
train_together 2 own --batch 8 --steps 20
train "$plain" own-one --batch 8 --steps 20 --shards 2
check '--shards defaults to the number of ranks' same_runs own-one own
check 'settings.conf records the number of shards' grep -q '^shards = 2$' own/settings.conf

# --- errors ---

check 'train refuses more ranks than shards' refused_together 'start at most 2' \
    train_together 3 many --batch 8 --shards 2 --steps 20
check 'train refuses more shards than sequences in a batch' refused_together 'larger --batch' \
    train_together 3 many --batch 2 --steps 20
check 'a refused run leaves no files' [ ! -e many ]
check 'ranks report an unknown option once' refused_together no-such \
    together 3 "$bin/train" --no-such toy
check 'ranks report a missing corpus once' refused_together nothere.txt \
    together 3 "$bin/train" nothere.txt
check 'ranks print --version once' \
    eval 'together 3 "$bin/train" --version && [ "$(grep -c linnet out)" = 1 ]'

# mixed OPTIONS...: two ranks, of which the second gets these options.
mixed() {
    # shellcheck disable=SC2046
    timeout 60 mpirun --oversubscribe -n 1 "$bin/train" $(settings mixed --batch 8 --steps 20) : \
        -n 1 "$bin/train" "$@" >out 2>err </dev/null
}
# shellcheck disable=SC2046
{
    check 'train refuses a rank with other settings' eval \
        '! mixed $(settings mixed --batch 8 --steps 20 --lr 0.1) && one_message "rank 1 on"'
    printf 'some other text\n' >other.txt
    i=0
    while [ "$i" -lt 8 ]; do cat other.txt other.txt >two.txt && mv two.txt other.txt && i=$((i + 1)); done
    check 'train refuses a rank with another text' eval \
        '! mixed $(settings mixed --batch 8 --steps 20) other.txt && one_message "one corpus"'
    check 'train refuses a rank without the text' eval \
        '! mixed $(settings mixed --batch 8 --steps 20 | sed "s/^toy$/gone.txt/") &&
            one_message "rank 1 on"'
}
check 'runs refused by one rank leave no checkpoint' [ ! -e mixed/last.safetensors ]

explosive='--batch 8 --shards 4 --lr 100 --weight-decay 100 --warmup 0 --schedule constant
    --steps 60'
told() { sed -n 's/: \(step [0-9]*: the .* is not finite, at [^;]*\);.*/\1/p' err; }
# shellcheck disable=SC2086
{
    train "$plain" nan $explosive
    words=$(told)
    check 'a non-finite loss ends all ranks' eval '! train_together 4 nan-4 $explosive'
}
check 'a non-finite loss is reported once' [ "$(told)" = "${words:?}" ]

# After a run that fails, all ranks go on to the next one.
# shellcheck disable=SC2086
check 'a grid goes on after a run that fails, and fails' eval '! train_together 2 grid-nan $explosive \
    --shards 2 --seed 1,2 && [ -e grid-nan/seed1 ] && [ -e grid-nan/seed2 ]'
train_together 2 grid --batch 8 --steps 20 --seed 1,2 --stop-after 8
check 'a grid that is stopped ends for all ranks' [ ! -e grid/seed2 ]
together 2 "$bin/train" --resume grid --quiet
check 'a grid is resumed by all ranks' [ -s grid/seed2/best.safetensors ]
together 2 "$bin/train" --resume grid --dry-run
check 'all ranks measure its time' grep -q '^2 runs, about' out

if mkdir disk 2>/dev/null && mount -t tmpfs -o size=900k tmpfs disk 2>/dev/null; then
    train_together 2 disk/full --batch 8 --steps 40
    check 'a full disk is reported once' eval '[ -n "$(tail -n 1 err)" ] &&
        grep -q "No space left" err && ! grep -q "rank 1 on" err'
    umount disk
else
    echo 'skipped: a full disk, which needs the right to mount one'
fi

# --- signals ---

# started RUN: starts it in the background and waits for its first checkpoint.
started() {
    # shellcheck disable=SC2046
    timeout 100 mpirun --oversubscribe -n 4 "$bin/train" $(settings "$1" --batch 8 --shards 4 \
        --steps 600 --save-every 10) >out 2>err </dev/null &
    job=$!
    eventually [ -e "$1/previous.safetensors" ]
}
ends_within() {
    begin=$(date +%s)
    wait "$job"
    status=$?
    [ $(($(date +%s) - begin)) -le "$1" ]
}
train "$plain" whole --batch 8 --shards 4 --steps 600 --save-every 10
for signal in KILL TERM; do
    started "rank-$signal"
    kill -s "$signal" "$(pgrep -f -- "^$bin/train .*--run rank-$signal " | tail -n 1)"
    check "SIG$signal to one rank ends all ranks" ends_within 60
    [ "$signal" = TERM ] || check "after SIG$signal to a rank mpirun fails" [ "$status" -ne 0 ]
    together 2 "$bin/train" --resume "rank-$signal" --quiet
    check "a run ended by SIG$signal resumes bit-identically" same_runs whole "rank-$signal"
done
started interrupted
kill -s INT "$(pgrep -f -- '^mpirun .*--run interrupted ' | head -n 1)"
check 'SIGINT to mpirun ends all ranks' ends_within 60
check 'a run interrupted through mpirun leaves a checkpoint' [ -s interrupted/last.safetensors ]
together 3 "$bin/train" --resume interrupted --quiet
check 'a run interrupted through mpirun resumes bit-identically' same_runs whole interrupted

count_cases
