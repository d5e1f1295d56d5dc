#!/bin/sh
# Checks the #includes of the sources. The rooms of the house stand in `rooms`, the lowest first.
# A file includes files of its own room and of rooms on earlier lines. So an #include goes down,
# never up, and rooms never include one another in a circle; rooms on one line do not know each
# other. Nor may modules include one another in a circle. A module is NAME.h, NAME.c, and the
# parts NAME_PART.h and NAME_PART.c if there are any.
set -u
cd -- "$(dirname -- "$0")/.." || exit 1
. tests/cases.sh
top=$PWD

rooms='
src/base
src/math
src/layers src/optim src/ranks
src/attention
data/tokenizers
data/corpora
data/tokens
models
models/exchange models/library
eval/show
eval/runs
eval/compare/page
eval/score eval/sample eval/inspect eval/compare
train/loop
train/observers train/bench
train
'

# includes FLOOR...: lines "file included-file", for every #include of a file of the project.
includes() {
    find "$@" -name '*.[ch]' -exec grep -H '^ *# *include *"' {} + |
        sed 's/^\([^:]*\):[^"]*"\([^"]*\)".*/\1 \2/'
}

# Prints every #include that the rooms do not allow, and fails if there are any.
no_include_goes_up() {
    awk -v rooms="$rooms" '
        BEGIN {
            lines = split(rooms, line, "\n")
            for (i = 1; i <= lines; i++) {
                count = split(line[i], names, " ")
                for (j = 1; j <= count; j++)
                    height[names[j]] = i
            }
        }
        function room(path) { sub("/[^/]*$", "", path); return path }
        {
            from = room($1); to = room($2)
            if (from != to && !(from in height && to in height && height[from] > height[to])) {
                print "  " $1 " includes " $2
                up = 1
            }
        }
        END { exit up }' "$1"
}

# Prints the modules of each circle, and fails if there are any.
no_circle() {
    sed 's/\.[ch]\( \|$\)/\1/g' "$1" | while read -r from to; do
        echo "$(module "$from") $(module "$to")"
    done | awk '$1 != $2' | tsort 2>&1 >/dev/null | sed 's/^tsort: /  /' | grep . && return 1
    return 0
}

# The module of a file: trainer_step.c belongs to trainer, because there is a trainer.h.
module() {
    name=$1
    while [ "${name%_*}" != "$name" ] && [ -f "${name%_*}.h" ]; do
        name=${name%_*}
    done
    echo "$name"
}

includes src data models eval train >"$work/all"
check 'the sources have includes to look at' test "$(wc -l <"$work/all")" -gt 100
check 'no #include goes up, or to a room beside its own' no_include_goes_up "$work/all"
check 'no modules include one another in a circle' no_circle "$work/all"

# Each check sees what it is there for.
cat >"$work/up" <<'END'
data/corpora/low.c models/high.h
END
cat >"$work/beside" <<'END'
eval/score/one.c eval/compare/other.h
END
cat >"$work/unknown" <<'END'
src/cellar/one.c src/base/error.h
END
cat >"$work/circle" <<'END'
data/one.c data/two.h
data/two.h data/three.h
data/three.c data/one.h
END
refuses() { ! "$@" >/dev/null; }
for case in up beside unknown; do
    check "an #include that goes $case is found" refuses no_include_goes_up "$work/$case"
done
check 'a circle is found' refuses no_circle "$work/circle"
cd "$top" && count_cases
