#!/bin/sh
# Every loop under "#pragma omp simd" must become vector code. clang warns of those that do not;
# gcc has to be asked.
#   sh tests/vectors.sh COMMAND...      the command that compiles a file
set -u
cd -- "$(dirname -- "$0")/.." || exit 1
folders='src data models eval train'

if "$@" -Werror -Wpass-failed -x c -fsyntax-only /dev/null 2>/dev/null; then
    exit 0
fi

# Lines "marked FILE:LINE" with the line of the loop's first statement, two below the pragma,
# except loops for clang alone.
marked() {
    # shellcheck disable=SC2086
    find $folders -name '*.[ch]' -exec awk '
        FNR == 1                { depth = clang = 0 }
        /^ *# *if/              { depth++ }
        /^ *# *ifdef __clang__/ { clang = depth }
        /^ *# *else/            { if (depth == clang) clang = 0 }
        /^ *# *endif/           { if (depth-- == clang) clang = 0 }
        /^ *# *pragma omp simd/ { if (!clang) print "marked " FILENAME ":" FNR + 2 }' {} +
}

# Lines "vectorized FILE:LINE". With -g, LINE can be that of the statement before the loop.
vectorized() {
    # shellcheck disable=SC2086
    find $folders -name '*.c' -exec grep -lE 'omp simd|vector\.h"|timestep\.h"' {} + |
        xargs -P "$(nproc)" -I FILE "$@" -g0 -fopt-info-vec-optimized -c FILE -o /dev/null 2>&1 |
        sed -n 's|^\./||; s|^\([^:]*:[0-9]*\):.*loop vectorized.*|vectorized \1|p'
}

{ vectorized "$@" && marked; } |
    awk '$1 == "vectorized" { is_vectorized[$2] = 1 }
         $1 == "marked" { count++ }
         $1 == "marked" && !($2 in is_vectorized) {
             print $2 ": the compiler does not vectorize this loop; -fopt-info-vec-missed says why"
             bad = 1
         }
         END { exit bad || !count }'
