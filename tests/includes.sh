#!/bin/sh
# Checks the #includes of the sources. One may go down a floor but never up:
#   train > the programs of eval/ > eval/runs > eval/show > models > data > src
# The folders of the programs in eval/ and train/ do not include one another, except that compare
# writes the page, and that import knows the forms that export writes. Neither modules nor folders may include one another in a circle. A module is
# NAME.h, NAME.c, and the parts NAME_PART.h and NAME_PART.c if there are any.
set -u
cd -- "$(dirname -- "$0")/.." || exit 1
. tests/cases.sh
top=$PWD

# includes FLOOR...: lines "file included-file", for every #include of a file of the project.
includes() {
    find "$@" -name '*.[ch]' -exec grep -H '^ *# *include *"' {} + |
        sed 's/^\([^:]*\):[^"]*"\([^"]*\)".*/\1 \2/' |
        while read -r file included; do
            if [ -f "${file%/*}/$included" ]; then
                included=${file%/*}/$included
            fi
            echo "$file $included"
        done
}

# Prints every #include that goes up, or from one program to another, and fails if there are any.
no_include_goes_up() {
    awk 'BEGIN { split("src data models eval/show eval/runs eval train", names)
                 for (i in names) floor[names[i]] = i
                 program = floor["eval"]
                 floor["tests"] = 9 }
         function room(path) { sub("/[^/]*$", "", path); return path }
         function top(path) { sub("/.*", "", path); return path }
         function height(path) {
             return room(path) in floor ? floor[room(path)] : floor[top(path)]
         }
         function is_allowed(from, to) {
             if (height(from) < program || height(to) < program || top(from) == "train" && top(to) == "train")
                 return height(from) >= height(to)
             return room(from) == room(to) || from ~ "^eval/compare/" && to ~ "^eval/page/" ||
                 from ~ "^eval/import/" && to ~ "^eval/export/"
         }
         !is_allowed($1, $2) { print "  " $1 " includes " $2; up = 1 }
         END { exit up }' "$1"
}

# Prints the modules of each circle, and fails if there are any.
no_circle() {
    sed 's/\.[ch]\( \|$\)/\1/g' "$1" | while read -r from to; do
        echo "$(module "$from") $(module "$to")"
    done | awk '$1 != $2' | tsort 2>&1 >/dev/null | sed 's/^tsort: /  /' | grep . && return 1
    return 0
}

# Prints the folders of each circle, and fails if there are any.
no_circle_of_folders() {
    sed 's#/[^/]*\( \|$\)#\1#g' "$1" | awk '$1 != $2' | tsort 2>&1 >/dev/null |
        sed 's/^tsort: /  /' | grep . && return 1
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
check 'no #include goes up a floor' no_include_goes_up "$work/all"
check 'no modules include one another in a circle' no_circle "$work/all"
check 'no folders include one another in a circle' no_circle_of_folders "$work/all"

# Each check sees what it is there for.
cat >"$work/up" <<'END'
data/low.c models/high.h
END
cat >"$work/program" <<'END'
train/low.c eval/compare/high.h
END
cat >"$work/circle" <<'END'
data/one.c data/two.h
data/two.h data/three.h
data/three.c data/one.h
END
cat >"$work/folders" <<'END'
eval/show/one.c eval/runs/two.h
eval/runs/three.c eval/show/four.h
END
refuses() { ! "$@" >/dev/null; }
check 'an #include that goes up is found' refuses no_include_goes_up "$work/up"
check 'an #include of a program is found' refuses no_include_goes_up "$work/program"
check 'a circle is found' refuses no_circle "$work/circle"
check 'a circle of folders is found' refuses no_circle_of_folders "$work/folders"
cd "$top" && count_cases
