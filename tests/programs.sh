#!/bin/sh
# Tests the built programs as people call them: programs.sh BIN, where BIN is the folder that
# they are in. Models are tiny and the text is made up here, so that all of it takes seconds.
# Prints a line for each case that failed and, last, how many passed and failed.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
bin=$(CDPATH='' cd -- "${1:-$top/bin}" && pwd) || exit 1
unset CDPATH NO_COLOR COLUMNS LINES
export TERM=dumb
. "$top/tests/cases.sh"

child=
clean_up() {
    [ -z "$child" ] || kill -9 "$child" 2>/dev/null
    rm -rf -- "$work"
}
trap clean_up EXIT
cd -- "$work" || exit 1

status=0

# --- how a case is stated ---

# Runs a command; its status, output and messages are there for the next cases.
run() {
    "$@" >out 2>err </dev/null
    status=$?
}

# Beside the name of a case that failed.
evidence() { echo "  exit status $status, $(messages)"; }

exits() { [ "$status" -eq "$1" ]; }
fails() { ! "$@"; }
says() { grep -q -e "$1" err; }
prints() { grep -q -e "$1" out; }
silent() { [ ! -s out ] && [ ! -s err ]; }
lines() { [ "$(grep -c '' "$1")" -eq "$2" ]; }
same() { cmp -s "$1" "$2"; }
differ() { [ -f "$1" ] && [ -f "$2" ] && ! cmp -s "$1" "$2"; }

# A command that must succeed, as one case.
works() {
    name=$1
    shift
    run "$@"
    check "$name" exits 0
}

# refused NAME STATUS PHRASE COMMAND...: it ends with this status, prints nothing, explains
# itself in one line (bad usage: and another that points to --help), and makes no run folder.
refused() {
    name=$1 wanted=$2 phrase=$3
    shift 3
    run "$@"
    check "$name" well_refused
}
well_refused() {
    exits "$wanted" && [ ! -s out ] && says "$phrase" && lines err "$wanted" &&
        [ ! -e none ] && [ ! -e runs ]
}

# The numbers of a checkpoint, without the header that tells how it came about.
numbers() {
    header=$(od -A n -t u8 -N 8 "$1" | tr -d ' ')
    tail -c "+$((header + 9))" "$1"
}
same_numbers() {
    numbers "$1" >numbers.1 && numbers "$2" >numbers.2 && same numbers.1 numbers.2
}
# What a checkpoint says of itself.
told() {
    header=$(od -A n -t u8 -N 8 "$1" | tr -d ' ')
    head -c "$((header + 8))" "$1" | grep -a -o "\"$2\":\"[^\"]*\"" | cut -d '"' -f 4
}

# The columns of a log that do not depend on the clock.
timeless() { cut -d , -f 1,2,3,5,6,7,8 "$1/log.csv"; }
same_logs() {
    timeless "$1" >log.1 && timeless "$2" >log.2 && same log.1 log.2
}
# Two runs that left the same, byte for byte.
same_runs() {
    same "$1/best.safetensors" "$2/best.safetensors" &&
        same "$1/last.safetensors" "$2/last.safetensors" && same_logs "$1" "$2"
}

# near A B SHARE: whether two numbers differ by no more than this share.
near() {
    awk -v a="$1" -v b="$2" -v share="$3" 'BEGIN {
        d = a - b; if (d < 0) d = -d; if (b < 0) b = -b; exit !(a != "" && d <= share * b) }'
}
# field NAME: of the JSON in out.
field() { sed -n "s/.*\"$1\": \([0-9.eE+-]*\).*/\1/p" out | head -n 1; }
is_json() {
    if command -v python3 >/dev/null 2>&1; then
        python3 -c 'import json, sys; json.load(sys.stdin)' <out 2>/dev/null
    else
        [ "$(head -c 1 out)" = '{' ]
    fi
}
escape=$(printf '\033')
return=$(printf '\r')
is_plain() { ! grep -q -e "$escape" -e "$return" out err; }

# train NAME OPTIONS... CORPUS: a tiny run in the folder NAME.
small='--layers 1 --dim 16 --heads 2 --context 16 --pos learned --batch 4'
usual="$small --steps 40 --lr 0.01 --warmup 5 --log-every 5 --quiet"
train() {
    folder=$1
    shift
    # shellcheck disable=SC2086
    run "$bin/train" $usual --run "$folder" "$@"
}
resume() {
    folder=$1
    shift
    run "$bin/train" --quiet --resume "$folder" "$@"
}

# --- the text ---

# Sentences of a few words, so that there is something to learn. $1 lines, $2 seed.
make_text() {
    awk -v lines="$1" -v seed="$2" 'BEGIN {
        split("the a one this", first); split("linnet finch lark wren", bird)
        split("sings sleeps eats flies", verb); split("here today again alone", last)
        for (i = 0; i < lines; i++) {
            seed = (seed * 1103 + 12345) % 65536; n = int(seed / 16)
            print first[n % 4 + 1], bird[int(n / 4) % 4 + 1], verb[int(n / 16) % 4 + 1], \
                last[(n + int(n / 64)) % 4 + 1]
        }
    }'
}
make_text 200 1 >text.txt

# --- help ---

for program in train sample eval compare export bench inspect toy; do
    run "$bin/$program" --help
    check "$program --help" exits 0
    check "$program --help is printed" prints '^Usage: '
    check "$program --help lists --version" prints '^  --version'
    check "$program --help warns of nothing" [ ! -s err ]
    check "$program --help fits 100 columns" fails grep -q '.\{101\}' out
    run "$bin/$program" --version
    check "$program --version" exits 0
    check "$program --version is printed" prints "^$program (linnet) [0-9]"
    check "$program --version is one line" lines out 1
    run "$bin/$program" --helpp
    check "$program --helpp" exits 2
    check "$program --helpp has a suggestion" says "did you mean '--help'"
done
works 'train --attn help' "$bin/train" --attn help
check 'train --attn help tells of both kinds' eval "prints '^ *softmax ' && prints '^ *linear '"

# --- training ---

for kind in softmax linear; do
    train "$kind" --attn "$kind" text.txt
    check "$kind: training" exits 0
    check "$kind: --quiet prints nothing" silent
    for file in settings.conf log.csv curves.svg best.safetensors last.safetensors \
        previous.safetensors; do
        check "$kind: it leaves $file" [ -s "$kind/$file" ]
    done
    check "$kind: it leaves nothing else" eval "[ \"\$(ls -A $kind | wc -l)\" -eq 6 ]"
    check "$kind: the header of the log" [ "$(head -n 1 "$kind/log.csv")" = \
        'step,epoch,tokens,seconds,lr,train_loss,val_loss,grad_norm,tokens_per_second,peak_mb' ]
    check "$kind: the rows of the log" [ "$(cut -d , -f 1 "$kind/log.csv" | tr '\n' ' ')" = \
        'step 5 10 15 20 25 30 35 40 ' ]
    check "$kind: the settings" grep -q "^attn = $kind\$" "$kind/settings.conf"
    for threads in 1 2 3; do
        train "$kind.$threads" --attn "$kind" --threads "$threads" text.txt
        check "$kind: $threads threads make the same" same_runs "$kind" "$kind.$threads"
    done
    check "$kind: it learns" awk -F , 'NR == 2 { first = $6 } { last = $6 }
        END { exit !(last < 0.9 * first) }' "$kind/log.csv"
done

cksum softmax/* >sums.before
refused 'a run folder is not reused' 1 'exists already' \
    "$bin/train" --run softmax text.txt
cksum softmax/* >sums.after
check 'and nothing in it changes' same sums.before sums.after

train seed --seed 2 text.txt
check 'another seed, another result' differ seed/last.safetensors softmax/last.safetensors
check 'and other numbers' fails same_numbers seed/last.safetensors softmax/last.safetensors
train eval-every --eval-every 3 text.txt
check '--eval-every changes no weights' \
    same_numbers eval-every/last.safetensors softmax/last.safetensors
train log-every --log-every 1 text.txt
check '--log-every changes no weights' \
    same_numbers log-every/last.safetensors softmax/last.safetensors
train save-every --save-every 3 text.txt
check '--save-every changes no weights' \
    same_numbers save-every/last.safetensors softmax/last.safetensors
train patience --lr 0 --steps 400 --eval-every 2 --patience 3 text.txt
check '--patience ends a run that learns nothing' \
    [ "$(tail -n 1 patience/log.csv | cut -d , -f 1)" -lt 40 ]
cksum patience/* >sums.before
run "$bin/train" --resume patience
check 'a run that patience ended stays ended' says 'Nothing to do'
cksum patience/* >sums.after
check 'and as it was' same sums.before sums.after

# --- what looks on ---

events() { ls "$1" | grep -c '^events.out.tfevents.'; }
train watched --eval-every 7 --sample-every 2 --tensorboard --dropout 0.1 text.txt
check 'samples and events' exits 0
check '--quiet prints no samples' silent
train unwatched --eval-every 7 --dropout 0.1 text.txt
check 'change nothing' same_runs watched unwatched
check 'a sample at every other validation' \
    [ "$(sed -n 's/^# step \([0-9]*\), epoch .*/\1/p' watched/samples.txt | tr '\n' ' ')" = \
    '14 21 30 40 ' ]
check 'one event file' [ "$(events watched)" -eq 1 ]
check 'events name the scalars' grep -a -q 'val/perplexity' watched/events.out.tfevents.*
check 'and hold the samples' grep -a -q -F "$(sed -n 2p watched/samples.txt)" \
    watched/events.out.tfevents.*
check 'the curves are a picture' grep -q '</svg>' watched/curves.svg
train parts --eval-every 7 --sample-every 2 --tensorboard --dropout 0.1 --stop-after 17 text.txt
resume parts --sample-every 2 --tensorboard
check 'in two parts: the run is the same' same_runs watched parts
check 'in two parts: so are the samples' same watched/samples.txt parts/samples.txt
check 'in two parts: two event files' [ "$(events parts)" -eq 2 ]
rm -rf parts
train parts --eval-every 7 --sample-every 2 --dropout 0.1 --average tail --average-from 0 text.txt
check 'with an average, it is what writes' [ "$(sed -n '/^# step 40/,$p' parts/samples.txt)" != \
    "$(sed -n '/^# step 40/,$p' watched/samples.txt)" ]
rm -rf parts
# shellcheck disable=SC2086
run "$bin/train" $small --steps 10 --sample-every 1 --run samples text.txt
check 'samples are printed' says "$(sed -n 2p samples/samples.txt)"
check 'and kept' grep -q '^# step 10, ' samples/samples.txt
refused '--watch without a terminal' 1 '--watch wants a terminal' \
    "$bin/train" --watch --run none text.txt
refused 'nor for several models' 1 '--watch wants a terminal' \
    "$bin/train" --watch --attn softmax,linear --run none text.txt
refused '--watch and --quiet' 2 '--watch and --quiet' \
    "$bin/train" --watch --quiet --run none text.txt
if command -v script >/dev/null 2>&1 && script -qec true /dev/null >/dev/null 2>&1; then
    script -qec "stty rows 24 cols 80; TERM=xterm LANG=C NO_COLOR=1 \
        '$bin/train' $small --steps 2000 --eval-every 500 --sample-every 1 \
        --watch --run view text.txt" /dev/null >out 2>err </dev/null
    status=$?
    check 'on a terminal --watch works' exits 0
    tr "$escape" '\n' <out | tr -d '\r' >sequences
    check 'it takes the other screen' grep -q '^\[?1049h' sequences
    check 'and gives it back, with its last words' \
        eval "sed -n '/^\[?1049l/,\$p' sequences | grep -q 'Best validation loss'"
    check 'nothing is wider than the terminal' fails grep -q '^\[[0-9]*;1H.\{80\}' sequences
    check 'NO_COLOR: no colours in the view' fails grep -q '^\[[1-9][0-9;]*m' sequences
    check 'C locale: ASCII only' fails env LC_ALL=C grep -q '[^ -~]' sequences
fi

# --- speed ---

run "$bin/bench" gemm --json --dim 32 --heads 2 --batch 2 --repeats 1
check 'bench gemm knows the roof' prints '"roof_gflops": .*"kernel": '
run "$bin/bench" train --json --dim 32 --heads 2 --layers 1 --batch 2 --vocab 100 --repeats 1
check 'bench train knows the phases' prints '"phases": {"rest"'
run "$bin/bench" train --json --dim 32 --heads 2 --layers 1 --batch 2 --vocab 100 --repeats 1 \
    --optimizer muon
check 'bench train knows the optimizers' prints '"optimizer": '
run "$bin/bench" attention --json --n 16,70 --batch 2 --repeats 1
check 'bench attention has its rows' prints '"ratio_to_softmax"'
run "$bin/bench" decode --json --positions 3,9 --dim 32 --heads 2 --layers 1 --repeats 1
check 'bench decode has its rows' prints '"state_bytes"'
refused 'bench has four commands' 2 "no command 'dance'" "$bin/bench" dance

# --- what is seen ---

# shellcheck disable=SC2086
run "$bin/train" $small --steps 10 text.txt
check 'a run without a name gets one' [ -s runs/softmax-text/last.safetensors ]
check 'what it says is no control language' is_plain
check 'it says where the run is' says 'runs/softmax-text'
check 'it says what it trains on' says 'text.txt'
check 'and how much memory that takes' says '  memory [0-9]* MB  '
# shellcheck disable=SC2086
run "$bin/train" $small --steps 10 --quiet text.txt
check 'the next one gets another' [ -s runs/softmax-text-2/last.safetensors ]
rm -r runs
if command -v script >/dev/null 2>&1 && script -qec true /dev/null >/dev/null 2>&1; then
    script -qec "TERM=dumb '$bin/train' $small --steps 10 --run dumb text.txt" /dev/null >out 2>err </dev/null
    check 'a dumb terminal gets no escapes' fails grep -q "$escape" out
    script -qec "TERM=xterm NO_COLOR=1 '$bin/compare' softmax linear" /dev/null >out 2>err \
        </dev/null
    check 'NO_COLOR gets no colours' fails grep -q "$escape" out
fi

# --- going on ---

# resumes NAME FIRST OPTIONS...: stopping after FIRST steps changes nothing.
resumes() {
    how=$1 first=$2
    shift 2
    train straight --eval-every 7 "$@" text.txt
    train parts --eval-every 7 --stop-after "$first" "$@" text.txt
    check "$how: stopped" [ "$(told parts/last.safetensors step)" = "$first" ]
    resume parts
    check "$how: resumed" exits 0
    check "$how: nothing differs" same_runs straight parts
    cp straight/log.csv kept.log
    rm -rf straight parts
}
resumes 'softmax in two parts' 20 --dropout 0.2 --attn-dropout 0.1
resumes 'linear in two parts' 20 --attn linear --dropout 0.2
resumes 'accumulating, mid-epoch' 11 --accumulate 2 --dropout 0.1
resumes 'one step short' 39 --no-tied --pos rotary --norm post --act swiglu
resumes 'before averaging' 15 --average tail --average-from 0.5
resumes 'while averaging' 27 --average tail --average-from 0.5
resumes 'an exponential average' 11 --average ema --average-from 0.1 --optimizer muon
resumes 'with its state carried' 11 --attn gated-delta --pos none --carry-state
resumes 'with jitter' 11 --jitter 0.4
resumes 'in streams' 11 --streams --accumulate 3
resumes 'while patience lasts' 16 --patience 3 --lr 0
check 'where patience ends it' [ "$(tail -n 1 kept.log | cut -d , -f 1)" -lt 40 ]

train parts --stop-after 13 --threads 1 text.txt
resume parts --threads 3 --stop-after 9
check 'stopped twice' [ "$(told parts/last.safetensors step)" = 22 ]
resume parts --threads 2
check 'three sessions with other threads make the same' same_runs softmax parts

cksum softmax/last.safetensors softmax/log.csv >sums.before
run "$bin/train" --resume softmax
check 'a finished run has nothing to do' says 'Nothing to do'
check 'and that is no error' exits 0
cksum softmax/last.safetensors softmax/log.csv >sums.after
check 'nor does it change' same sums.before sums.after

train parts2 --stop-after 20 text.txt
refused 'a run keeps its width' 2 '--dim 32.* 16' "$bin/train" --resume parts2 --dim 32
works 'stating its width is fine' "$bin/train" --resume parts2 --dim 16 --stop-after 1 --quiet
refused 'a run keeps its folder' 2 '--run and --resume' \
    "$bin/train" --resume parts2 --run none
cp text.txt kept.txt
make_text 200 7 >text.txt
refused 'a run keeps its text' 1 'not the training text' "$bin/train" --resume parts2
rm text.txt
refused 'a run wants its text' 1 'text.txt' "$bin/train" --resume parts2
cp kept.txt text.txt
resume parts2
check 'refusals leave a run as it is' same_runs softmax parts2
mkdir empty
refused 'no run to resume' 1 'no such run' "$bin/train" --resume nowhere
refused 'nothing to resume' 1 'nothing has been saved' "$bin/train" --resume empty
cut_by_one() { head -c "$(($(wc -c <"$1") - 1))" "$1" >cut && cat cut >"$1"; }
cp -r softmax damaged
cut_by_one damaged/last.safetensors
resume damaged
check 'a damaged checkpoint to resume' exits 0
check 'is told, and what is taken instead' \
    says 'damaged/last.safetensors: .* step 30 in damaged/previous.safetensors instead'
check 'the run is the run' same_runs softmax damaged
check 'rows that were made again are kept aside' \
    [ "$(cut -d , -f 1 damaged/log.csv.bak | tr '\n' ' ')" = 'step 35 40 ' ]
check 'so is the damaged file' [ -f damaged/last.safetensors.damaged ]
cut_by_one damaged/last.safetensors
cut_by_one damaged/previous.safetensors
rm damaged/last.safetensors.damaged
cksum damaged/* >sums.before
refused 'nothing whole to resume' 1 'damaged/last.safetensors: ' \
    "$bin/train" --resume damaged
cksum damaged/* >sums.after
check 'and nothing is changed' same sums.before sums.after
train torn --stop-after 20 text.txt
printf '25,1.6' >>torn/log.csv
resume torn
check 'a torn row of the log' exits 0
check 'is made again' same_runs softmax torn

# --- signals ---

# signalled NAME STATUS: a run is interrupted anywhere, goes on, and nobody can tell.
endless="$small --steps 1000000 --eval-every 7 --log-every 1"
signalled() {
    rm -rf straight parts
    # shellcheck disable=SC2086
    "$bin/train" $endless --run parts text.txt >out 2>err </dev/null &
    child=$!
    waited=0
    while [ "$waited" -lt 200 ] && ! [ "$(grep -c '' parts/log.csv 2>/dev/null)" -gt 5 ] 2>/dev/null
    do
        sleep 0.05
        waited=$((waited + 1))
    done
    kill "-$1" "$child"
    wait "$child"
    status=$?
    child=
    check "$1 ends a run with $2" exits "$2"
    check "$1: it says how to go on" says 'train --resume parts'
    steps=$(told parts/last.safetensors step)
    resume parts --stop-after 5
    # shellcheck disable=SC2086
    run "$bin/train" $endless --quiet --run straight \
        --stop-after "$((${steps:-0} + 5))" text.txt
    check "$1: the run that went on is the run" same_runs straight parts
}
signalled INT 130
signalled TERM 143
rm -rf straight parts
# shellcheck disable=SC2086
(trap '' HUP && exec "$bin/train" $endless --quiet --run parts text.txt) \
    >out 2>err </dev/null &
child=$!
sleep 0.5
kill -HUP "$child"
sleep 0.3
check 'under nohup a run outlives its terminal' kill -0 "$child"
kill -TERM "$child"
wait "$child"
child=

# --- what befalls a run ---

# A run in the background, in the folder parts, that has begun.
start_endless() {
    rm -rf parts
    # shellcheck disable=SC2086
    "$bin/train" $endless "$@" --quiet --run parts text.txt >out 2>err </dev/null &
    child=$!
    eventually [ -f parts/last.safetensors ]
}
# Where the next checkpoint is to be, there is something that it cannot replace. Until a save has
# failed, the last may have been good, and nothing done since that wants another.
bar_saving() {
    eventually mkdir parts/next.safetensors 2>/dev/null
    eventually grep -q 'The training goes on' err
}
end_with() {
    kill "-$1" "$child"
    wait "$child" 2>/dev/null
    status=$?
    child=
}
# Whether the run in parts is one that nothing ever befell. It has to have come past where it was
# stopped, for its best model may be from a later step than what it went on from.
check_run() {
    steps=$(told parts/last.safetensors step)
    # shellcheck disable=SC2086
    "$bin/train" $endless --quiet --run straight --stop-after "${steps:-1}" text.txt \
        >/dev/null 2>&1 </dev/null
    check "$1" same_runs straight parts
    rm -rf straight
}
start_endless
cp err kept.err
refused 'a run in use' 1 "parts: in use by process $child" "$bin/train" --resume parts
cp kept.err err
check 'goes on' kill -0 "$child"
end_with KILL
check 'a killed one leaves its lock' [ -f parts/lock ]
: >"parts/last.safetensors.$(sh -c 'echo $$').tmp"
resume parts --stop-after 20
check 'which is in nobody'"'"'s way' exits 0
check 'and what else it left goes' eval '! ls parts | grep -q -e tmp -e lock'
check_run 'a killed run that went on is the run'

start_endless
bar_saving
check 'a save that fails is told' says 'parts/next.safetensors: cannot replace'
check 'and does not end the run' kill -0 "$child"
rmdir parts/next.safetensors
sleep 0.3
end_with TERM
check 'nor does it count once it is better' exits 143
check_run 'nor change anything'
start_endless
bar_saving
end_with TERM
check 'a last save that fails counts' exits 1
check 'and says where to go on' says 'parts/last.safetensors is as it was saved last'
rmdir parts/next.safetensors
resume parts --stop-after 20
check_run 'from there it is the run'

rm -rf straight parts
train straight text.txt
train parts --stop-after 39 text.txt
rm -f parts/best.safetensors
mkdir parts/best.safetensors
resume parts
check 'so does a best model that is not saved' exits 1
rmdir parts/best.safetensors
resume parts
check 'it is once it can be, though the run is over' \
    eval 'same_numbers straight/best.safetensors parts/best.safetensors &&
        same straight/last.safetensors parts/last.safetensors'
run "$bin/train" --resume parts
check 'and only then' says 'Nothing to do'
rm -rf straight parts

start_endless
mv parts gone
eventually [ -f parts/best.safetensors -a -f parts/last.safetensors ]
end_with TERM
check 'a folder that is gone is made again' exits 143
check 'with its settings' same parts/settings.conf gone/settings.conf
steps=$(told parts/last.safetensors step)
# shellcheck disable=SC2086
run "$bin/train" $endless --quiet --run straight --stop-after "$steps" text.txt
check 'its log' same_logs straight parts
check 'and its model' same_numbers straight/last.safetensors parts/last.safetensors
rm -rf gone straight

start_endless
kill -INT "$child"
end_with INT
check 'interrupted twice' exits 130
works 'its files are whole' "$bin/sample" --length 3 parts/last.safetensors
resume parts --stop-after 20
check_run 'and it goes on as the run'
make_text 5000 3 >long.txt
endless="$endless --valid long.txt"
start_endless --eval-every 1
end_with TERM
check 'ended while it validates' exits 143
resume parts --stop-after 1
check 'it can go on' exits 0
rm -rf parts

# Weights that grow ten thousandfold in each step.
explosive='--lr 100 --weight-decay 100 --warmup 0 --schedule constant --steps 60'
# shellcheck disable=SC2086
train nan $explosive --save-every 1 text.txt
check 'a run that goes astray ends' exits 1
check 'it says where' says 'step [0-9]*: the [a-z]* is not finite, at learning rate 100, in batch'
check 'in the model too' says 'first: '
check 'and what there is to go on from' says 'nan/last.safetensors is as it was saved last'
works 'which is whole' "$bin/sample" --length 3 nan/last.safetensors
# shellcheck disable=SC2086
train skip $explosive --on-nan skip --nan-limit 4 text.txt
check 'skipping has its limit' eval "exits 1 && says 'the 4 steps before it: --nan-limit'"
check 'skipped steps are counted' says '4 steps were skipped'
check 'every one is told' [ "$(grep -c 'Skipped$' err)" -eq 4 ]
check 'and logged' [ "$(cut -d , -f 6,8 skip/log.csv | grep -c '^nan,nan$')" -eq 4 ]
run "$bin/train" --quiet --resume nan --on-nan skip --nan-limit 9 --stop-after 3
check 'a run can be told to skip later' eval '[ "$(told nan/last.safetensors skipped)" = 3 ]'
run "$bin/train" --quiet --resume nan --stop-after 3
check 'and goes on counting' eval '[ "$(told nan/last.safetensors skipped_in_row)" = 6 ]'
run "$bin/train" --quiet --resume nan --stop-after 9
check 'up to its limit' eval "exits 1 && says 'the 9 steps before it'"

# A program under a sanitizer reserves more than that for itself.
if (ulimit -v 4000000 && "$bin/train" --version) >/dev/null 2>&1; then
    (ulimit -v 4000000 && exec "$bin/train" --max-mem 100000000 --dim 1024 --batch 9999 \
        --context 16 --run none text.txt) >out 2>err </dev/null
    status=$?
    check 'a process that may have little memory' \
        eval "wanted=1 phrase=ulimit; well_refused && says 'training needs [0-9]* MB'"
else
    echo "skipped: a limit on memory, under which this build cannot start"
fi

# --- wrong input ---

# no NAME STATUS PHRASE OPTIONS: train refuses to begin.
no() {
    # shellcheck disable=SC2086
    refused "$1" "$2" "$3" "$bin/train" $small --steps 2 --run none $4
}
: >empty.txt
printf ' \n\n \n' >blank.txt
head -c 3000 "$bin/train" >binary.txt
head -n 5 text.txt >short.txt
gzip -c text.txt >text.copy.gz && head -c 200 text.copy.gz >cut.txt.gz
no 'no corpus' 2 'corpus' ''
no 'two corpora' 2 'one corpus' 'text.txt kept.txt'
no 'a missing corpus' 1 'missing.txt: no such file' missing.txt
no 'an empty corpus' 1 'empty.txt: the corpus is empty' empty.txt
no 'a blank corpus' 1 'blank.txt: the corpus is empty' blank.txt
no 'a binary corpus' 1 'binary.txt' binary.txt
no 'a corpus that is too short' 1 'short.txt' short.txt
no 'a corpus that is a folder' 1 'empty: is a folder' empty
no 'a gzip file that was cut' 1 'cut.txt.gz: .*breaks off' cut.txt.gz
no 'a missing validation text' 1 '--valid missing.txt' '--valid missing.txt text.txt'
no 'an unknown option' 2 "did you mean '--layers'" '--layer 3 text.txt'
no 'an option without its value' 2 '--dim needs a value' 'text.txt --dim'
no 'an unknown kind' 2 "'telepathy' is not one of: softmax, " '--attn telepathy text.txt'
no 'an unknown kind at the end of a list' 2 "'telepathy'" '--attn linear,telepathy text.txt'
no 'more kinds than layers' 2 'only 1 layers' '--attn linear+softmax --layers 1 text.txt'
no "another kind's option" 2 "'softmax' attention does not use it" '--window 3 text.txt'
no 'angles where they do harm' 2 '--pos rotary' '--attn efficient --pos rotary text.txt'
no 'heads that do not divide' 2 '--heads 3 does not divide --dim 16' '--heads 3 text.txt'
no 'dropped weights that are none' 2 'no weights' '--attn linear --attn-dropout 0.1 text.txt'
no 'a rate that is no number' 2 "--lr: 'nan'" '--lr nan text.txt'
no 'a rate without end' 2 "--lr: '1e999'" '--lr 1e999 text.txt'
no 'a negative rate' 2 "--lr: '-1'" '--lr -1 text.txt'
no 'an empty batch' 2 "--batch: '0'" '--batch 0 text.txt'
no 'a batch of nothing' 2 "--batch: ''" '--batch= text.txt'
no 'a strange end' 2 "--stop-after: 'soon'" '--stop-after soon text.txt'
no 'too much memory' 1 'the limit is 1 MB' '--max-mem 1 --dim 512 text.txt'
no 'a folder that cannot be made' 1 'cannot make' '--run no/such/place text.txt'
no 'an unknown preset' 2 '--preset unheard' '--preset unheard text.txt'
run "$bin/train" --run none "no${escape}file.txt"
check 'messages obey no escapes' eval 'exits 1 && is_plain'
if latin=$(printf 'caf\351.txt') && cp text.txt "$latin" 2>/dev/null; then
    refused 'a name that no checkpoint can hold' 2 'UTF-8' "$bin/train" --run none "$latin"
fi

head -c "$(($(wc -c <softmax/best.safetensors) / 2))" softmax/best.safetensors >cut.safetensors
for program in sample eval; do
    corpus=
    [ "$program" = sample ] || corpus=text.txt
    refused "$program: a checkpoint that was cut" 1 'cut.safetensors: ' \
        "$bin/$program" cut.safetensors $corpus
    refused "$program: a text for a checkpoint" 1 'text.txt: .*looks like text' \
        "$bin/$program" text.txt $corpus
    refused "$program: a folder without a checkpoint" 1 'empty: no checkpoint' \
        "$bin/$program" empty $corpus
    refused "$program: no such run" 1 'nowhere: no such run' "$bin/$program" nowhere $corpus
    refused "$program: no run" 2 'run' "$bin/$program"
    refused "$program: an unknown option" 2 "did you mean '--threads'" \
        "$bin/$program" --thread 2 softmax
done
refused 'eval: a missing corpus' 1 'missing.txt' "$bin/eval" softmax missing.txt
refused 'eval: gaps between windows' 2 '--stride 20' \
    "$bin/eval" softmax text.txt --window 16 --stride 20
refused 'eval: more positions than were learned' 2 '--window 17' \
    "$bin/eval" softmax text.txt --window 17
refused 'compare: no run' 2 'run' "$bin/compare"
refused 'compare: a missing run' 1 'nowhere' "$bin/compare" softmax nowhere
refused 'compare: an empty folder' 1 'empty' "$bin/compare" empty
refused 'toy: a word too many' 2 'text.txt' "$bin/toy" text.txt

# --- a full disk ---

train full --stop-after 20 text.txt
# The limit is far above what the log takes, and far below a checkpoint.
(ulimit -f 16 && exec "$bin/train" --quiet --resume full) >out 2>err </dev/null
status=$?
check 'a full disk ends a run' exits 1
check 'and it says so' says 'safetensors: cannot write'
check 'and it says how to go on' says 'train --resume full'
check 'it leaves no temporary file' eval '! ls full | grep -q tmp'
works 'what was saved can be read' "$bin/sample" --length 3 full/last.safetensors
resume full
check 'and be resumed' same_runs softmax full
if [ -c /dev/full ]; then
    for command in "sample softmax" "eval softmax text.txt" "compare softmax" "toy" \
        "train --help"; do
        # shellcheck disable=SC2086
        (set -- $command && program=$1 && shift && exec "$bin/$program" "$@") \
            >/dev/full 2>err </dev/null
        status=$?
        check "$command: a full disk is an error" exits 1
        check "$command: and explained" says 'cannot write'
    done
fi

# --- sample ---

sample() { run "$bin/sample" --length 30 "$@" softmax; }
sample --seed 3 && cp out first
check 'sample' exits 0
check 'sample warns of nothing' [ ! -s err ]
check 'sample makes so many tokens' \
    eval '[ "$(awk "{ n += NF + 1 } END { print n }" first)" -ge 30 ]'
check 'and no more' eval '[ "$(awk "{ n += NF + 1 } END { print n }" first)" -le 31 ]'
sample --seed 3
check 'the same seed, the same text' same out first
sample --seed 3 --threads 2
check 'with more threads too' same out first
sample --seed 4
check 'another seed, another text' differ out first
sample --greedy && cp out greedy
sample --greedy --seed 9
check '--greedy knows no chance' same out greedy
sample --top-k 1 --temperature 5
check 'the likeliest is the greedy one' same out greedy
sample --temperature 0
check 'so is the coldest' same out greedy
sample --top-p 0
check 'so is the smallest share' same out greedy
sample --prompt 'the linnet'
check 'the prompt comes first' eval 'head -n 1 out | grep -q "^the linnet"'
check 'and is known' [ ! -s err ]
sample --prompt 'the cuckoo'
check 'an unknown word is told' says '1 unknown token'
run "$bin/sample" --length 0 --prompt 'one lark' softmax
check 'nothing but the prompt' [ "$(cat out)" = 'one lark' ]
sample --count 3 && cp out few
check 'three texts' eval '[ "$(grep -c "^---\$" few)" -eq 2 ]'
sample --count 1
check 'the first is the one that is made alone' begins few out
# As many as that are not made at once.
sample --count 71 && cp out many
check 'many texts' eval '[ "$(grep -c "^---\$" many)" -eq 70 ]'
check 'a text does not depend on how many there are' begins many few
sample --count 3 --threads 2
check 'nor on the threads' same out few
sed 's/.*/ & /' text.txt >blanks.txt
train letters --tokens char text.txt
train trimmed --tokens char --trim blanks.txt
check 'a text that is trimmed is one without blanks' \
    same_numbers letters/last.safetensors trimmed/last.safetensors
run "$bin/eval" letters text.txt
cp out letters.out
run "$bin/eval" trimmed blanks.txt
check 'and is scored as such' same letters.out out
train rare --min-count 60 text.txt
sample --seed 1 && run "$bin/sample" --length 300 --temperature 3 rare
check 'a model of rare words says <unk>' prints '<unk>'
run "$bin/sample" --length 300 --temperature 3 --no-unk rare
check 'unless it must not' fails prints '<unk>'
run "$bin/sample" --length 300 linear
check 'far past the context' exits 0
works 'kinds in turn over the layers' "$bin/train" $small --layers 2 --pos auto \
    --attn window+gated-delta --window 4 --steps 3 --run hybrid text.txt
works 'and they write' "$bin/sample" --length 40 hybrid
works 'one model after another' "$bin/train" $small --attn softmax,linear --steps 2 \
    --run series text.txt
check 'ends with their comparison' prints '^linear  *linear '
check 'and leaves both' [ -f series/softmax/best.safetensors -a -f series/linear/last.safetensors ]
works 'the kinds explain themselves' "$bin/train" --attn help
check 'all of them' prints '^gated-delta '
"$bin/sample" --length 100000 softmax 2>err </dev/null | head -c 10 >out
check 'a reader that leaves is no trouble' [ ! -s err ]
"$bin/sample" --length 1000000000000 --count 3 linear 2>err </dev/null | head -c 10 >out
check 'nor are texts that nothing could keep' eval '[ ! -s err ] && [ -s out ]'
refused 'an empty prompt of bytes' 2 'prompt' \
    "$bin/sample" --prompt "$(printf '\377')" softmax
sample --detok --prompt 'the linnet'
check 'as in print, a capital first' eval 'head -n 1 out | grep -q "^The linnet"'
check 'and every stop close to its word' fails prints ' \.'
sample --show-probs --prompt 'the linnet'
check 'probabilities have a legend' eval 'head -n 1 out | grep -q probability'
check 'and stand behind their tokens' prints '^the\[[0-9.e-]*\] linnet\['
run env COLUMNS=60 "$bin/sample" --length 30 --count 3 --columns softmax
check 'texts side by side' eval 'head -n 1 out | grep -q "^(1) .* (2)"'
check 'as wide as there is room' eval '[ "$(tr -d "\200-\277" <out | wc -L)" -le 60 ]'
refused 'columns of texts that nothing could keep' 2 '--columns keeps' \
    "$bin/sample" --columns --length 1000000000 softmax

head -n 3 text.txt >little.txt
"$bin/sample" --score - softmax <little.txt >out 2>err
status=$?
check '--score' exits 0
cp out scored
run "$bin/eval" softmax text.txt --valid little.txt
check 'it comes to what eval says' [ "$(tail -n 2 scored | tr -d '.0-9')" = \
    "$(tail -n 2 out | sed 's/^valid: //' | tr -d '.0-9')" ]
nats() { tail -n 1 "$1" | sed 's/.* \([0-9.]*\) nats in all$/\1/'; }
check 'to the digit' \
    eval 'awk "BEGIN { d = $(nats scored) - $(nats out); exit !(d < 0.02 && d > -0.02) }"'
check 'and has a line for every token' lines scored "$(($(wc -w <little.txt) + 3 + 3))"
run "$bin/sample" --score 'the cuckoo' softmax
check 'an unknown word is scored as such' prints '2 tokens, 1 of them unknown'
refused '--score of nothing' 1 'nothing to score' "$bin/sample" --score '' softmax
refused '--score and a prompt' 2 'makes no text' "$bin/sample" --score a --prompt b softmax

session() { "$bin/sample" --interactive softmax >out 2>err; status=$?; }
words() { tr -s ' \n' '\n\n' <"$1"; }
sample --length 12 --prompt 'the linnet' && words out >whole
printf '/length 6\nthe linnet\n\n' | session
check 'a session' exits 0
check 'a setting is told' eval 'head -n 1 out | grep -q "^length  *6\$"'
tail -n +2 out >rest && words rest >halves
check 'an empty line goes on where the text stopped' same halves whole
printf '/temperature 500\n/wings\n/top-k\n/quit\nthe linnet\n' | session
check 'a session survives mistakes' exits 0
check 'and tells them' eval 'says "from 0 to 100" && says "no command /wings"'
check 'and tells settings' prints '^top-k  *0$'
check 'and ends when it is told' fails prints linnet
if command -v script >/dev/null 2>&1; then
    mkdir home
    printf '/length 5\rthe linnet\r/quit\r' |
        env HOME="$work/home" XDG_STATE_HOME= TERM=xterm \
            script -qec "'$bin/sample' softmax" /dev/null >out 2>err
    check 'a terminal gets a session' prints 'Type how a text begins'
    check 'and a text' prints '^the linnet '
    check 'and what was typed is remembered' \
        grep -q '^the.*linnet' home/.local/state/linnet/history
fi

# --- inspect ---

inspect() { run "$bin/inspect" --text 'the linnet sings here' "$@"; }
for kind in softmax linear; do
    inspect "$kind" && cp out first
    check "$kind: inspect" exits 0
    check "$kind: inspect warns of nothing" [ ! -s err ]
    check "$kind: inspect tells what follows" prints '^ *2  the  *linnet  *[01][.]'
    check "$kind: inspect has a line for each token and head" lines out 10
    printf 'the linnet sings here\n' | "$bin/inspect" "$kind" >out 2>err
    check "$kind: standard input is a text as well" same out first
    inspect --json "$kind"
    check "$kind: inspect --json is JSON" is_json
    check "$kind: inspect --json has the weights" prints '"weights": \['
done
inspect --layer 1 --head 2 softmax
check 'inspect draws a head' prints '^Layer 1, head 2: softmax'
check 'and only that one' fails prints '^Layer 1, head 1'
inspect --html page.html --svg maps.svg linear
check 'inspect writes a page' grep -q '<h1>linear</h1>' page.html
check 'with both heads' [ "$(grep -c '<svg class="map"' page.html)" -eq 2 ]
check 'that needs nothing else' fails grep -q -e '<script' -e 'src=' -e 'href="[^#]' page.html
check 'and a picture' [ "$(grep -c '<svg class="map"' maps.svg)" -eq 2 ]
run "$bin/inspect" --text 'the cuckoo sings' softmax
check 'inspect tells of unknown tokens' says '1 unknown token'
run "$bin/inspect" --tokens 3 --text "$(make_text 5 1 | tr '\n' ' ')" softmax
check 'a long text loses its beginning' says 'the last 16 are read'
check 'and shows its end' says 'the last 3 of 16'
check 'with what is earlier in one column' prints '(earlier)'
refused 'inspect has no layer 2 here' 2 'this model has 1' \
    "$bin/inspect" --text the --layer 2 softmax
refused 'inspect wants a text' 2 'the text is empty' "$bin/inspect" softmax
refused 'which is one' 2 'text' "$bin/inspect" --text "$(printf '\377')" softmax
refused 'a page that cannot be written' 1 'nowhere/page.html' \
    "$bin/inspect" --text the --html nowhere/page.html softmax

# --- eval ---

eval_json() { run "$bin/eval" --json "$@"; }
best=$(awk -F , '$7 != "" && (best == "" || $7 + 0 < best + 0) { best = $7 }
    NR > 1 { next } { best = "" } END { print best }' softmax/log.csv)
eval_json softmax text.txt && cp out first
check 'eval' exits 0
check 'eval --json is JSON' is_json
for key in loss perplexity bits_per_character nats tokens unknown characters split window stride
do
    check "eval --json tells $key" prints "\"$key\": "
done
check 'the validation loss is that of the log' near "$(field loss)" "$best" 1e-4
check 'the window is the context' [ "$(field window)" = 16 ]
check 'the perplexity is that of the loss' near "$(field perplexity)" \
    "$(awk -v loss="$(field loss)" 'BEGIN { printf "%.12g", exp(loss) }')" 1e-6
eval_json softmax text.txt --threads 1 --batch 3
check 'the batch does not matter' near "$(field loss)" "$best" 1e-4
eval_json softmax/best.safetensors text.txt
check 'a file is as good as its folder' same out first
loss=$(field loss)
eval_json softmax text.txt --stride 4
check 'more context, no more loss' eval "near $(field loss) $loss 0.02"
check 'and the stride is told' [ "$(field stride)" = 4 ]
make_text 37 5 >other.txt
tokens=$(awk '{ n += NF + 1 } END { print n }' other.txt)
eval_json softmax text.txt --test other.txt --split test
check 'every token counts, line ends too' [ "$(field tokens)" = "$tokens" ]
check 'characters likewise' [ "$(field characters)" = "$(wc -m <other.txt | tr -d ' ')" ]
eval_json softmax text.txt --split train
check 'the training text is a split too' \
    [ "$(field tokens)" = "$(awk 'NR <= 180 { n += NF + 1 } END { print n }' text.txt)" ]
run "$bin/eval" softmax text.txt
check 'for people, in words' prints 'nats per token'
check 'and plain' is_plain

# --- compare ---

run "$bin/compare" softmax linear
check 'compare' exits 0
check 'both runs are in it' eval "prints '^softmax' && prints '^linear'"
check 'and nothing but text' is_plain
run "$bin/compare" --json softmax linear
check 'compare --json is JSON' is_json
check 'with both runs' eval "prints '\"softmax\"' && prints '\"linear\"'"
check 'and the best loss' near "$(field best_val_loss)" "$best" 1e-6
for key in groups differences settings scores seeds standard_deviation peak_mb; do
    check "compare --json tells $key" prints "\"$key\": "
done
works 'compare --csv' "$bin/compare" --csv softmax linear
check 'compare --csv: the header' [ "$(head -n 1 out)" = "run,group,seed,step,epoch,tokens,seconds,\
train_loss,val_loss,tokens_per_second,peak_mb" ]
check 'compare --csv: every row of the logs' lines out 17
check 'compare --csv: of both' eval "prints '^softmax,softmax,1,5,' && prints '^linear,linear,1,40,'"
for two in '--json --csv' '--markdown --json' '--csv --markdown'; do
    # shellcheck disable=SC2086
    refused "compare prints one thing at a time: $two" 2 \
        '--json, --csv and --markdown: standard output can be one' "$bin/compare" $two softmax
done
refused 'a loss to reach is a number' 2 "'soon' is no loss" "$bin/compare" --reach 5,soon softmax
run "$bin/compare" --reach 100,0.001 softmax
check 'compare --reach' eval "prints 'to 100  *to 0.001' && prints '^softmax .* - '"
run "$bin/compare" softmax linear
check 'one seed is no evidence' prints 'One seed each'
run "$bin/compare" softmax seed linear
check 'seeds are taken together' prints '^softmax.* 1 more  *softmax  *2 '
check 'and compared with others' prints 'linear (1 seed): '
check 'with what one seed can tell' eval "tr '\n' ' ' <out | grep -q 'spread *alike, less than'"
run "$bin/compare" --no-group softmax seed
check 'unless they must not be' eval "prints '^softmax ' && prints '^seed '"
run env LC_ALL=C.UTF-8 "$bin/compare" --color always --width 40 --height 12 softmax seed linear
check 'compare fits the width' [ "$(sed "s/$escape\[[0-9;]*m//g" out | LC_ALL=C.UTF-8 wc -L)" -le 40 ]
works 'compare --svg' "$bin/compare" --svg chart.svg softmax seed linear
check 'a group has a band' grep -q 'class="band"' chart.svg

same_cells() { awk -F '[|]' 'NR == 1 { cells = NF } NF != cells { exit 1 }' out; }
cp -r softmax pair-1 && cp -r seed pair-2 && cp -r linear lone
rm -f pair-1/scores.csv pair-2/scores.csv lone/scores.csv
works 'compare --markdown' "$bin/compare" --markdown pair-1 lone
check 'is a table of as many rows' eval 'lines out 4 && same_cells'
check 'with a row of titles' prints '^| run | attn | params | validation | validation against'
check 'a row for each run' eval "prints '^| pair-1 | softmax | [0-9.k]* | [0-9.]* | - | ' &&
    prints '^| lone | linear | .* | [0-9.]* | [+-][0-9.]* % | '"
check 'and numbers at the right' eval '[ "$(sed -n 2p out | cut -d : -f 1)" = "|---|---|---" ]'
hostile=$(printf 'a|`<b>\n*c*')
cp -r lone "$hostile"
run "$bin/compare" --markdown pair-1 "$hostile"
check 'a name is no Markdown' \
    [ "$(sed -n '4s/ | .*//p' out)" = '| a\|\`&lt;b&gt;\\x0a\*c\*' ]
rm -r "$hostile"
for name in pair-1 pair-2 lone; do
    works "a score for the table: $name" "$bin/eval" --split test "$name" text.txt
done
run env COLUMNS=20 "$bin/compare" --markdown pair-1 pair-2 lone
check 'of groups and scores it has columns' prints \
    '| params | seeds | validation | test | test against the first | tokens/s | time | MB |$'
check 'seeds make an interval' \
    prints '^| pair | softmax | .* | 2 | [0-9.]* ± [0-9.]* | [0-9.]* ± [0-9.]* | - | '
check 'one seed makes none' \
    prints '^| lone | linear | .* | - | [0-9.]* | [0-9.]* | [+-][0-9.]* % | '
check 'and how it was measured is one line' eval 'lines out 8 && [ -z "$(sed -n 7p out)" ] &&
    prints "^Test perplexity: [0-9]* tokens, window 16, stride 16\.$"'
run "$bin/compare" --json pair-1 pair-2 lone
check 'compare --json is JSON with test losses' is_json
check 'of groups' prints '"test_loss": {"count": 2, "mean": [0-9.]*, '
check 'and their differences' prints '"test_difference": -*[0-9.e-]*, "test_low": null'
run "$bin/compare" pair-1 pair-2 lone
check 'one seed says nothing of test losses' fails prints 'Test loss'
for seed in 1 2; do
    cp -r "pair-$seed" "more-$seed" && echo 'lr = 0.5' >>"more-$seed/settings.conf"
done
run "$bin/compare" pair-1 pair-2 more-1 more-2
check 'but seeds do' prints '^Test loss against pair (2 seeds):$'
run "$bin/compare" --json pair-1 pair-2 more-1 more-2
check 'in numbers too' prints '"test_low": -[0-9.]*, "test_high": [0-9.]*}'

# --- scores that are kept ---

cp -r softmax noted
rm -f noted/scores.csv
run "$bin/compare" noted
check 'no test score, no column' fails prints '  test'
run "$bin/eval" --split test noted text.txt
perplexity=$(sed -n 's/.*perplexity \([0-9.]*\),.*/\1/p' out)
check 'eval keeps the score' [ "$(cut -d , -f 1-4 noted/scores.csv | tail -n 1)" = test,16,16,0 ]
run "$bin/eval" --split test noted text.txt
check 'once for each protocol' lines noted/scores.csv 2
run "$bin/eval" --split test --stride 4 noted text.txt
check 'and once for another' lines noted/scores.csv 3
run "$bin/compare" noted
check 'compare shows it' prints "  $perplexity "
check 'and how it was measured' prints 'window 16, stride 16'
cp noted/scores.csv kept.csv
run "$bin/eval" --split test noted/best.safetensors text.txt
check 'a checkpoint file keeps nothing' same noted/scores.csv kept.csv
echo rubbish >noted/scores.csv
run "$bin/eval" --split test noted text.txt
check "somebody else's scores are left alone" eval 'exits 0 && says "scores.csv:1: not the scores"'
refused 'and said to be none' 1 'scores.csv:1: not the scores' "$bin/compare" noted

# --- other ways of scoring ---

eval_json softmax text.txt --split test
plain=$(field nats)
cp -r softmax ways
rm -f ways/scores.csv
run "$bin/eval" ways text.txt --split test && cp out plain.txt
run "$bin/eval" ways text.txt --split test --temperature 1.5 --cache 50 --dynamic
check 'eval has rows for other ways' exits 0
check 'the model as it is comes first' begins out plain.txt
check 'a temperature has its row' prints '^temperature 1.5: loss '
check 'and a cache' prints '^cache 50, theta 0.01, lambda 0.15: loss '
check 'and further learning' prints '^dynamic 16, lr 0.0003, decay 0.003, statistics 200: loss '
check 'and nothing else' lines out 5
check 'all are noted' [ "$(cut -d , -f 11,12 ways/scores.csv | tr '\n' ' ')" = "method,found \
plain, temperature 1.5, cache 50 theta 0.01 lambda 0.15, \
dynamic 16 lr 0.0003 decay 0.003 statistics 200, " ]
run "$bin/compare" ways
check 'compare shows the model as it is' \
    prints "  $(sed -n 's/.*perplexity \([0-9.]*\),.*/\1/p' plain.txt)  *"
check 'further learning leaves the model alone' \
    same ways/best.safetensors softmax/best.safetensors
run "$bin/eval" ways text.txt --split test --tune-temperature --cache 50 --tune-cache \
    --dynamic --dynamic-statistics 20 --tune-dynamic
check 'tuned ones say so' eval "prints '^temperature [0-9.]*, tuned on the validation text: ' &&
    prints '^cache 50, theta [0-9.]*, lambda [0-9.]*, tuned on the validation text: ' &&
    prints '^dynamic 16, lr [^ ]*, decay [^ ]*, statistics 20, tuned on the validation text: '"
check 'and what was found is noted' grep -q \
    ',cache 50 theta tuned lambda tuned,theta [0-9.]* lambda [0-9.]*$' ways/scores.csv
check 'for further learning, too' grep -q \
    ',dynamic 16 lr tuned decay tuned statistics 20,lr [^ ]* decay [^ ]*$' ways/scores.csv
run "$bin/eval" softmax/best.safetensors text.txt --tune-temperature
check 'on the validation text it is no surprise' prints 'tuned on this very text'
eval_json softmax text.txt --split test --temperature 1 --cache 50 --cache-lambda 0 --dynamic \
    --dynamic-lr 0
check 'eval --json has them too' \
    eval "is_json && prints '\"ways\": \[{\"method\": \"temperature\"'"
check 'ways that change nothing' \
    [ "$(grep -o '"nats": [0-9]*\.[0-9]' out | sort -u | wc -l)" -eq 1 ]
check 'change nothing' near "$(field nats)" "$plain" 1e-6
ways='--split test --temperature 0.7 --cache 9 --dynamic --stride 4'
# shellcheck disable=SC2086
eval_json linear text.txt $ways && cp out first
# shellcheck disable=SC2086
eval_json linear text.txt $ways --threads 3
check 'threads do not matter to any' same out first
# Four words again and again, in an order that training did not have.
yes 'alone flies wren this' | head -n 32 >again.txt
eval_json softmax text.txt --test again.txt --split test
plain=$(field nats)
eval_json softmax text.txt --test again.txt --split test --cache 50 --dynamic \
    --dynamic-lr 0.01 --dynamic-segment 4
nats_of() { sed -n "s/.*\"method\": \"$1\"[^}]*\"nats\": \([0-9.]*\).*/\1/p" out; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a + 0 < b + 0) }'; }
check 'what comes again is expected by a cache' less "$(nats_of cache)" "$plain"
check 'and learned' less "$(nats_of dynamic)" "$plain"
no 'jitter for a state that is carried' 2 'jitter: what fills up' \
    '--attn gated-delta --pos none --carry-state --jitter 0.3 text.txt'
no 'a mean of features that change' 2 'average-from 0.5: --redraw' \
    '--attn performer --redraw 3 --average ema --average-from 0.5 text.txt'
train carrying --attn gated-delta --pos none --carry-state text.txt
run "$bin/eval" carrying text.txt --temperature 1.2 --cache 20 --dynamic
check 'a state that is carried' eval "exits 0 && prints '^dynamic 16, '"
refused 'is read in one stream' 2 '--cache and --dynamic read' \
    "$bin/eval" carrying text.txt --batch 2 --cache 20
refused 'and once' 2 '--dynamic-segment 4: ' \
    "$bin/eval" carrying text.txt --dynamic --dynamic-segment 4
run "$bin/eval" softmax text.txt --dynamic --dynamic-lr 1e6
check 'a model that goes astray is told' says 'rate of 1e+06 as it reads.* no better.*--tune-dynamic'
works 'a flag that says no asks for nothing' "$bin/eval" softmax text.txt --no-tune-cache
refused 'eval: two temperatures' 2 '--temperature and --tune-temperature' \
    "$bin/eval" softmax text.txt --temperature 2 --tune-temperature
refused 'eval: a temperature of nothing' 2 '--temperature 0.001' \
    "$bin/eval" softmax text.txt --temperature 0.001
refused 'eval: theta of no cache' 2 '--cache-theta is for --cache' \
    "$bin/eval" softmax text.txt --cache-theta 1
refused 'eval: theta that is looked for' 2 '--tune-cache looks for' \
    "$bin/eval" softmax text.txt --cache 9 --tune-cache --cache-theta 1
refused 'eval: a rate that is looked for' 2 '--tune-dynamic looks for' \
    "$bin/eval" softmax text.txt --dynamic --tune-dynamic --dynamic-lr 1e-4
refused 'eval: a segment of nothing dynamic' 2 '--dynamic-segment is for --dynamic' \
    "$bin/eval" softmax text.txt --dynamic-segment 3
refused 'eval: a segment longer than a window' 2 'longer than the window of 16' \
    "$bin/eval" softmax text.txt --dynamic --dynamic-segment 17

baseline() { run "$bin/eval" --baseline "$@"; }
baseline text.txt
check 'a baseline needs no run' eval "exits 0 && prints '^5-gram, Kneser-Ney: loss '"
check 'and tells the unigram' prints '^unigram: loss .* perplexity [0-9]'
baseline text.txt --split test --order 2 --json
check 'eval --baseline --json is JSON' is_json
check 'and knows the order' prints '"order": 2}'
printf 'the cuckoo sings here\nthe cuckoo sings\n' >cuckoo.txt
baseline text.txt --test cuckoo.txt --split test
check 'what is impossible is told' prints \
    '^unigram: perplexity infinite, as 2 of 9 tokens do not come .* of the others [0-9.]*$'
check 'and possible for n-grams' prints '^5-gram, Kneser-Ney: loss [0-9.]* '
baseline text.txt --test cuckoo.txt --split test --json
check 'an infinite loss is no number' prints '"loss": null, .*"impossible": 2'
for kind in char byte; do
    works "a baseline of ${kind}s" "$bin/eval" --baseline --tokens "$kind" text.txt
done
# Where the Penn Treebank is at hand. Unigrams can be counted by hand; 141.2 is Mikolov's figure.
known() {
    baseline "$top/data/ptb.txt" --split "$1"
    check "the unigram of its $1 text" prints "^unigram: .* perplexity $2,"
    check "and the 5-gram of its $1 text" prints "^5-gram, Kneser-Ney: .* perplexity $3,"
}
if [ -f "$top/data/ptb.train.txt" ]; then
    known valid 687.03 148.01
    known test 639.30 141.19
fi
refused 'a baseline of one corpus' 2 'a corpus and nothing else' \
    "$bin/eval" --baseline softmax text.txt
refused 'a baseline without windows' 2 '--window is for models' \
    "$bin/eval" --baseline text.txt --window 5
refused 'an order for no baseline' 2 '--order is for --baseline' \
    "$bin/eval" softmax text.txt --order 3
refused 'a baseline of no text' 1 'missing.txt' "$bin/eval" --baseline missing.txt

# --- where a text may come from ---

same_as_text() { same_numbers "$1/last.safetensors" softmax/last.safetensors; }
# shellcheck disable=SC2086
"$bin/train" $usual --run stdin - <text.txt >out 2>err
status=$?
check 'standard input' eval 'exits 0 && same_as_text stdin'
gzip -c text.txt >packed.txt.gz
train packed packed.txt.gz
check 'a gzip file' eval 'exits 0 && same_as_text packed'
head -n 180 text.txt >three.train.txt
sed -n '181,190p' text.txt >three.valid.txt
tail -n 10 text.txt >three.test.txt
train three three.txt
check 'three files' eval 'exits 0 && same_as_text three && same_logs three softmax'
train given --valid three.valid.txt --test three.test.txt three.train.txt
check 'files given one by one' eval 'exits 0 && same_as_text given && same_logs given softmax'
train toy --steps 2 toy
check 'the toy' exits 0
check 'and its floor' grep -q 'entropy floor' toy/settings.conf
works 'toy prints a text' "$bin/toy" --tokens 50
cp out first
run "$bin/toy" --tokens 50
check 'the same text each time' same out first
run "$bin/toy" --tokens 50 --seed 2
check 'and another one' differ out first
works 'toy knows its entropy' "$bin/toy" --entropy
for kind in char byte; do
    train "$kind" --tokens "$kind" text.txt
    check "$kind tokens" exits 0
    works "$kind tokens: sample" "$bin/sample" --length 20 "$kind"
    refused "$kind tokens: --detok" 2 "of the kind '$kind'" "$bin/sample" --detok "$kind"
    works "$kind tokens: eval" "$bin/eval" "$kind" text.txt
done

# --- export ---

works 'export' "$bin/export" --example text.txt softmax exported
for file in config generation_config tokenizer tokenizer_config example; do
    run cat "exported/$file.json"
    check "$file.json is JSON" eval 'exits 0 && is_json'
done
check 'and the weights are there' [ -s exported/model.safetensors ]
check 'an export leaves nothing beside it' [ "$(ls -d exported*)" = exported ]
refused 'export into a folder in use' 1 'something in it' "$bin/export" softmax exported
refused 'export of what GPT-2 is not' 1 'kind linear; --plain' "$bin/export" linear none
printf '\377' >broken.txt
refused 'export with a broken example' 1 'byte 0 is not UTF-8' "$bin/export" \
    --example broken.txt softmax none
refused 'export to nowhere' 2 'a folder to write' "$bin/export" softmax
(trap '' XFSZ && ulimit -f 4 && exec "$bin/export" softmax none) >out 2>err </dev/null
status=$?
check 'a full disk ends an export' eval "exits 1 && says 'safetensors: cannot write'"
check 'and it leaves nothing' eval '! ls | grep -q none'
works 'export --plain takes any model' "$bin/export" --plain --text linear plain
run cat plain/settings.json
check 'and its settings are JSON' eval 'exits 0 && is_json'
"$bin/export" --text byte bytes
check 'every byte has its line' lines bytes/vocabulary.txt 256

# --- presets ---

preset=article
[ -f "$bin/../models/article.conf" ] || preset=$top/models/article.conf
train preset --preset "$preset" text.txt
check 'a preset' exits 0
check 'it says what nobody else did' grep -q '^beta2 = 0.95$' preset/settings.conf
check 'the command line has the last word' grep -q '^dim = 16$' preset/settings.conf
for preset in "$top"/models/*.conf; do
    train each --preset "$preset" --layers 5 text.txt # as many as any preset names kinds
    check "${preset##*/} can be trained" exits 0
    rm -rf each
done
printf '# a bird\nlayers = 2\n\nwings = 2\n' >bird.conf
no 'a preset with an unknown name' 2 "bird.conf:4: unknown option 'wings'" \
    '--preset bird.conf text.txt'
printf 'layers = many\n' >bird.conf
no 'a preset with a wrong value' 2 "bird.conf:1: 'many'" '--preset bird.conf text.txt'

count_cases
