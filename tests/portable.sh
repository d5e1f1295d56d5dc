#!/bin/sh
# Tests a build with PORTABLE=1: portable.sh BIN. The loader takes the library for the processor;
# a library for another processor is refused; every library trains. Processors that the machine
# does not have are emulated, if there is qemu-x86_64.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
bin=$(CDPATH='' cd -- "$1" && pwd) || exit 1
. "$top/tests/cases.sh"
cd -- "$work" || exit 1
evidence() { messages; }

# trains NAME KERNELS COMMAND...: COMMAND runs train, with these kernels, and its model learns.
trains() {
    kernels=$1
    shift
    rm -rf run
    "$@" "$bin/train" --layers 1 --dim 16 --heads 2 --context 16 --batch 2 --steps 3 --run run \
        toy >out 2>err && grep -q " $kernels kernels" out && [ -s run/best.safetensors ]
}
# refuses EXTENSION COMMAND...: COMMAND runs train, which says in a line what the processor lacks.
refuses() {
    extension=$1
    shift
    ! "$@" "$bin/train" --version >out 2>messages && grep -v '^qemu' messages >err &&
        [ "$(grep -c '' err)" -eq 1 ] && grep -q "built for a processor with .*$extension" err &&
        grep -q 'unset LD_LIBRARY_PATH' err
}
library() { echo "LD_LIBRARY_PATH=$bin/lib/glibc-hwcaps/x86-64-$1"; }
preload() { echo "LD_PRELOAD=$bin/lib/liblinnet-internal.so"; }
has() { grep -qw "$1" /proc/cpuinfo; }

check 'LD_PRELOAD chooses the library for any x86-64' trains linnet-portable env "$(preload)"
if has avx512vl; then
    check 'the loader takes the library for AVX-512' trains linnet-avx512 env
    check 'LD_LIBRARY_PATH chooses the library for AVX2' trains linnet-avx2 env "$(library v3)"
elif has avx2; then
    check 'the loader takes the library for AVX2' trains linnet-avx2 env
    check 'a library for AVX-512 is refused' refuses AVX-512F env "$(library v4)"
fi

# --- the library for other programs ---

names() { nm -D --defined-only "$1" | awk '{ print $3 }' | LC_ALL=C sort | tr '\n' ' '; }
shown=$(names "$bin/lib/liblinnet.so.0")
for folder in lib lib/glibc-hwcaps/x86-64-v3 lib/glibc-hwcaps/x86-64-v4; do
    check "the library in $folder shows the public functions and nothing else" eval \
        '[ "$(names "$bin/$folder/liblinnet.so.0")" = "$shown" ] &&
         [ "$(echo "$shown" | tr " " "\n" | grep -c "^linnet_[a-z_]*$")" = "$(echo "$shown" | wc -w)" ]'
done
level=
if has avx512vl; then level=glibc-hwcaps/x86-64-v4/; elif has avx2; then level=glibc-hwcaps/x86-64-v3/; fi
# uses COMMAND...: the example opens a run with the library for this processor.
uses() {
    "${CC:-cc}" -I"$top/models/library" "$top/models/library/example.c" -L"$bin/lib" -l:liblinnet.so.0 -lm -o example &&
        LD_DEBUG=libs LD_LIBRARY_PATH=$bin/lib ./example run 'a b' >out 2>err &&
        grep -q "calling init: .*/lib/${level}liblinnet.so.0" err
}
check 'the loader takes the library for other programs as well' uses
# imports: so does linnet.py, which finds it without the loader.
imports() {
    mkdir -p tree/share/linnet && ln -s "$bin/lib" tree/lib &&
        cp "$top/models/library/linnet.py" tree/share/linnet &&
        PYTHONPATH=tree/share/linnet python3 -c 'import linnet; print(linnet._library._name)' >out 2>err &&
        grep -q "/tree/lib/${level}liblinnet.so.0\$" out
}
if command -v python3 >/dev/null; then
    check 'linnet.py takes the library for the processor' imports
else
    skip 'the library in Python, for want of python3'
fi

# --- other processors ---

if command -v qemu-x86_64 >/dev/null; then
    check 'an old processor trains' trains linnet-portable qemu-x86_64 -cpu Nehalem
    check 'a processor with AVX2 takes the library for it' trains linnet-avx2 qemu-x86_64 -cpu Haswell
    check 'an old processor refuses the library for AVX2' \
        refuses AVX2 env "$(library v3)" qemu-x86_64 -cpu Nehalem
    check 'a processor with AVX2 refuses the library for AVX-512' \
        refuses AVX-512F env "$(library v4)" qemu-x86_64 -cpu Haswell
else
    skip 'other processors, for want of qemu-x86_64 (Debian: qemu-user)'
fi
count_cases
