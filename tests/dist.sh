#!/bin/sh
# Tests the archive of "make dist": dist.sh ARCHIVE CACHE OBJECT. Unpacks it in bare systems made with
# debootstrap, which stay in the folder CACHE for the next time; there it trains, scores, samples
# and compares, and a program uses the library. OBJECT lets that program run with older glibc.
# SUITES names the systems. Prints a line for each failed check, and at the end how many passed
# and failed.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$top/tests/cases.sh"
archive=$1 cache=$2 object=$3
name=$(basename "$archive" .tar.gz)
evidence() { tail -n 5 "$work/said" 2>/dev/null; }

# bare SUITE: makes the system, if it is not there yet.
bare() {
    case $1 in
    focal | jammy | noble) mirror=http://archive.ubuntu.com/ubuntu ;;
    *) mirror=http://deb.debian.org/debian ;;
    esac
    [ -f "$cache/$1/etc/made" ] && return
    rm -rf "${cache:?}/$1"
    debootstrap --variant=minbase "$1" "$cache/$1" "$mirror" >"$work/said" 2>&1 &&
        touch "$cache/$1/etc/made"
}
inside() { chroot "$system" /usr/bin/env -i PATH="/opt/$name/bin:/usr/bin:/bin" "$@" >"$work/said" 2>&1; }
says() { grep -q "$1" "$work/said"; }

if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
    skip 'bare systems, which need root and debootstrap'
    count_cases
    exit
fi
mkdir -p "$cache"
for suite in ${SUITES:-bullseye bookworm focal jammy}; do
    if ! bare "$suite"; then
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
    check "$suite: takes the kernels for the processor" says "linnet-$kernels kernels"
    check "$suite: scores" eval 'inside linnet-eval /tmp/run toy && says perplexity'
    check "$suite: samples" inside linnet-sample --length 5 /tmp/run
    check "$suite: samples, with line editing" eval 'echo the | inside linnet-sample --length 5 /tmp/run'
    check "$suite: compares" eval 'inside linnet-compare /tmp/run && says run'
    check "$suite: has the manual page" [ -s "$system/opt/$name/share/man/man1/linnet-train.1" ]
    check "$suite: has licences" [ -s "$system/opt/$name/share/doc/linnet/licences/zlib1g" ]
    here=$system/opt/$name
    if "${CC:-cc}" -I"$here/include" "$top/eval/example.c" "$object" -L"$here/lib" -l:liblinnet.so.0 \
        -l:libpthread.so.0 -lm -Wl,-rpath,"/opt/$name/lib" -o "$system/tmp/example" 2>"$work/said"; then
        check "$suite: a program uses the library" eval 'inside /tmp/example /tmp/run "the state"'
    else
        skip 'the library, for want of a compiler'
    fi
done
count_cases
