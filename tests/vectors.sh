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

# Lines "vectorised FILE:LINE". With -g, LINE can be that of the statement before the loop. Compilers
# that run side by side would tear each other's lines; sed writes each line whole.
vectorised() {
    # shellcheck disable=SC2086
    find $folders -name '*.c' -exec grep -lE 'omp simd|vector\.h"|timestep\.h"' {} + |
        xargs -P "$(nproc)" -I {} sh -c '
            file=$1
            shift
            "$@" -g0 -fopt-info-vec-optimized -c "$file" -o /dev/null 2>&1 |
                sed -un "s|^\./||; s|^\([^:]*:[0-9]*\):.*loop vectorized.*|vectorised \1|p"
        ' sh {} "$@"
}

{ vectorised "$@" && marked; } |
    awk '$1 == "vectorised" { is_vectorised[$2] = 1; next }
         { count++ }
         !($2 in is_vectorised) {
             print $2 ": the compiler does not vectorise this loop; -fopt-info-vec-missed says why"
             bad = 1
         }
         END { exit bad || !count }'
