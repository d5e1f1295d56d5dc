#!/bin/sh
# Kills and resumes a run for hours: soak.sh BIN [MINUTES] (default 120). Two runs with the same
# settings train side by side. One is left alone. The other is killed every few seconds, by
# SIGTERM, SIGINT or SIGKILL, and resumed with another number of threads. At the end the run that
# is behind catches up: their files must be bit-identical, and neither may need more memory than
# early on. Prints its progress, and at the end how many checks passed and failed.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$top/tests/cases.sh"
bin=$(CDPATH='' cd -- "${1:-$top/bin}" && pwd) || exit 1
minutes=${2:-120}
export LC_ALL=C

cd -- "$work" || exit 1
evidence() { messages; }

# train RUN OPTIONS...: with every feature that saves a state. Replaces the shell (exec).
train() {
    run=$1
    shift
    exec "$bin/train" --attn gated-delta --layers 2 --dim 32 --heads 2 --context 32 --batch 4 \
        --accumulate 2 --dropout 0.1 --word-dropout 0.1 --carry-state --average ema \
        --optimizer muon --log-every 10 --eval-every 50 --save-every 10 --steps 100000000 \
        --quiet --run "$run" "$@" toy
}
resume() { "$bin/train" --quiet --resume "$@" >out 2>err; }

# below N: a random number below N.
below() { od -An -N4 -tu4 /dev/urandom | awk -v n="$1" '{ print $1 % n }'; }

end=$(($(date +%s) + 60 * minutes))
train whole --threads 1 >whole.out 2>whole.err &
whole=$!
(train torn --stop-after 1) >out 2>err

# A shell may start background processes with signals ignored; here they must not be.
sessions=0
while [ "$(date +%s)" -lt "$end" ]; do
    case $(below 4) in 0) signal=TERM ;; 1) signal=INT ;; *) signal=KILL ;; esac
    timeout --foreground --preserve-status -s "$signal" "$((1 + $(below 20)))" \
        env --default-signal=INT \
        "$bin/train" --resume torn --quiet --threads "$((1 + $(below 4)))" >out 2>err
    status=$?
    sessions=$((sessions + 1))
    case $status in
    130 | 137 | 143) ;;
    *)
        check "session $sessions runs until it is killed, but ended with status $status" false
        break
        ;;
    esac
done
kill -s TERM "$whole"
wait "$whole"
check 'the undisturbed run ends after SIGTERM with a checkpoint' [ "$?" -eq 143 ]

# --- comparison ---

step_of() { head -c 20000 "$1/last.safetensors" | grep -a -o '"step":"[0-9]*"' | tr -dc 0-9; }
ahead=$(($(step_of whole) - $(step_of torn)))
if [ "$ahead" -gt 0 ]; then
    resume torn --stop-after "$ahead"
elif [ "$ahead" -lt 0 ]; then
    resume whole --stop-after "$((-ahead))"
fi
echo "$(step_of whole) steps, $sessions sessions"

for file in best.safetensors last.safetensors; do
    check "$file of the torn run is bit-identical" alike "whole/$file" "torn/$file"
done
check 'the log of the torn run is that of the whole one' same_logs whole torn
# Peak memory must not grow after the first tenth of the steps.
check 'memory does not grow' awk -F , '
    NR > 1 { peak[NR] = $10 }
    END {
        tenth = peak[int(NR / 10) + 2]
        print "peak of " tenth " MB after a tenth of the steps, " peak[NR] " at the end"
        exit !(NR > 100 && peak[NR] < tenth + 1)
    }' whole/log.csv
count_cases
