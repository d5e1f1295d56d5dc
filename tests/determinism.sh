#!/bin/sh
# Checks that runs are bit-identical whatever their surroundings: determinism.sh BIN, where BIN is
# the directory of the programs. Varies threads, locales, time zones, directories, terminals, the
# contents of fresh memory and, in a portable build, the kernels; tiny models learn the toy
# language. Different kernels round differently: there losses agree to 1e-4 after 100 steps, and
# less closely for products in lower precision. What the machine lacks is skipped with a message.
# Prints a line for each failed check, and at the end how many passed and failed.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$top/tests/cases.sh"
bin=$(CDPATH='' cd -- "${1:-$top/bin}" && pwd) || exit 1
unset CDPATH LD_LIBRARY_PATH MALLOC_PERTURB_
export LC_ALL=C

cd -- "$work" || exit 1
evidence() { messages; }

# train RUN OPTIONS...: $around is a command to run it under, if any.
around=
train() {
    run=$1
    shift
    # shellcheck disable=SC2086
    $around "$bin/train" --layers 2 --dim 48 --heads 3 --context 40 --batch 4 --lr 0.003 \
        --dropout 0.1 --steps 100 --warmup 10 --log-every 20 --eval-every 50 --threads 2 \
        --quiet --run "$run" "$@" toy >out 2>err </dev/null
}

# same NAME RUN OPTIONS...: a run that must be bit-identical to $whole.
same() {
    name=$1 whole=$2
    shift 2
    rm -rf again
    train again "$@"
    check "$name" same_runs "$whole" again
}
# near_runs RUN RUN [DISTANCE]: whether both losses agree in every row of the logs.
near_runs() {
    timeless "$1" >log.1 && timeless "$2" >log.2 && paste -d , log.1 log.2 | awk -F , '
        function far(a, b) { return a - b > '"${3:-1e-4}"' || b - a > '"${3:-1e-4}"' }
        NR > 1 && (far($5, $(NF / 2 + 5)) || far($6, $(NF / 2 + 6))) { bad = 1 }
        END { exit bad || NR < 6 }'
}

# --- threads, for every set of kernels ---

kinds='softmax linear gated-delta reformer'
# threads SET: trains the runs SET-KIND, bit-identical for any number of threads.
threads() {
    for kind in $kinds; do
        train "$1-$kind" --attn "$kind" --threads 1
        check "$1: $kind trains" [ -f "$1-$kind/last.safetensors" ]
        for count in 2 3 8; do
            same "$1: a run of $kind with $count threads is bit-identical" "$1-$kind" --attn "$kind" --threads "$count"
        done
    done
}
threads usual

# shorter PRECISION NEAR FAR: the same for products in bf16 and in pairs of bf16. NEAR and FAR are
# the greatest differences of the losses: FAR for kinds that make discrete choices or solve
# equations, which amplify rounding.
shorter() {
    precision=$1
    if ! train "$precision-softmax" --precision "$precision"; then
        grep -q -- '--precision single' err && skip "$precision, as it is not for this processor"
        check "$precision trains, or is refused with a reason" grep -q -- '--precision single' err
        return
    fi
    for kind in $kinds; do
        [ "$kind" = softmax ] ||
            train "$precision-$kind" --attn "$kind" --precision "$precision"
        for count in 1 3 8; do
            same "$precision: a run of $kind with $count threads is bit-identical" "$precision-$kind" --attn "$kind" \
                --precision "$precision" --threads "$count"
        done
        case $kind in softmax | linear) near=$2 ;; *) near=$3 ;; esac
        check "$precision: the losses of $kind are near those of single precision" \
            near_runs "usual-$kind" "$precision-$kind" "$near"
    done
    check "$precision gives other bits than single precision" \
        eval '! same_runs usual-softmax "$precision-softmax"'
}
shorter pair 1e-4 0.02
# Rounding to the 8 bits of bf16 changes these losses, which are near 4.5, by up to 1.5e-3.
shorter bf16 3e-3 0.02
[ ! -d bf16-softmax ] ||
    check 'bf16 gives other bits than pairs of bf16' eval '! same_runs pair-softmax bf16-softmax'

# The libraries of a portable build, as far as this processor can run them.
for library in "$bin"/lib/liblinnet-internal.so "$bin"/lib/glibc-hwcaps/*/liblinnet-internal.so; do
    [ -f "$library" ] || continue # another build: the loader would ignore it
    LD_PRELOAD=$library "$bin/train" --version >out 2>err || continue
    level=$(basename "$(dirname "$library")")
    export LD_PRELOAD="$library"
    threads "$level"
    unset LD_PRELOAD
    for kind in $kinds; do
        case $kind in softmax | linear) near=1e-4 ;; *) near=0.02 ;; esac
        check "$kind: the losses with the library in $level are near the usual ones" \
            near_runs "usual-$kind" "$level-$kind" $near
    done
done

# --- surroundings ---

train other-seed --seed 2
check 'another seed gives another run' eval \
    '[ -f other-seed/last.safetensors ] && ! same_runs usual-softmax other-seed'
# with NAME COMMAND...: the usual run under COMMAND is bit-identical.
with() {
    name=$1
    shift
    around=$*
    same "$name" usual-softmax
    around=
}
if [ "$(LC_ALL=de_DE.UTF-8 locale decimal_point 2>/dev/null)" = , ]; then
    with 'a run in a locale with decimal commas' env LC_ALL=de_DE.UTF-8
else
    skip 'a locale with decimal commas: no de_DE.UTF-8'
fi
with 'a run in another time zone' env TZ=Pacific/Chatham
with 'a run whose fresh memory is not zero' env MALLOC_PERTURB_=165
with 'a run with a large environment' env "PADDING=$(head -c 60000 /dev/zero | tr '\0' x)"
if setarch -R true 2>/dev/null; then
    with 'a run without address randomisation' setarch -R
else
    skip 'a run without address randomisation: no setarch -R'
fi
mkdir elsewhere
cd elsewhere || exit 1
train ../again-elsewhere
cd .. || exit 1
check 'a run in another directory is bit-identical' same_runs usual-softmax again-elsewhere
if command -v script >/dev/null 2>&1 && script -qec true /dev/null >/dev/null 2>&1; then
    rm -rf again
    sed 's/^run = .*//' usual-softmax/settings.conf >usual.conf
    script -qec "'$bin/train' --preset usual.conf --run again toy" /dev/null >out 2>err </dev/null
    check 'a run on a terminal is bit-identical' same_runs usual-softmax again
else
    skip 'a run on a terminal: no script command'
fi

count_cases
