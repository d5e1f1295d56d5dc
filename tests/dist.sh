#!/bin/sh
# Tests the archive of "make dist": dist.sh ARCHIVE CACHE. Unpacks it in bare systems made with
# debootstrap, which stay in the folder CACHE for the next time; there it trains, scores, samples
# and compares, and a program, compiled for Debian 11, uses the library.
# SUITES names the systems. Prints a line for each failed check, and at the end how many passed
# and failed.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$top/tests/cases.sh"
archive=$1 cache=$2
folder=$(basename "$archive" .tar.gz)
evidence() { tail -n 5 "$work/said" 2>/dev/null; }

# inside COMMAND...: in the bare system, with nothing else than /proc.
inside() {
    unshare --mount sh -c 'mount -t proc proc "$1/proc" && shift && exec chroot "$@"' sh "$system" "$system" \
        /usr/bin/env -i PATH="/opt/$folder/bin:/usr/bin:/bin" "$@" >"$work/said" 2>&1
}
says() { grep -q "$1" "$work/said"; }

if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
    skip 'bare systems, which need root and debootstrap'
    count_cases
    exit
fi
# A program with the library, made as the archive was.
tar -C "$work" -xzf "$archive"
newest=$(find "$work/$folder" -type f -exec objdump -p {} + 2>/dev/null | grep -o 'GLIBC_2\.[0-9]*' | sort -V | tail -n 1)
check 'nothing needs a newer glibc than 2.31' eval '[ "${newest#GLIBC_2.}" -le 31 ]'
check 'a program is linked with the library' "${CC:-cc}" --sysroot="$cache/bullseye-dev" \
    -B"$cache/bullseye-dev/usr/lib/x86_64-linux-gnu" -I"$work/$folder/include" \
    "$top/models/library/example.c" -L"$work/$folder/lib" -l:liblinnet.so.0 -lm -pthread -Wl,-rpath,"/opt/$folder/lib" \
    -o "$work/example"

for suite in ${SUITES:-bullseye bookworm focal jammy}; do
    if ! sh "$top/src/system.sh" "$suite" "$cache/$suite" >"$work/said" 2>&1; then
        skip "$suite, which debootstrap cannot fetch"
        continue
    fi
    system=$cache/$suite
    rm -rf "$system/opt" "$system/tmp/run" && mkdir "$system/opt"
    tar -C "$system/opt" -xzf "$archive"
    check "$suite: trains" inside linnet-train --layers 1 --dim 16 --heads 2 --context 16 --steps 20 \
        --threads 2 --preset demo --run /tmp/run toy
    kernels=portable
    ! grep -qw avx2 /proc/cpuinfo || kernels=avx2
    ! grep -qw avx512vl /proc/cpuinfo || kernels=avx512
    # The loader of glibc 2.32 and older looks for better libraries on Intel's processors only.
    case $suite in bullseye | focal) grep -q GenuineIntel /proc/cpuinfo || kernels=portable ;; esac
    check "$suite: takes the kernels for the processor" says "linnet-$kernels kernels"
    check "$suite: scores" eval 'inside linnet-eval /tmp/run toy && says perplexity'
    check "$suite: samples" inside linnet-sample --length 5 /tmp/run
    check "$suite: samples, with line editing" eval 'echo the | inside linnet-sample --length 5 /tmp/run'
    check "$suite: compares" eval 'inside linnet-compare /tmp/run && says run'
    check "$suite: has the manual page" [ -s "$system/opt/$folder/share/man/man1/linnet-train.1" ]
    check "$suite: has licences" [ -s "$system/opt/$folder/share/doc/linnet/licences/zlib1g" ]
    cp "$work/example" "$system/tmp/example"
    check "$suite: a program uses the library" eval 'inside /tmp/example /tmp/run "the state"'
done
count_cases
