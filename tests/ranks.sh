#!/bin/sh
# Training that ranks share: ranks.sh BIN PLAIN, where BIN has programs built with MPI=1 and PLAIN
# has them built without. Models are tiny and learn the toy language. Prints a line for each case
# that failed and, last, how many passed and failed.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$top/tests/cases.sh"
bin=$(CDPATH='' cd -- "${1:?}" && pwd) || exit 1
plain=$(CDPATH='' cd -- "${2:?}" && pwd) || exit 1
export LC_ALL=C
# Tests may run as root, and with more ranks than there are processors.
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
# settings RUN OPTIONS...: the words of a training.
settings() {
    run=$1
    shift
    # shellcheck disable=SC2086
    printf '%s\n' $common --run "$run" "$@" toy
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
timeless() { cut -d , -f 1,2,3,5,6,7,8 "$1/log.csv"; }
same_runs() {
    cmp "$1/best.safetensors" "$2/best.safetensors" >err 2>&1 &&
        cmp "$1/last.safetensors" "$2/last.safetensors" >err 2>&1 &&
        timeless "$1" >log.1 && timeless "$2" >log.2 && cmp log.1 log.2 >err 2>&1
}
one_message() { [ "$(grep -c '^train: ' err)" -eq 1 ] && grep -q "$1" err; }

# --- the same bits ---

options='--batch 8 --shards 4 --steps 60'
# shellcheck disable=SC2086
{
    train "$plain" alone $options
    train "$bin" one $options
    check 'one rank is the build without MPI' same_runs alone one
    for ranks in 2 3 4; do
        train_together "$ranks" "by-$ranks" $options
        check "$ranks ranks are one" same_runs alone "by-$ranks"
    done
    train_together 4 again $options
    check 'and so they are again' same_runs alone again
}
# Shards of unequal size, no power of two, with all that has a state of its own.
options='--batch 7 --shards 5 --accumulate 2 --steps 40 --streams --average ema --optimizer muon
    --attn delta+window --carry-state --clip 0.3 --word-dropout 0.1'
# shellcheck disable=SC2086
{
    train "$plain" odd $options
    train_together 3 odd-3 $options
    check 'unequal shards, and all that is carried' same_runs odd odd-3
    train_together 5 odd-5 $options --stop-after 17
    together 2 "$bin/train" --resume odd-5 --quiet --stop-after 11
    "$plain/train" --resume odd-5 --quiet >out 2>err
    check 'five ranks, then two, then one without MPI' same_runs odd odd-5
}
train_together 2 own --batch 8 --steps 20
train "$plain" own-one --batch 8 --steps 20 --shards 2
check 'as many shards as ranks, where none are asked for' same_runs own-one own
check 'and the settings say so' grep -q '^shards = 2$' own/settings.conf

# --- what goes wrong ---

check 'more ranks than shards are refused' eval \
    '! train_together 3 many --batch 8 --shards 2 --steps 20 && one_message "start at most 2"'
check 'more shards than windows, too' eval \
    '! train_together 3 many --batch 2 --steps 20 && one_message "larger --batch"'
check 'a refused run leaves nothing' [ ! -e many ]
check 'an unknown option' eval \
    '! together 3 "$bin/train" --no-such toy && one_message "no-such"'
check 'no corpus' eval '! together 3 "$bin/train" nothere.txt && one_message nothere.txt'
check 'help is for one' eval 'together 3 "$bin/train" --version && [ "$(grep -c linnet out)" = 1 ]'

# mixed OPTIONS-OF-THE-SECOND...: a rank that was told otherwise.
mixed() {
    # shellcheck disable=SC2046
    timeout 60 mpirun --oversubscribe -n 1 "$bin/train" $(settings mixed --batch 8 --steps 20) : \
        -n 1 "$bin/train" "$@" >out 2>err </dev/null
}
# shellcheck disable=SC2046
{
    check 'a rank with other settings' eval \
        '! mixed $(settings mixed --batch 8 --steps 20 --lr 0.1) && one_message "rank 1 on"'
    printf 'some other text\n' >other.txt
    i=0
    while [ "$i" -lt 8 ]; do cat other.txt other.txt >two.txt && mv two.txt other.txt && i=$((i + 1)); done
    check 'a rank with another text' eval \
        '! mixed $(settings mixed --batch 8 --steps 20) other.txt && one_message "one corpus"'
    check 'a rank without its text' eval \
        '! mixed $(settings mixed --batch 8 --steps 20 | sed "s/^toy$/gone.txt/") &&
            one_message "rank 1 on"'
}
check 'none of them leaves a run' [ ! -e mixed/last.safetensors ]

explosive='--batch 8 --shards 4 --lr 100 --weight-decay 100 --warmup 0 --schedule constant
    --steps 60'
told() { sed -n 's/: \(step [0-9]*: the .* is not finite, at [^;]*\);.*/\1/p' err; }
# shellcheck disable=SC2086
{
    train "$plain" nan $explosive
    words=$(told)
    check 'a loss that is not finite ends all' eval '! train_together 4 nan-4 $explosive'
}
check 'in the words of one rank' [ "$(told)" = "${words:?}" ]

if mkdir disk 2>/dev/null && mount -t tmpfs -o size=900k tmpfs disk 2>/dev/null; then
    train_together 2 disk/full --batch 8 --steps 40
    check 'a full disk ends in one message' eval '[ -n "$(tail -n 1 err)" ] &&
        grep -q "No space left" err && ! grep -q "rank 1 on" err'
    umount disk
else
    echo 'skipped: a full disk, which takes the right to mount one'
fi

# --- what ends it ---

# started RUN: in the background, until it has saved something.
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
    kill -s "$signal" "$(pgrep -f -- "--run rank-$signal " | tail -n 1)"
    check "SIG$signal to one rank ends all" ends_within 10
    [ "$signal" = TERM ] || check 'with a status that says so' [ "$status" -ne 0 ]
    together 2 "$bin/train" --resume "rank-$signal" --quiet
    check "and after SIG$signal the run goes on exactly" same_runs whole "rank-$signal"
done
started interrupted
kill -s INT "$(pgrep -f -- 'mpirun.*--run interrupted ' | head -n 1)"
check 'SIGINT to mpirun ends all' ends_within 10
check 'with a checkpoint' [ -s interrupted/last.safetensors ]
together 3 "$bin/train" --resume interrupted --quiet
check 'from which the run goes on exactly' same_runs whole interrupted

count_cases
