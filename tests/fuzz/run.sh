#!/bin/sh
# Fuzzes: run.sh FUZZER SECONDS [TARGET...], SECONDS for each TARGET (default: all), as many at a
# time as there are processors. Inputs that reach new code are kept in a directory beside the
# fuzzer, for the next time. An input that breaks something is kept there too, and makes the exit
# status 1 at the end. Fix the bug, and keep the input in tests/fuzz/regressions/TARGET.
set -u
fuzzer=$1
seconds=$2
shift 2
here=$(dirname "$0")
found=$(dirname "$fuzzer")/fuzz-found
status=0

# fuzz TARGET
fuzz() {
    mkdir -p "$found/$1"
    kept=$here/seeds/$1
    [ -d "$here/regressions/$1" ] && kept="$kept $here/regressions/$1"
    # shellcheck disable=SC2086
    "$fuzzer" --target="$1" -max_total_time="$seconds" -timeout=30 -rss_limit_mb=1024 \
        -max_len=4096 -dict="$here/words.dict" -print_final_stats=1 \
        -artifact_prefix="$found/$1-" \
        "$found/$1" $kept >"$found/$1.log" 2>&1
}

if [ $# -eq 0 ]; then
    for folder in "$here"/seeds/*; do
        set -- "$@" "${folder##*/}"
    done
fi

# finish TARGET:PROCESS...: waits for them, and prints their results.
finish() {
    for begun; do
        target=${begun%:*}
        if wait "${begun#*:}"; then
            sed -n "s/^stat::number_of_executed_units: *\([0-9]*\)/$target: \1 inputs/p" \
                "$found/$target.log"
        else
            status=1
            echo "$target: an input broke something"
            tail -n 40 "$found/$target.log"
        fi
    done
}

at_a_time=$(nproc) begun='' count=0
for target; do
    fuzz "$target" &
    begun="$begun $target:$!" count=$((count + 1))
    if [ "$count" -eq "$at_a_time" ]; then
        # shellcheck disable=SC2086
        finish $begun
        begun='' count=0
    fi
done
# shellcheck disable=SC2086
finish $begun
exit $status
