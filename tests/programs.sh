#!/bin/sh
# Tests the built programs from the command line: programs.sh BIN, where BIN is their directory.
# The models are tiny and the text is made up here, so that everything takes half a minute.
# Prints a line for each failed check, and at the end how many passed and failed.
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

# --- how to write a check ---

# Runs a command, and keeps its exit status, output (out) and messages (err) for the checks.
run() {
    "$@" >out 2>err </dev/null
    status=$?
}

# Printed below the name of a failed check.
evidence() { echo "  exit status $status, $(messages)"; }

exits() { [ "$status" -eq "$1" ]; }
fails() { ! "$@"; }
says() { grep -q -e "$1" err; }
prints() { grep -q -e "$1" out; }
silent() { [ ! -s out ] && [ ! -s err ]; }
lines() { [ "$(grep -c '' "$1")" -eq "$2" ]; }
same() { cmp -s "$1" "$2"; }
differ() { [ -f "$1" ] && [ -f "$2" ] && ! cmp -s "$1" "$2"; }

# works NAME COMMAND...: the command succeeds.
works() {
    name=$1
    shift
    run "$@"
    check "$name" exits 0
}

# refused NAME STATUS PHRASE COMMAND...: the command ends with this status, prints no output,
# explains itself in one line that contains PHRASE (after bad usage, a second line points to
# --help), and makes no run directory.
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

# The weights of a checkpoint, without its header.
numbers() {
    header=$(od -A n -t u8 -N 8 "$1" | tr -d ' ')
    tail -c "+$((header + 9))" "$1"
}
same_numbers() {
    numbers "$1" >numbers.1 && numbers "$2" >numbers.2 && same numbers.1 numbers.2
}
# recorded FILE KEY: a value in the header of a checkpoint.
recorded() {
    header=$(od -A n -t u8 -N 8 "$1" | tr -d ' ')
    head -c "$((header + 8))" "$1" | grep -a -o "\"$2\":\"[^\"]*\"" | cut -d '"' -f 4
}

# The columns of a log that do not depend on the clock.
timeless() { cut -d , -f 1,2,3,5,6,7,8 "$1/log.csv"; }
same_logs() {
    timeless "$1" >log.1 && timeless "$2" >log.2 && same log.1 log.2
}
# Whether two runs wrote identical checkpoints and logs.
same_runs() {
    same "$1/best.safetensors" "$2/best.safetensors" &&
        same "$1/last.safetensors" "$2/last.safetensors" && same_logs "$1" "$2"
}

# near A B SHARE: whether two numbers differ by no more than this fraction of B.
near() {
    awk -v a="$1" -v b="$2" -v share="$3" 'BEGIN {
        d = a - b; if (d < 0) d = -d; if (b < 0) b = -b; exit !(a != "" && d <= share * b) }'
}
# field NAME: a number in the JSON in out.
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

# train NAME OPTIONS... CORPUS: trains a tiny model in the run directory NAME.
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

# make_text LINES SEED: sentences that a tiny model can learn.
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
    check "$program --help fits one screen" [ "$(wc -l <out)" -le 50 ]
    "$bin/$program" --help | head -n 1 >/dev/null 2>err
    check "$program --help ends silently when its reader leaves" [ ! -s err ]
    run "$bin/$program" --help version
    check "$program --help searches" prints '^  --version'
    run "$bin/$program" --help all
    check "$program --help all lists --version" prints '^  --version'
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
# On a processor without AVX; only an emulator can show that, and sanitizers need more memory than
# it has.
if command -v qemu-x86_64 >/dev/null && grep -q '^flags.* avx' /proc/cpuinfo 2>/dev/null &&
    ! grep -q __asan_init "$bin/train"; then
    qemu-x86_64 -cpu qemu64 "$bin/train" --version >out 2>err </dev/null
    status=$?
    check 'a program built for another processor says so' \
        eval 'exits 1 && says "train: built for a processor with .*AVX2.*make ARCH="'
fi
# What people who come from other programs look for first.
for term in 'gradient clipping' 'early stopping' RoPE 'gradient checkpointing' 'batch size' SWA EMA \
    'weight decay' 'mixed precision' warmup 'gradient accumulation' 'learning rate' \
    'context length' tokenizer 'label smoothing'; do
    run "$bin/train" --help "$term"
    if [ "$term" = 'label smoothing' ]; then
        check "a search for what is missing says so" eval 'exits 1 && says "no option mentions it"'
    else
        check "train --help knows $term" eval 'exits 0 && prints "^  --"'
    fi
done
works 'sample --help knows the nucleus' "$bin/sample" --help nucleus
for pair in batch-size=batch block_size=context learning-rate=lr max-iters=steps n-embd=dim \
    d-model=dim hidden-size=dim grad-clip=clip min-lr=lr-floor out-dir=run config=preset \
    ema=average attention=attn device=threads n_layer=layers; do
    refused "train knows --${pair%=*}" 2 "linnet calls it '--${pair#*=}'" \
        "$bin/train" "--${pair%=*}=3" text.txt
done
refused 'sample knows --max_new_tokens' 2 "linnet calls it '--length'" \
    "$bin/sample" --max_new_tokens 3 run
mkdir -p installed/bin installed/share/linnet/models
cp "$bin/train" installed/bin
cp "$top"/models/*.conf installed/share/linnet/models
works 'train --preset help' installed/bin/train --preset help
check 'train --preset help lists the presets' prints '^ *tiny  *[A-Z]'
refused 'a preset that was mistyped' 2 "did you mean 'tiny'" \
    installed/bin/train --preset tyni text.txt
refused 'a kind that was mistyped' 2 "did you mean 'softmax'" "$bin/train" --attn sofmax text.txt
refused 'an option without effect' 2 '--momentum has no effect here: it needs --optimizer muon' \
    "$bin/train" --optimizer adamw --momentum 0.9 text.txt
works 'train --attn help' "$bin/train" --attn help
check 'train --attn help lists both kinds' eval "prints '^ *softmax ' && prints '^ *linear '"

# --- training ---

for kind in softmax linear; do
    train "$kind" --attn "$kind" text.txt
    check "$kind: a run trains" exits 0
    check "$kind: --quiet prints nothing" silent
    for file in settings.conf log.csv curves.svg best.safetensors last.safetensors \
        previous.safetensors; do
        check "$kind: training writes $file" [ -s "$kind/$file" ]
    done
    check "$kind: training writes no other files" eval "[ \"\$(ls -A $kind | wc -l)\" -eq 6 ]"
    check "$kind: the log has its header" [ "$(head -n 1 "$kind/log.csv")" = \
        'step,epoch,tokens,seconds,lr,train_loss,val_loss,grad_norm,tokens_per_second,peak_mb' ]
    check "$kind: the log has a row every 5 steps" \
        [ "$(cut -d , -f 1 "$kind/log.csv" | tr '\n' ' ')" = \
        'step 5 10 15 20 25 30 35 40 ' ]
    check "$kind: settings.conf records the kind" \
        grep -q "^attn = $kind\$" "$kind/settings.conf"
    for threads in 1 2 3; do
        train "$kind.$threads" --attn "$kind" --threads "$threads" text.txt
        check "$kind: a run with $threads threads is bit-identical" \
            same_runs "$kind" "$kind.$threads"
    done
    check "$kind: the training loss falls" awk -F , 'NR == 2 { first = $6 } { last = $6 }
        END { exit !(last < 0.9 * first) }' "$kind/log.csv"
done

cksum softmax/* >sums.before
refused 'train refuses to overwrite a run directory' 1 'this directory exists' \
    "$bin/train" --run softmax text.txt
cksum softmax/* >sums.after
check 'a refused run changes nothing in that directory' same sums.before sums.after

train seed --seed 2 text.txt
check 'another seed gives another checkpoint' \
    differ seed/last.safetensors softmax/last.safetensors
check 'another seed gives other weights' \
    fails same_numbers seed/last.safetensors softmax/last.safetensors
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
check '--patience stops a run that does not improve' \
    [ "$(tail -n 1 patience/log.csv | cut -d , -f 1)" -lt 40 ]
cksum patience/* >sums.before
run "$bin/train" --resume patience
check 'a run stopped early has nothing to do' prints 'Nothing to do'
cksum patience/* >sums.after
check 'resuming a run stopped early changes nothing' same sums.before sums.after

# --- samples, event files and --watch ---

events() { ls "$1" | grep -c '^events.out.tfevents.'; }
train watched --eval-every 7 --sample-every 2 --tensorboard --dropout 0.1 text.txt
check 'a run with samples and event files trains' exits 0
check '--quiet prints no samples' silent
train unwatched --eval-every 7 --dropout 0.1 text.txt
check 'samples and event files do not change the run' same_runs watched unwatched
check 'a sample is written at every other validation' \
    [ "$(sed -n 's/^# step \([0-9]*\), epoch .*/\1/p' watched/samples.txt | tr '\n' ' ')" = \
    '14 21 30 40 ' ]
check 'a run writes one event file' [ "$(events watched)" -eq 1 ]
check 'the event file names its scalars' \
    grep -a -q 'val/perplexity' watched/events.out.tfevents.*
check 'the event file holds the samples' grep -a -q -F "$(sed -n 2p watched/samples.txt)" \
    watched/events.out.tfevents.*
check 'curves.svg is a complete picture' grep -q '</svg>' watched/curves.svg
train parts --eval-every 7 --sample-every 2 --tensorboard --dropout 0.1 --stop-after 17 text.txt
resume parts --sample-every 2 --tensorboard
check 'in two sessions, the run is bit-identical' same_runs watched parts
check 'in two sessions, the samples are the same' same watched/samples.txt parts/samples.txt
check 'in two sessions, there are two event files' [ "$(events parts)" -eq 2 ]
rm -rf parts
train parts --eval-every 7 --sample-every 2 --dropout 0.1 --average tail --average-from 0 text.txt
check 'samples come from the averaged weights' \
    [ "$(sed -n '/^# step 40/,$p' parts/samples.txt)" != \
    "$(sed -n '/^# step 40/,$p' watched/samples.txt)" ]
rm -rf parts
# shellcheck disable=SC2086
run "$bin/train" $small --steps 10 --sample-every 1 --run samples text.txt
check 'train prints samples' prints "$(sed -n 2p samples/samples.txt)"
check 'train keeps samples in samples.txt' grep -q '^# step 10, ' samples/samples.txt
refused 'train refuses --watch without a terminal' 1 '--watch needs a terminal' \
    "$bin/train" --watch --run none text.txt
refused 'train refuses --watch without a terminal for several models' 1 '--watch needs a terminal' \
    \
    "$bin/train" --watch --attn softmax,linear --run none text.txt
refused 'train refuses --watch with --quiet' 2 '--watch and --quiet' \
    "$bin/train" --watch --quiet --run none text.txt
if command -v script >/dev/null 2>&1 && script -qec true /dev/null >/dev/null 2>&1; then
    script -qec "stty rows 24 cols 80; TERM=xterm LANG=C NO_COLOR=1 \
        '$bin/train' $small --steps 2000 --eval-every 500 --sample-every 1 \
        --watch --run view text.txt" /dev/null >out 2>err </dev/null
    status=$?
    check '--watch works on a terminal' exits 0
    tr "$escape" '\n' <out | tr -d '\r' >sequences
    check '--watch switches to the alternate screen' grep -q '^\[?1049h' sequences
    check '--watch leaves that screen and prints the result' \
        eval "sed -n '/^\[?1049l/,\$p' sequences | grep -q 'Best validation loss'"
    check '--watch fits the width of the terminal' fails grep -q '^\[[0-9]*;1H.\{80\}' sequences
    check '--watch uses no colours with NO_COLOR' fails grep -q '^\[[1-9][0-9;]*m' sequences
    check '--watch prints ASCII only in the C locale' \
        fails env LC_ALL=C grep -q '[^ -~]' sequences
fi

# --- speed ---

run "$bin/bench" gemm --json --dim 32 --heads 2 --batch 2 --repeats 1
check 'bench gemm reports the peak speed' prints '"roof_gflops": .*"kernel": '
run "$bin/bench" train --json --dim 32 --heads 2 --layers 1 --batch 2 --vocab 100 --repeats 1
check 'bench train reports its phases' prints '"phases": {"rest"'
run "$bin/bench" train --json --dim 32 --heads 2 --layers 1 --batch 2 --vocab 100 --repeats 1 \
    --optimizer muon
check 'bench train reports the optimizer' prints '"optimizer": '
run "$bin/bench" attention --json --n 16,70 --batch 2 --repeats 1
check 'bench attention compares kinds with softmax' prints '"ratio_to_softmax"'
run "$bin/bench" decode --json --positions 3,9 --dim 32 --heads 2 --layers 1 --repeats 1
check 'bench decode reports the size of the state' prints '"state_bytes"'
refused 'bench refuses an unknown command' 2 "unknown command 'dance'" "$bin/bench" dance

# --- names of runs, and terminals ---

# shellcheck disable=SC2086
run "$bin/train" $small --steps 10 text.txt
check 'a run without a name gets one' [ -s runs/softmax-text/last.safetensors ]
check 'train prints no control characters to a file' is_plain
check 'train prints where the run is' prints 'runs/softmax-text'
check 'train prints what it trains on' prints 'text.txt'
check 'train prints how much memory it needs' prints '  [0-9]* MB of memory'
check 'train prints the losses of every validation' prints '^epoch [0-9.]*  step [0-9]*  train [0-9.]*  validation '
check 'train shows progress on standard error alone' eval "says 'tokens/s' && fails prints 'tokens/s'"
check 'the warmup is a tenth of a short training' prints '  warmup 1$'
# shellcheck disable=SC2086
run "$bin/train" $small --steps 10 --warmup 5 --quiet text.txt
check 'train warns if the warmup is half of the run' says '--warmup 5 takes half of the training of 10 .* try --warmup 1'
check 'the next run without a name gets another name' \
    [ -s runs/softmax-text-2/last.safetensors ]
rm -r runs
if command -v script >/dev/null 2>&1 && script -qec true /dev/null >/dev/null 2>&1; then
    script -qec "TERM=dumb '$bin/train' $small --steps 10 --run dumb text.txt" /dev/null >out 2>err </dev/null
    check 'a dumb terminal gets no escape sequences' fails grep -q "$escape" out
    script -qec "TERM=xterm NO_COLOR=1 '$bin/compare' softmax linear" /dev/null >out 2>err \
        </dev/null
    check 'compare uses no colours with NO_COLOR' fails grep -q "$escape" out
fi

# --- resuming ---

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
resumes 'softmax with dropout' 20 --dropout 0.2 --attn-dropout 0.1
resumes 'linear with dropout' 20 --attn linear --dropout 0.2
resumes 'gradient accumulation in mid-epoch' 11 --accumulate 2 --dropout 0.1
resumes 'one step before the end' 39 --no-tied --pos rotary --norm post --act swiglu
resumes 'before weight averaging begins' 15 --average tail --average-from 0.5
resumes 'during weight averaging' 27 --average tail --average-from 0.5
resumes 'exponential weight averaging' 11 --average ema --average-from 0.1 --optimizer muon
resumes 'a recurrent state carried across sequences' \
    11 --attn gated-delta --pos none --carry-state
resumes 'text read in streams' 11 --streams --accumulate 3
resumes 'early stopping' 16 --patience 3 --lr 0
check 'early stopping ends a resumed run' [ "$(tail -n 1 kept.log | cut -d , -f 1)" -lt 40 ]

train parts --stop-after 13 --threads 1 text.txt
resume parts --threads 3 --stop-after 9
check 'a run stops a second time' [ "$(recorded parts/last.safetensors step)" = 22 ]
resume parts --threads 2
check 'a run in three sessions with other threads is bit-identical' same_runs softmax parts

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
    \
    "$bin/train" --resume damaged
cksum damaged/* >sums.after
check 'that refusal changes no files' same sums.before sums.after
train torn --stop-after 20 text.txt
printf '25,1.6' >>torn/log.csv
resume torn
check 'a run resumes with an incomplete row in the log' exits 0
check 'the incomplete row is written again' same_runs softmax torn

# --- signals ---

# signalled NAME STATUS: a run ended by a signal at any moment resumes bit-identically.
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
    check "$1 ends a run with exit status $2" exits "$2"
    check "$1: train says how to resume" prints 'train --resume parts'
    steps=$(recorded parts/last.safetensors step)
    resume parts --stop-after 5
    # shellcheck disable=SC2086
    run "$bin/train" $endless --quiet --run straight \
        --stop-after "$((${steps:-0} + 5))" text.txt
    check "$1: the resumed run is bit-identical" same_runs straight parts
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
    eventually grep -q 'The training goes on' err
}
end_with() {
    kill "-$1" "$child"
    wait "$child" 2>/dev/null
    status=$?
    child=
}
# check_run NAME: the run in parts is bit-identical to one without accidents. It must have passed
# the step at which it was stopped, because its best model may be newer than the checkpoint it
# resumed from.
check_run() {
    steps=$(recorded parts/last.safetensors step)
    # shellcheck disable=SC2086
    "$bin/train" $endless --quiet --run straight --stop-after "${steps:-1}" text.txt \
        >/dev/null 2>&1 </dev/null
    check "$1" same_runs straight parts
    rm -rf straight
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
check_run 'a killed and resumed run is bit-identical'

start_endless
bar_saving
check 'a failed save is reported' says 'parts/next.safetensors: cannot replace'
check 'a failed save does not end the run' kill -0 "$child"
rmdir parts/next.safetensors
sleep 0.3
end_with TERM
check 'a failed save followed by a good one is no error' exits 143
check_run 'a run with a failed save is bit-identical'
start_endless
bar_saving
end_with TERM
check 'a failed last save is an error' exits 1
check 'a failed last save names the checkpoint to resume from' \
    says 'parts/last.safetensors is intact'
rmdir parts/next.safetensors
resume parts --stop-after 20
check_run 'a run resumed after a failed last save is bit-identical'

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
check 'the new run directory has the settings' same parts/settings.conf gone/settings.conf
steps=$(recorded parts/last.safetensors step)
# shellcheck disable=SC2086
run "$bin/train" $endless --quiet --run straight --stop-after "$steps" text.txt
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
resume parts --stop-after 20
check_run 'a run interrupted twice resumes exactly'
make_text 5000 3 >long.txt
endless="$endless --valid long.txt"
start_endless --eval-every 1
end_with TERM
check 'SIGTERM ends a run during validation' exits 143
resume parts --stop-after 1
check 'a run ended during validation resumes' exits 0
rm -rf parts

# Weights that grow by a factor of ten thousand in each step.
explosive='--lr 100 --weight-decay 100 --warmup 0 --schedule constant --steps 60'
# shellcheck disable=SC2086
train nan $explosive --save-every 1 text.txt
check 'a run with a non-finite loss ends' exits 1
check 'train names the step of the non-finite value' \
    says 'step [0-9]*: the [a-z]* is not finite, at learning rate 100, in batch'
check 'train names the first tensor with a non-finite value' says 'first: '
check 'train names the checkpoint to resume from after a non-finite loss' \
    says 'nan/last.safetensors is intact'
works 'that checkpoint is valid' "$bin/sample" --length 3 nan/last.safetensors
# shellcheck disable=SC2086
train skip $explosive --on-nan skip --nan-limit 4 text.txt
check '--nan-limit ends a run that skips steps' \
    eval "exits 1 && says 'the 4 steps before it, and --nan-limit'"
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
check '--nan-limit holds across sessions' eval "exits 1 && says 'the 9 steps before it'"

# A program built with a sanitizer reserves more memory than this limit.
if (ulimit -v 4000000 && "$bin/train" --version) >/dev/null 2>&1; then
    (ulimit -v 4000000 && exec "$bin/train" --max-mem 100000000 --dim 1024 --batch 9999 \
        --context 16 --run none text.txt) >out 2>err </dev/null
    status=$?
    check 'train names a memory limit set by ulimit' \
        eval "wanted=1 phrase=ulimit; well_refused && says 'training needs [0-9]* MB'"
else
    echo "skipped: a memory limit, because this build cannot start with one"
fi

# --- wrong input ---

# no NAME STATUS PHRASE OPTIONS: train refuses NAME.
no() {
    # shellcheck disable=SC2086
    refused "train refuses $1" "$2" "$3" "$bin/train" $small --steps 2 --run none $4
}
: >empty.txt
printf ' \n\n \n' >blank.txt
head -c 3000 "$bin/train" >binary.txt
head -n 5 text.txt >short.txt
gzip -c text.txt >text.copy.gz && head -c 200 text.copy.gz >cut.txt.gz
no 'to start without a corpus' 2 'corpus' ''
no 'two corpora' 2 'one corpus' 'text.txt kept.txt'
no 'a missing corpus' 1 'missing.txt: no such file' missing.txt
no 'an empty corpus' 1 'empty.txt: the corpus is empty' empty.txt
no 'a blank corpus' 1 'blank.txt: the corpus is empty' blank.txt
no 'a binary corpus' 1 'binary.txt' binary.txt
no 'a corpus that is too short' 1 'short.txt' short.txt
no 'a corpus that is a directory' 1 'empty: is a directory' empty
no 'a truncated gzip file' 1 'cut.txt.gz: .*breaks off' cut.txt.gz
no 'a missing validation text' 1 '--valid missing.txt' '--valid missing.txt text.txt'
no 'an unknown option' 2 "did you mean '--layers'" '--layer 3 text.txt'
no 'an option without its value' 2 '--dim needs a value' 'text.txt --dim'
no 'an unknown kind' 2 "'telepathy' is not one of: softmax, " '--attn telepathy text.txt'
no 'an unknown kind at the end of a list' 2 "'telepathy'" '--attn linear,telepathy text.txt'
no 'more kinds than layers' 2 'layers is only 1' '--attn linear+softmax --layers 1 text.txt'
no 'an option of another attention kind' 2 "'softmax' attention does not use it" '--window 3 text.txt'
no '--pos rotary with a kind that cannot use it' 2 '--pos rotary' '--attn efficient --pos rotary text.txt'
no 'heads that do not divide --dim' 2 '--heads 3 does not divide --dim 16' '--heads 3 text.txt'
no 'attention dropout with a kind without attention weights' 2 'no attention weights' \
    '--attn linear --attn-dropout 0.1 text.txt'
no 'a learning rate that is not a number' 2 "--lr: 'nan'" '--lr nan text.txt'
no 'an infinite learning rate' 2 "--lr: '1e999'" '--lr 1e999 text.txt'
no 'a negative learning rate' 2 "--lr: '-1'" '--lr -1 text.txt'
no 'a batch size of zero' 2 "--batch: '0'" '--batch 0 text.txt'
no 'an empty batch size' 2 "--batch: ''" '--batch= text.txt'
no 'a malformed --stop-after' 2 "--stop-after: 'soon'" '--stop-after soon text.txt'
no 'to use more memory than --max-mem' 1 'the limit is 1 MB' '--max-mem 1 --dim 512 text.txt'
no 'a run directory that cannot be made' 1 'cannot make' '--run text.txt/place text.txt'
no 'an unknown preset' 2 '--preset unheard' '--preset unheard text.txt'
run "$bin/train" --run none "no${escape}file.txt"
check 'error messages contain no escape sequences' eval 'exits 1 && is_plain'
if latin=$(printf 'caf\351.txt') && cp text.txt "$latin" 2>/dev/null; then
    refused 'train refuses a corpus name that is not UTF-8' 2 'UTF-8' \
        "$bin/train" --run none "$latin"
fi

head -c "$(($(wc -c <softmax/best.safetensors) / 2))" softmax/best.safetensors >cut.safetensors
for program in sample eval; do
    corpus=
    [ "$program" = sample ] || corpus=text.txt
    refused "$program refuses a truncated checkpoint" 1 'cut.safetensors: ' \
        "$bin/$program" cut.safetensors $corpus
    refused "$program refuses a text instead of a checkpoint" 1 'text.txt: .*looks like text' \
        "$bin/$program" text.txt $corpus
    refused "$program refuses a directory without a checkpoint" 1 'empty: no checkpoint' \
        "$bin/$program" empty $corpus
    refused "$program refuses a missing run" 1 'nowhere: no such run' \
        "$bin/$program" nowhere $corpus
    refused "$program refuses to start without a run" 2 'run' "$bin/$program"
    refused "$program suggests a known option" 2 "did you mean '--threads'" \
        "$bin/$program" --thread 2 softmax
done
refused 'eval refuses a missing corpus' 1 'missing.txt' "$bin/eval" softmax missing.txt
refused 'eval refuses a stride longer than the context' 2 '--stride 20' \
    "$bin/eval" softmax text.txt --window 16 --stride 20
refused 'eval refuses more positions than the model learned' 2 '--window 17' \
    "$bin/eval" softmax text.txt --window 17
refused 'compare refuses to start without a run' 2 'run' "$bin/compare"
run "$bin/compare" softmax nowhere
check 'compare shows the other runs if one is missing' eval "exits 0 && prints '^softmax '"
check 'compare warns of a missing run' grep -q 'nowhere' err
refused 'compare refuses an empty directory' 1 'empty' "$bin/compare" empty
refused 'toy refuses an argument' 2 'text.txt' "$bin/toy" text.txt

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
resume full
check 'a run resumed after a full disk is bit-identical' same_runs softmax full
if [ -c /dev/full ]; then
    for command in "sample softmax" "eval softmax text.txt" "compare softmax" "toy" \
        "train --help"; do
        # shellcheck disable=SC2086
        (set -- $command && program=$1 && shift && exec "$bin/$program" "$@") \
            >/dev/full 2>err </dev/null
        status=$?
        check "$command: a full disk is an error" exits 1
        check "$command: a full disk is explained" says 'cannot write'
    done
fi

# --- sample ---

sample() { run "$bin/sample" --length 30 "$@" softmax; }
sample --seed 3 && cp out first
check 'sample generates text' exits 0
check 'sample warns of nothing' [ ! -s err ]
check 'sample generates at least --length tokens' \
    eval '[ "$(awk "{ n += NF + 1 } END { print n }" first)" -ge 30 ]'
check 'sample generates no more than one token beyond --length' \
    eval '[ "$(awk "{ n += NF + 1 } END { print n }" first)" -le 31 ]'
sample --seed 3
check 'the same seed gives the same text' same out first
sample --seed 3 --threads 2
check 'the number of threads does not change the text' same out first
sample --seed 4
check 'another seed gives another text' differ out first
sample --greedy && cp out greedy
sample --greedy --seed 9
check '--greedy does not depend on the seed' same out greedy
sample --top-k 1 --temperature 5
check '--top-k 1 is greedy' same out greedy
sample --temperature 0
check '--temperature 0 is greedy' same out greedy
sample --top-p 0
check '--top-p 0 is greedy' same out greedy
sample --prompt 'the linnet'
check 'the text begins with the prompt' eval 'head -n 1 out | grep -q "^the linnet"'
check 'a known prompt gives no warning' [ ! -s err ]
sample --prompt 'the cuckoo'
check 'sample reports an unknown word in the prompt' says "read as <unk>: 'cuckoo'"
run "$bin/sample" --length 0 --prompt 'one lark' softmax
check '--length 0 prints the prompt only' [ "$(cat out)" = 'one lark' ]
sample --count 3 && cp out few
check '--count 3 prints three texts' eval '[ "$(grep -c "^---\$" few)" -eq 2 ]'
sample --count 1
check 'the first of several texts is the one made alone' begins few out
# More texts than sample generates in parallel.
sample --count 71 && cp out many
check '--count 71 prints 71 texts' eval '[ "$(grep -c "^---\$" many)" -eq 70 ]'
check 'a text does not depend on --count' begins many few
sample --count 3 --threads 2
check 'several texts do not depend on the number of threads' same out few
sed 's/.*/ & /' text.txt >blanks.txt
train letters --tokens char text.txt
train trimmed --tokens char --trim blanks.txt
check '--trim gives the model of the text without outer white space' \
    same_numbers letters/last.safetensors trimmed/last.safetensors
run "$bin/eval" letters text.txt
cp out letters.out
run "$bin/eval" trimmed blanks.txt
check '--trim gives the scores of the text without outer white space' same letters.out out
train rare --min-count 60 text.txt
sample --seed 1 && run "$bin/sample" --length 300 --temperature 3 rare
check 'a model trained with <unk> generates it' prints '<unk>'
run "$bin/sample" --length 300 --temperature 3 --no-unk rare
check '--no-unk generates no <unk>' fails prints '<unk>'
run "$bin/sample" --length 300 linear
check 'linear attention generates text beyond the context length' exits 0
works 'train mixes kinds over the layers' "$bin/train" $small --layers 2 --pos auto \
    --attn window+gated-delta --window 4 --steps 3 --run hybrid text.txt
works 'a model of mixed kinds generates text' "$bin/sample" --length 40 hybrid
works 'train runs a list of kinds one after another' \
    "$bin/train" $small --attn softmax,linear --steps 2 \
    --run series text.txt
check 'a list of kinds ends with a comparison' prints '^linear  *linear '
check 'a list of kinds leaves every run' \
    [ -f series/softmax/best.safetensors -a -f series/linear/last.safetensors ]
works 'values of several options in all combinations' "$bin/train" $small --steps 2 \
    --attn softmax,linear --seed 1,2 --run parents/of/series text.txt
check 'each has a directory that says what differs' \
    [ -f parents/of/series/linear-seed2/best.safetensors ]
check 'and seeds are compared as groups' prints 'linear (2 seeds)'
refused 'a list for a run that is resumed' 2 'continues one run' \
    "$bin/train" --resume softmax --seed 1,2
refused 'a value twice in a list' 2 "--seed: '1' is listed twice" "$bin/train" --seed 1,1 text.txt
refused 'a wrong value in a list, before anything is trained' 2 "'x'" \
    "$bin/train" --attn softmax,linear --seed 1,x --run none text.txt
works 'train --attn help works' "$bin/train" --attn help
check 'train --attn help lists gated-delta' prints '^gated-delta '
cp "$bin/toy" toy
works 'the built-in corpus wins over a file of its name' \
    "$bin/train" $small --steps 2 --run built-in toy
works 'in eval as well' "$bin/eval" built-in toy
rm toy
sample --length 3 --prompt 'the unheardof linnet zzz'
check 'unknown words of a prompt are named' says "read as <unk>: 'unheardof', 'zzz'"
refused 'eval with its arguments swapped' 1 'the run comes first' "$bin/eval" text.txt softmax
"$bin/sample" --length 100000 softmax 2>err </dev/null | head -c 10 >out
check 'sample ends silently when its reader has gone' [ ! -s err ]
"$bin/sample" --length 1000000000000 --count 3 linear 2>err </dev/null | head -c 10 >out
check 'sample generates texts longer than memory' eval '[ ! -s err ] && [ -s out ]'
refused 'sample refuses a prompt that is not UTF-8' 2 'prompt' \
    "$bin/sample" --prompt "$(printf '\377')" softmax
sample --detok --prompt 'the linnet'
check '--detok capitalises the first word' eval 'head -n 1 out | grep -q "^The linnet"'
check '--detok removes the space before a full stop' fails prints ' \.'
sample --show-probs --prompt 'the linnet'
check '--show-probs prints a legend' eval 'head -n 1 out | grep -q probability'
check '--show-probs prints a probability after each token' prints '^the\[[0-9.e-]*\] linnet\['
run env COLUMNS=60 "$bin/sample" --length 30 --count 3 --columns softmax
check '--columns prints texts side by side' eval 'head -n 1 out | grep -q "^(1) .* (2)"'
check '--columns fits the width of the terminal' \
    eval '[ "$(tr -d "\200-\277" <out | wc -L)" -le 60 ]'
refused 'sample refuses --columns for texts longer than memory' 2 '--columns keeps' \
    "$bin/sample" --columns --length 1000000000 softmax

head -n 3 text.txt >little.txt
"$bin/sample" --score - softmax <little.txt >out 2>err
status=$?
check 'sample --score works' exits 0
cp out scored
run "$bin/eval" softmax text.txt --valid little.txt
check '--score prints the same summary as eval' [ "$(tail -n 2 scored | tr -d '.0-9')" = \
    "$(tail -n 2 out | sed 's/^valid: //' | tr -d '.0-9')" ]
nats() { tail -n 1 "$1" | sed 's/.* \([0-9.]*\) nats in all$/\1/'; }
check '--score agrees with eval in every digit' \
    eval 'awk "BEGIN { d = $(nats scored) - $(nats out); exit !(d < 0.02 && d > -0.02) }"'
check '--score prints a line for every token' lines scored "$(($(wc -w <little.txt) + 3 + 3))"
run "$bin/sample" --score 'the cuckoo' softmax
check '--score counts unknown words' prints '2 tokens, 1 of them unknown'
refused 'sample refuses to score an empty text' 1 'nothing to score' \
    "$bin/sample" --score '' softmax
refused 'sample refuses --score with --prompt' 2 'generates no text' \
    "$bin/sample" --score a --prompt b softmax

session() { "$bin/sample" --interactive softmax >out 2>err; status=$?; }
words() { tr -s ' \n' '\n\n' <"$1"; }
sample --length 12 --prompt 'the linnet' && words out >whole
printf '/length 6\nthe linnet\n\n' | session
check 'an interactive session works' exits 0
check 'a session confirms a changed setting' eval 'head -n 1 out | grep -q "^length  *6\$"'
tail -n +2 out >rest && words rest >halves
check 'an empty line in a session continues the text' same halves whole
printf '/temperature 500\n/wings\n/top-k\n/quit\nthe linnet\n' | session
check 'a session survives mistakes' exits 0
check 'a session explains mistakes' eval 'says "from 0 to 100" && says "no command /wings"'
check 'a session prints settings' prints '^top-k  *0$'
check '/quit ends a session' fails prints linnet
if command -v script >/dev/null 2>&1; then
    mkdir home
    printf '/length 5\rthe linnet\r/quit\r' |
        env HOME="$work/home" XDG_STATE_HOME= TERM=xterm \
            script -qec "'$bin/sample' softmax" /dev/null >out 2>err
    check 'sample on a terminal starts a session' prints 'Type a prompt'
    check 'a session on a terminal generates text' prints '^the linnet '
    check 'a session on a terminal keeps a history' \
        grep -q '^the.*linnet' home/.local/state/linnet/history
fi

# --- inspect ---

inspect() { run "$bin/inspect" --text 'the linnet sings here' "$@"; }
for kind in softmax linear; do
    inspect "$kind" && cp out first
    check "$kind: inspect works" exits 0
    check "$kind: inspect warns of nothing" [ ! -s err ]
    check "$kind: inspect shows the likeliest next tokens" prints '^ *2  the  *linnet  *[01][.]'
    check "$kind: inspect has a line for each token and head" lines out 10
    printf 'the linnet sings here\n' | "$bin/inspect" "$kind" >out 2>err
    check "$kind: inspect reads standard input" same out first
    inspect --json "$kind"
    check "$kind: inspect --json is JSON" is_json
    check "$kind: inspect --json has the weights" prints '"weights": \['
done
inspect --layer 1 --head 2 softmax
check 'inspect --layer --head draws that head' prints '^Layer 1, head 2: softmax'
check 'inspect --layer --head draws no other head' fails prints '^Layer 1, head 1'
inspect --html page.html --svg maps.svg linear
check 'inspect writes a page' grep -q '<h1>linear</h1>' page.html
check 'the page of inspect has both heads' [ "$(grep -c '<svg class="map"' page.html)" -eq 2 ]
check 'the page of inspect loads no other files' \
    fails grep -q -e '<script' -e 'src=' -e 'href="[^#]' page.html
check 'inspect --svg writes a picture' [ "$(grep -c '<svg class="map"' maps.svg)" -eq 2 ]
run "$bin/inspect" --text 'the cuckoo sings' softmax
check 'inspect reports unknown tokens' says '1 unknown token'
run "$bin/inspect" --tokens 3 --text "$(make_text 5 1 | tr '\n' ' ')" softmax
check 'inspect keeps the end of a text beyond the context length' says 'the last 16 are read'
check 'inspect --tokens shows the last tokens' says 'the last 3 of 16'
check 'inspect --tokens sums up earlier tokens in one column' prints '(earlier)'
refused 'inspect refuses a layer that the model lacks' 2 'this model has 1' \
    "$bin/inspect" --text the --layer 2 softmax
refused 'inspect refuses an empty text' 2 'the text is empty' "$bin/inspect" softmax
refused 'inspect refuses a text that is not UTF-8' 2 'text' \
    "$bin/inspect" --text "$(printf '\377')" softmax
refused 'inspect names a page that it cannot write' 1 'nowhere/page.html' \
    "$bin/inspect" --text the --html nowhere/page.html softmax

# --- eval ---

eval_json() { run "$bin/eval" --json "$@"; }
best=$(awk -F , '$7 != "" && (best == "" || $7 + 0 < best + 0) { best = $7 }
    NR > 1 { next } { best = "" } END { print best }' softmax/log.csv)
eval_json softmax text.txt && cp out first
check 'eval works' exits 0
check 'eval --json is JSON' is_json
for key in loss perplexity bits_per_character nats tokens unknown characters split window stride
do
    check "eval --json has $key" prints "\"$key\": "
done
check 'eval repeats the validation loss of the log' near "$(field loss)" "$best" 1e-4
check 'eval uses the context length as window' [ "$(field window)" = 16 ]
check 'eval prints the perplexity of the loss' near "$(field perplexity)" \
    "$(awk -v loss="$(field loss)" 'BEGIN { printf "%.12g", exp(loss) }')" 1e-6
eval_json softmax text.txt --threads 1 --batch 3
check 'the batch size does not change the loss' near "$(field loss)" "$best" 1e-4
eval_json softmax/best.safetensors text.txt
check 'eval takes a checkpoint file like its run directory' same out first
loss=$(field loss)
eval_json softmax text.txt --stride 4
check '--stride with more context does not raise the loss' eval "near $(field loss) $loss 0.02"
check 'eval --json has the stride used' [ "$(field stride)" = 4 ]
make_text 37 5 >other.txt
tokens=$(awk '{ n += NF + 1 } END { print n }' other.txt)
eval_json softmax text.txt --test other.txt --split test
check 'eval counts every token, including line ends' [ "$(field tokens)" = "$tokens" ]
check 'eval counts every character' \
    [ "$(field characters)" = "$(wc -m <other.txt | tr -d ' ')" ]
eval_json softmax text.txt --split train
check 'eval scores the training split' \
    [ "$(field tokens)" = "$(awk 'NR <= 180 { n += NF + 1 } END { print n }' text.txt)" ]
run "$bin/eval" softmax text.txt
check 'eval prints nats per token' prints 'nats per token'
check 'eval prints no control characters' is_plain

# --- compare ---

run "$bin/compare" softmax linear
check 'compare works' exits 0
check 'compare prints both runs' eval "prints '^softmax' && prints '^linear'"
check 'compare prints no control characters' is_plain
run "$bin/compare" --json softmax linear
check 'compare --json is JSON' is_json
check 'compare --json has both runs' eval "prints '\"softmax\"' && prints '\"linear\"'"
check 'compare --json has the best loss' near "$(field best_val_loss)" "$best" 1e-6
for key in groups differences settings scores seeds standard_deviation peak_mb; do
    check "compare --json has $key" prints "\"$key\": "
done
works 'compare --csv' "$bin/compare" --csv softmax linear
check 'compare --csv prints a header' \
    [ "$(head -n 1 out)" = "run,group,seed,step,epoch,tokens,seconds,\
train_loss,val_loss,tokens_per_second,peak_mb,corpus" ]
check 'compare --csv prints every row of the logs' lines out 17
check 'compare --csv prints the rows of both runs' \
    eval "prints '^softmax,softmax,1,5,' && prints '^linear,linear,1,40,'"
for two in '--json --csv' '--markdown --json' '--csv --markdown'; do
    # shellcheck disable=SC2086
    refused "compare prints one thing at a time: $two" 2 \
        '--json, --csv and --markdown: give only one' "$bin/compare" $two softmax
done
refused 'compare refuses a --reach that is not a number' 2 "'soon' is not a number" \
    "$bin/compare" --reach 5,soon softmax
run "$bin/compare" --reach 100,0.001 softmax
check 'compare --reach' eval "prints 'to 100  *to 0.001' && prints '^softmax .* - '"
run "$bin/compare" softmax linear
check 'compare says that one seed is no evidence' prints 'One seed each'
run "$bin/compare" softmax seed linear
check 'compare groups runs that differ in the seed' prints '^softmax.* 1 more  *softmax  *2 '
check 'compare compares a group with other runs' prints 'linear (1 seed): '
check 'compare estimates the spread of one seed from the other group' \
    eval "tr '\n' ' ' <out | grep -q 'same *standard *deviation'"
run "$bin/compare" --no-group softmax seed
check 'compare --no-group lists every run' eval "prints '^softmax ' && prints '^seed '"
run env LC_ALL=C.UTF-8 "$bin/compare" --color always --width 40 --height 12 softmax seed linear
check 'compare fits --width' \
    [ "$(sed "s/$escape\[[0-9;]*m//g" out | LC_ALL=C.UTF-8 wc -L)" -le 40 ]
sed 's/^corpus = .*/corpus = other.txt/' softmax/settings.conf >other.conf
cp -r softmax other && mv other.conf other/settings.conf
run "$bin/compare" softmax other linear
check 'compare shows each corpus under a heading' eval \
    "prints '^other\.txt$' && [ \"\$(grep -c '^run ' out)\" -eq 2 ]"
check 'compare compares within a corpus' fails prints '^ *other (1 seed)'
run "$bin/compare" --markdown softmax other linear
check 'compare --markdown has a heading for each corpus' prints '^### other\\\.txt$'
run "$bin/compare" --json other softmax linear
check 'compare --json compares within a corpus' prints '"base": 1, "other": 2'
run "$bin/compare" --svg one.svg softmax other
check 'compare --svg says that it shows one corpus' grep -q 'one.svg: shows the runs on' err
run "$bin/compare" --html page.html softmax other
check 'the page has both corpora' grep -q '"corpora":\[{"name":.*},{"name":"other.txt"' page.html
awk -F , -v OFS=, 'NR > 1 && $7 != "" && seen++ { $7 = "" } { print }' softmax/log.csv >few.csv
cp -r softmax one-val && mv few.csv one-val/log.csv
run "$bin/compare" one-val
check 'compare draws the training loss of a run with one validation' prints 'one-val (train)'
awk -F , -v OFS=, 'NR > 1 { $6 = "nan" } { print }' softmax/log.csv >nan.csv
cp -r softmax wild && mv nan.csv wild/log.csv
run "$bin/compare" wild linear
check 'compare marks a diverged run' eval "prints '^wild .*diverged' && grep -q 'wild: diverged' err"
rm -r other one-val wild

works 'compare --svg' "$bin/compare" --svg chart.svg softmax seed linear
check 'compare --svg draws a band for a group' grep -q 'class="band' chart.svg
works 'compare --title' "$bin/compare" --svg chart.svg --title 'One <title>' softmax linear
check 'the picture has the title' grep -q '<title>One &lt;title&gt;</title>' chart.svg

same_cells() { awk -F '[|]' 'NR == 1 { cells = NF } NF != cells { exit 1 }' out; }
cp -r softmax pair-1 && cp -r seed pair-2 && cp -r linear lone
rm -f pair-1/scores.csv pair-2/scores.csv lone/scores.csv
works 'compare --markdown' "$bin/compare" --markdown pair-1 lone
check 'compare --markdown prints a table with a row for each run' \
    eval 'lines out 4 && same_cells'
check 'compare --markdown prints titles' \
    prints '^| run | attn | params | validation | validation against'
check 'compare --markdown prints the numbers of each run' \
    eval "prints '^| pair-1 | softmax | [0-9.k]* | [0-9.]* | - | ' &&
    prints '^| lone | linear | .* | [0-9.]* | [+-][0-9.]* % | '"
check 'compare --markdown aligns numbers to the right' \
    eval '[ "$(sed -n 2p out | cut -d : -f 1)" = "|---|---|---" ]'
hostile=$(printf 'a|`<b>\n*c*')
cp -r lone "$hostile"
run "$bin/compare" --markdown pair-1 "$hostile"
check 'compare --markdown escapes names' \
    [ "$(sed -n '4s/ | .*//p' out)" = '| a\|\`&lt;b&gt;\\x0a\*c\*' ]
rm -r "$hostile"
for name in pair-1 pair-2 lone; do
    works "eval scores $name for the table" "$bin/eval" --split test "$name" text.txt
done
run env COLUMNS=20 "$bin/compare" --markdown pair-1 pair-2 lone
check 'compare --markdown has columns for seeds and test scores' prints \
    '| params | seeds | validation | test | test against the first | tokens/s | time | MB |$'
check 'compare --markdown gives an interval for several seeds' \
    prints '^| pair | softmax | .* | 2 | [0-9.]* ± [0-9.]* | [0-9.]* ± [0-9.]* | - | '
check 'compare --markdown gives no interval for one seed' \
    prints '^| lone | linear | .* | - | [0-9.]* | [0-9.]* | [+-][0-9.]* % | '
check 'compare --markdown describes the test scores in one line' \
    eval 'lines out 8 && [ -z "$(sed -n 7p out)" ] &&
    prints "^Test perplexity: [0-9]* tokens, window 16, stride 16\.$"'
run "$bin/compare" --json pair-1 pair-2 lone
check 'compare --json is JSON with test losses' is_json
check 'compare --json has mean test losses' prints '"test_loss": {"count": 2, "mean": [0-9.]*, '
check 'compare --json has differences between test losses' \
    prints '"test_difference": -*[0-9.e-]*, "test_low": null'
run "$bin/compare" pair-1 pair-2 lone
check 'compare draws no conclusion on test losses from one seed' fails prints 'Test loss'
for seed in 1 2; do
    cp -r "pair-$seed" "more-$seed" && echo 'lr = 0.5' >>"more-$seed/settings.conf"
done
run "$bin/compare" pair-1 pair-2 more-1 more-2
check 'compare compares test losses over seeds' prints '^Test loss against pair (2 seeds):$'
run "$bin/compare" --json pair-1 pair-2 more-1 more-2
check 'compare --json has a confidence interval of test losses' \
    prints '"test_low": -[0-9.]*, "test_high": [0-9.]*}'

# --- saved scores ---

cp -r softmax noted
rm -f noted/scores.csv
run "$bin/compare" noted
check 'compare has no test column without test scores' fails prints '  test'
run "$bin/eval" --split test noted text.txt
perplexity=$(sed -n 's/.*perplexity \([0-9.]*\),.*/\1/p' out)
check 'eval saves the score of a run' \
    [ "$(cut -d , -f 1-4 noted/scores.csv | tail -n 1)" = test,16,16,0 ]
run "$bin/eval" --split test noted text.txt
check 'eval saves the score of a repeated evaluation once' lines noted/scores.csv 2
run "$bin/eval" --split test --stride 4 noted text.txt
check 'eval saves the score of another stride as well' lines noted/scores.csv 3
run "$bin/compare" noted
check 'compare shows the test score' prints "  $perplexity "
check 'compare describes how the score was measured' prints 'window 16, stride 16'
cp noted/scores.csv kept.csv
run "$bin/eval" --split test noted/best.safetensors text.txt
check 'eval of a checkpoint file saves no score' same noted/scores.csv kept.csv
echo rubbish >noted/scores.csv
run "$bin/eval" --split test noted text.txt
check "eval leaves a foreign scores.csv unchanged" \
    eval 'exits 0 && says "scores.csv:1: not the scores"'
refused 'compare refuses a foreign scores.csv' 1 'scores.csv:1: not the scores' \
    "$bin/compare" noted

# --- temperature, neural cache, dynamic evaluation ---

eval_json softmax text.txt --split test
plain=$(field nats)
cp -r softmax ways
rm -f ways/scores.csv
run "$bin/eval" ways text.txt --split test && cp out plain.txt
run "$bin/eval" ways text.txt --split test --temperature 1.5 --cache 50 --dynamic
check 'eval combines temperature, cache and dynamic evaluation' exits 0
check 'eval prints the plain score first' begins out plain.txt
check 'eval prints a line for the temperature' prints '^temperature 1.5: loss '
check 'eval prints a line for the neural cache' \
    prints '^cache 50, theta 0.01, lambda 0.15: loss '
check 'eval prints a line for dynamic evaluation' \
    prints '^dynamic 16, lr 0.0003, decay 0.003, statistics 200: loss '
check 'eval prints no further lines' lines out 5
check 'eval saves the scores of all methods' \
    [ "$(cut -d , -f 11,12 ways/scores.csv | tr '\n' ' ')" = "method,found \
plain, temperature 1.5, cache 50 theta 0.01 lambda 0.15, \
dynamic 16 lr 0.0003 decay 0.003 statistics 200, " ]
run "$bin/compare" ways
check 'compare shows the plain score' \
    prints "  $(sed -n 's/.*perplexity \([0-9.]*\),.*/\1/p' plain.txt)  *"
check 'dynamic evaluation does not change the checkpoint' \
    same ways/best.safetensors softmax/best.safetensors
run "$bin/eval" ways text.txt --split test --tune-temperature --cache 50 --tune-cache \
    --dynamic --dynamic-statistics 20 --tune-dynamic
check 'eval marks tuned parameters' \
    eval "prints '^temperature [0-9.]*, tuned on the validation text: ' &&
    prints '^cache 50, theta [0-9.]*, lambda [0-9.]*, tuned on the validation text: ' &&
    prints '^dynamic 16, lr [^ ]*, decay [^ ]*, statistics 20, tuned on the validation text: '"
check 'eval saves the tuned parameters of the cache' grep -q \
    ',cache 50 theta tuned lambda tuned,theta [0-9.]* lambda [0-9.]*$' ways/scores.csv
check 'eval saves the tuned parameters of dynamic evaluation' grep -q \
    ',dynamic 16 lr tuned decay tuned statistics 20,lr [^ ]* decay [^ ]*$' ways/scores.csv
run "$bin/eval" softmax/best.safetensors text.txt --tune-temperature
check 'eval warns of tuning on the text that is scored' prints 'tuned on this very text'
eval_json softmax text.txt --split test --temperature 1 --cache 50 --cache-lambda 0 --dynamic \
    --dynamic-lr 0
check 'eval --json has all methods' \
    eval "is_json && prints '\"ways\": \[{\"method\": \"temperature\"'"
check 'methods that change nothing give one loss' \
    [ "$(grep -o '"nats": [0-9]*\.[0-9]' out | sort -u | wc -l)" -eq 1 ]
check 'change nothing' near "$(field nats)" "$plain" 1e-6
ways='--split test --temperature 0.7 --cache 9 --dynamic --stride 4'
# shellcheck disable=SC2086
eval_json linear text.txt $ways && cp out first
# shellcheck disable=SC2086
eval_json linear text.txt $ways --threads 3
check 'the number of threads does not change any method' same out first
# Four words repeated in an order that the training text does not have.
yes 'alone flies wren this' | head -n 32 >again.txt
eval_json softmax text.txt --test again.txt --split test
plain=$(field nats)
eval_json softmax text.txt --test again.txt --split test --cache 50 --dynamic \
    --dynamic-lr 0.01 --dynamic-segment 4
nats_of() { sed -n "s/.*\"method\": \"$1\"[^}]*\"nats\": \([0-9.]*\).*/\1/p" out; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a + 0 < b + 0) }'; }
check 'a neural cache lowers the loss of a repetitive text' less "$(nats_of cache)" "$plain"
check 'dynamic evaluation lowers the loss of a repetitive text' \
    less "$(nats_of dynamic)" "$plain"
no 'weight averaging with --redraw' 2 'average-from 0.5: --redraw' \
    '--attn performer --redraw 3 --average ema --average-from 0.5 text.txt'
train carrying --attn gated-delta --pos none --carry-state text.txt
run "$bin/eval" carrying text.txt --temperature 1.2 --cache 20 --dynamic
check 'eval scores a model that carries its state' eval "exits 0 && prints '^dynamic 16, '"
refused 'eval refuses several streams for a cache over a carried state' 2 '--batch 2: ' \
    "$bin/eval" carrying text.txt --batch 2 --cache 20
refused 'eval refuses segments for dynamic evaluation over a carried state' 2 '--dynamic-segment 4: ' \
    \
    "$bin/eval" carrying text.txt --dynamic --dynamic-segment 4
run "$bin/eval" softmax text.txt --dynamic --dynamic-lr 1e6
check 'eval reports a diverged dynamic evaluation' \
    says '--dynamic-lr of 1e+06 does no better.*--tune-dynamic'
works '--no-tune-cache needs no --cache' "$bin/eval" softmax text.txt --no-tune-cache
refused 'eval refuses two temperatures' 2 '--tune-temperature searches' \
    "$bin/eval" softmax text.txt --temperature 2 --tune-temperature
refused 'eval refuses a temperature that is too low' 2 '--temperature 0.001' \
    "$bin/eval" softmax text.txt --temperature 0.001
refused 'eval refuses --cache-theta without --cache' 2 \
    '--cache-theta only has an effect with --cache' \
    "$bin/eval" softmax text.txt --cache-theta 1
refused 'eval refuses --cache-theta with --tune-cache' 2 '--tune-cache searches for' \
    "$bin/eval" softmax text.txt --cache 9 --tune-cache --cache-theta 1
refused 'eval refuses --dynamic-lr with --tune-dynamic' 2 '--tune-dynamic searches for' \
    "$bin/eval" softmax text.txt --dynamic --tune-dynamic --dynamic-lr 1e-4
refused 'eval refuses --dynamic-segment without --dynamic' 2 \
    '--dynamic-segment only has an effect with --dynamic' \
    "$bin/eval" softmax text.txt --dynamic-segment 3
refused 'eval refuses a segment longer than the window' 2 'longer than --window 16' \
    "$bin/eval" softmax text.txt --dynamic --dynamic-segment 17

baseline() { run "$bin/eval" --baseline "$@"; }
baseline text.txt
check 'eval --baseline scores a Kneser-Ney model without a run' \
    eval "exits 0 && prints '^5-gram, Kneser-Ney: loss '"
check 'eval --baseline scores a unigram model' prints '^unigram: loss .* perplexity [0-9]'
baseline text.txt --split test --order 2 --json
check 'eval --baseline --json is JSON' is_json
check 'eval --baseline --json has the order' prints '"order": 2}'
printf 'the cuckoo sings here\nthe cuckoo sings\n' >cuckoo.txt
baseline text.txt --test cuckoo.txt --split test
check 'eval --baseline reports tokens of probability zero' prints \
    '^unigram: perplexity infinite, as 2 of 9 tokens do not come .* of the others [0-9.]*$'
check 'eval --baseline gives n-grams a finite loss there' \
    prints '^5-gram, Kneser-Ney: loss [0-9.]* '
baseline text.txt --test cuckoo.txt --split test --json
check 'eval --baseline --json writes an infinite loss as null' \
    prints '"loss": null, .*"impossible": 2'
for kind in char byte; do
    works "eval --baseline scores ${kind}s" "$bin/eval" --baseline --tokens "$kind" text.txt
done
# Only with the Penn Treebank. 141.2 is Mikolov's published figure.
known() {
    baseline "$top/data/ptb.txt" --split "$1"
    check "the unigram perplexity of the Penn Treebank's $1 text is the known one" \
        prints "^unigram: .* perplexity $2,"
    check "the 5-gram perplexity of the Penn Treebank's $1 text is the known one" \
        prints "^5-gram, Kneser-Ney: .* perplexity $3,"
}
if [ -f "$top/data/ptb.train.txt" ]; then
    known valid 687.03 148.01
    known test 639.30 141.19
fi
refused 'eval refuses --baseline with a run' 2 'exactly one corpus' \
    "$bin/eval" --baseline softmax text.txt
refused 'eval refuses --baseline with --window' 2 '--window needs a model' \
    "$bin/eval" --baseline text.txt --window 5
refused 'eval refuses --order without --baseline' 2 '--order only has an effect with --baseline' \
    "$bin/eval" softmax text.txt --order 3
refused 'eval --baseline refuses a missing corpus' 1 'missing.txt' \
    "$bin/eval" --baseline missing.txt

# --- sources of text ---

same_as_text() { same_numbers "$1/last.safetensors" softmax/last.safetensors; }
# shellcheck disable=SC2086
"$bin/train" $usual --run stdin - <text.txt >out 2>err
status=$?
check 'train reads standard input' eval 'exits 0 && same_as_text stdin'
gzip -c text.txt >packed.txt.gz
train packed packed.txt.gz
check 'train reads a gzip file' eval 'exits 0 && same_as_text packed'
head -n 180 text.txt >three.train.txt
sed -n '181,190p' text.txt >three.valid.txt
tail -n 10 text.txt >three.test.txt
train three three.txt
check 'train reads .train, .valid and .test files' \
    eval 'exits 0 && same_as_text three && same_logs three softmax'
train given --valid three.valid.txt --test three.test.txt three.train.txt
check 'train reads files given by --valid and --test' \
    eval 'exits 0 && same_as_text given && same_logs given softmax'
train toy --steps 2 toy
check 'train reads the toy language' exits 0
check 'a run on the toy language records its entropy' grep -q 'entropy floor' toy/settings.conf
works 'toy prints a text' "$bin/toy" --tokens 50
cp out first
run "$bin/toy" --tokens 50
check 'toy prints the same text each time' same out first
run "$bin/toy" --tokens 50 --seed 2
check 'toy prints another text for another seed' differ out first
works 'toy prints its entropy' "$bin/toy" --entropy
for kind in char byte; do
    train "$kind" --tokens "$kind" text.txt
    check "train reads ${kind}s" exits 0
    works "sample generates ${kind}s" "$bin/sample" --length 20 "$kind"
    refused "sample refuses --detok for ${kind}s" 2 "tokenizer of this one is '$kind'" \
        "$bin/sample" --detok "$kind"
    works "eval scores ${kind}s" "$bin/eval" "$kind" text.txt
done

# --- export ---

train gpt2 --act gelu --no-qk-norm --head-bias no text.txt
works 'export works' "$bin/export" --example text.txt gpt2 exported
for file in config generation_config tokenizer tokenizer_config example; do
    run cat "exported/$file.json"
    check "export writes valid JSON: $file.json" eval 'exits 0 && is_json'
done
check 'export writes the weights' [ -s exported/model.safetensors ]
check 'export leaves no other files' [ "$(ls -d exported*)" = exported ]
refused 'export refuses a directory that is not empty' 1 'something in it' \
    "$bin/export" gpt2 exported
refused 'export refuses a model that GPT-2 cannot represent' 1 'kind linear; --plain' \
    "$bin/export" linear none
printf '\377' >broken.txt
refused 'export refuses an example that is not UTF-8' 1 'byte 0 is not UTF-8' "$bin/export" \
    --example broken.txt gpt2 none
refused 'export refuses to start without a directory' 2 'a new directory are needed' "$bin/export" gpt2
(trap '' XFSZ && ulimit -f 4 && exec "$bin/export" gpt2 none) >out 2>err </dev/null
status=$?
check 'a full disk ends an export' eval "exits 1 && says 'safetensors: cannot write'"
check 'an export that fails leaves nothing' eval '! ls | grep -q none'
works 'export --plain takes any model' "$bin/export" --plain --text linear plain
run cat plain/settings.json
check 'export --plain writes settings as JSON' eval 'exits 0 && is_json'
"$bin/export" --text byte bytes
check 'export of a byte model writes 256 vocabulary lines' lines bytes/vocabulary.txt 256

# --- presets ---

preset=article
[ -f "$bin/../models/article.conf" ] || preset=$top/models/article.conf
train preset --preset "$preset" text.txt
check 'train takes a preset' exits 0
check 'a preset sets options' grep -q '^beta2 = 0.95$' preset/settings.conf
check 'the command line overrides a preset' grep -q '^dim = 16$' preset/settings.conf
for preset in "$top"/models/*.conf; do
    train each --preset "$preset" --layers 5 text.txt # as many as any preset names kinds
    check "${preset##*/} trains" exits 0
    rm -rf each
done
printf '# a bird\nlayers = 2\n\nwings = 2\n' >bird.conf
no 'a preset with an unknown option' 2 "bird.conf:4: unknown option 'wings'" \
    '--preset bird.conf text.txt'
printf 'layers = many\n' >bird.conf
no 'a preset with a wrong value' 2 "bird.conf:1: 'many'" '--preset bird.conf text.txt'

count_cases
