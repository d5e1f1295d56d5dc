#!/bin/sh
# A long run, killed again and again: soak.sh BIN [MINUTES]. Two runs of the same settings go on
# beside each other for about so long, 120 minutes unless told. One is left alone. The other is
# killed every few seconds, by signals that ask and by one that does not, and resumed with
# another number of threads. In the end their files are the same to the bit, and neither has come
# to need more memory. Prints what it sees on the way, and how many cases passed and failed.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$top/tests/cases.sh"
bin=$(CDPATH='' cd -- "${1:-$top/bin}" && pwd) || exit 1
minutes=${2:-120}
export LC_ALL=C

cd -- "$work" || exit 1
evidence() { messages; }

# train RUN STEPS OPTIONS...: with all that has a state of its own to save.
train() {
    run=$1 steps=$2
    shift 2
    "$bin/train" --attn gated-delta --layers 2 --dim 32 --heads 2 --context 32 --batch 4 \
        --accumulate 2 --dropout 0.1 --word-dropout 0.1 --streams --average ema \
        --optimizer muon --log-every 10 --eval-every 50 --save-every 10 --steps "$steps" \
        --quiet --run "$run" "$@" toy
}

# A random number below $1.
below() { od -An -N4 -tu4 /dev/urandom | awk -v n="$1" '{ print $1 % n }'; }

# How many steps there are in the time, by a run of a minute beside another; the one that is
# killed loses some.
train measure-1 1000000 --threads 1 --stop-after 60s >/dev/null 2>&1 &
train measure-2 1000000 --threads 1 --stop-after 60s >/dev/null 2>err
wait
last=$(tail -n 1 measure-2/log.csv | cut -d , -f 1)
check 'steps are made' [ "${last:-0}" -gt 0 ]
[ "$failed" -eq 0 ] || { count_cases; exit 1; }
steps=$(((last * minutes * 8 / 10 + 9) / 10 * 10))
echo "$steps steps"

train whole "$steps" --threads 1 >whole.out 2>whole.err &
whole=$!

sessions=0
status=1
train torn "$steps" --stop-after 1 >out 2>err
while [ "$status" -ne 0 ] && [ "$sessions" -lt 100000 ]; do
    case $(below 4) in 0) signal=TERM ;; 1) signal=INT ;; *) signal=KILL ;; esac
    timeout -s "$signal" "$((2 + $(below 20)))" "$bin/train" --resume torn --quiet \
        --threads "$((1 + $(below 4)))" >out 2>err
    status=$?
    sessions=$((sessions + 1))
    case $status in
    0 | 124 | 130 | 137 | 143) ;;
    *)
        check "session $sessions goes on" false
        break
        ;;
    esac
done
wait "$whole"
check 'the run that is left alone ends well' [ "$?" -eq 0 ]
echo "$sessions sessions"

timeless() { cut -d , -f 1,2,3,5,6,7,8 "$1/log.csv"; }
same_logs() { timeless whole >log.1 && timeless torn >log.2 && cmp log.1 log.2; }
for file in best.safetensors last.safetensors; do
    check "$file is the same" cmp "whole/$file" "torn/$file"
done
check 'the log is the same' same_logs
# Peaks only grow; after the first tenth they should not.
check 'memory does not grow' awk -F , '
    NR > 1 { peak[NR] = $10 }
    END {
        print "peak of " peak[int(NR / 10) + 2] " MB after a tenth, of " peak[NR] " at the end"
        exit !(NR > 100 && peak[NR] < peak[int(NR / 10) + 2] + 1)
    }' whole/log.csv
count_cases
