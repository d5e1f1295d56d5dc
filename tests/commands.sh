# Shared by the scripts of programs/, which source it: runs the programs in a temporary directory,
# and has what their checks are written with. The models are tiny and the text is made up here.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
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

# make_large RUN: a copy of a run, large, whose weights are 3.4e38, the largest floats. It has no
# checksums.
make_large() {
    cp -r "$1" large
    from=$1/best.safetensors
    header=$(od -A n -t u8 -N 8 "$from" | tr -d ' ')
    size=$(head -c "$((header + 8))" "$from" | grep -a -o '"vocab":{[^}]*}' |
        sed 's/.*\[\([0-9]*\),.*/\1/')
    {
        head -c "$((header + 8))" "$from" |
            LC_ALL=C sed 's/"header_crc32"/"header_crc--"/; s/"crc32"/"crc--"/'
        head -c "$size" /dev/zero | tr '\0' '\177'
        tail -c "+$((header + size + 9))" "$from"
    } >large/best.safetensors
}

# near A B SHARE: whether two numbers differ by no more than this fraction of B.
near() {
    awk -v a="$1" -v b="$2" -v share="$3" 'BEGIN {
        d = a - b; if (d < 0) d = -d; if (b < 0) b = -b; exit !(a != "" && d <= share * b) }'
}
# field NAME: a number in the JSON in out.
field() { sed -n "s/.*\"$1\": \([0-9.eE+-]*\).*/\1/p" out | head -n 1; }
eval_json() { run "$bin/eval" --json "$@"; }
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
# A name that terminals would obey.
rude="rude$escape[31m"

# --- runs ---

# The lowest validation loss in the log of a run.
best_loss() {
    awk -F , 'NR > 1 && $7 != "" && (best == "" || $7 + 0 < best + 0) { best = $7 }
        END { print best }' "$1/log.csv"
}

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

# --- checks of several programs ---

# explains_itself PROGRAM: --help and --version.
explains_itself() {
    program=$1
    run "$bin/$program" --help
    check "$program --help works" exits 0
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
    check "$program --version works" exits 0
    check "$program --version is printed" prints "^$program (linnet) [0-9]"
    check "$program --version is one line" lines out 1
    run "$bin/$program" --helpp
    check "$program --helpp is refused" exits 2
    check "$program --helpp leads to the suggestion of --help" says "did you mean '--help'"
}

# refuses_wrong_runs PROGRAM [CORPUS]: a program that reads the run softmax refuses what is none.
refuses_wrong_runs() {
    program=$1
    shift
    head -c "$(($(wc -c <softmax/best.safetensors) / 2))" softmax/best.safetensors \
        >cut.safetensors
    mkdir -p empty
    refused "$program refuses a truncated checkpoint" 1 'cut.safetensors: ' \
        "$bin/$program" cut.safetensors "$@"
    refused "$program refuses a text instead of a checkpoint" 1 'text.txt: not a safetensors file' \
        "$bin/$program" text.txt "$@"
    refused "$program refuses a directory without a checkpoint" 1 'empty: no checkpoint' \
        "$bin/$program" empty "$@"
    refused "$program refuses a missing run" 1 'nowhere: no such run' \
        "$bin/$program" nowhere "$@"
    refused "$program refuses to start without a run" 2 'run' "$bin/$program"
    refused "$program suggests a known option" 2 "did you mean '--threads'" \
        "$bin/$program" --thread 2 softmax
}

# reports_full_disk PROGRAM ARGUMENTS...: it fails when its output finds no space.
reports_full_disk() {
    [ -c /dev/full ] || return 0
    program=$1
    shift
    "$bin/$program" "$@" >/dev/full 2>err </dev/null
    status=$?
    check "$program $*: a full disk is an error" exits 1
    check "$program $*: a full disk is explained" says 'cannot write'
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
