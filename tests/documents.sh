#!/bin/sh
# Checks that the functions and files exist that the documents for readers of the code name: any
# `long_name` must occur in the sources, any `folder/file` must exist, and in "`name` in `file.c`"
# or "`file.c`: `name`, `name`" the names must occur in that file.
set -u
cd -- "$(dirname -- "$0")/.." || exit 1
. tests/cases.sh
floors='src data models eval train tests'

# The text of a document in one line, without blocks of code.
prose() { sed '/^ *```/,/^ *```/d' "$1" | tr '\n' ' ' | tr -s ' '; }

is_there() {
    [ -e "$1" ] || find $floors -path "*/${1%/}" | grep -q .
}

is_named() { grep -rqw --include='*.[ch]' -e "$1" $floors; }

# Prints what a document names in vain, and fails if there is anything.
names_what_exists() {
    names='(`[A-Za-z]\w*`(, | and )?)+'
    {
        prose "$1" | grep -oE '`[^` ]+`' | tr -d '`' | sort -u |
            grep -v -e 'NAME' -e '^bin/' -e '^build/' -e '^runs/' | while read -r name; do
            case $name in
            */ | */*.* | *.[ch] | *.sh) is_there "$name" || echo "  no file $name" ;;
            _* | *[!A-Za-z0-9_]*) ;;
            *_*) is_named "$name" || echo "  nothing is called $name" ;;
            esac
        done
        prose "$1" | grep -oE "$names in \`[^\`]+\.[ch]\`|\`[^\`]+\.[ch]\`: $names" |
            while read -r said; do
                file=$(echo "$said" | grep -oE '`[^`]+\.[ch]`' | tr -d '`')
                echo "$said" | grep -oE '`\w+`' | tr -d '`' | while read -r name; do
                    grep -qw -e "$name" "$file" || echo "  no $name in $file"
                done
            done
    } >"$work/missing" 2>&1
    cat "$work/missing"
    [ ! -s "$work/missing" ]
}

for document in models/README.md CONTRIBUTING.md tests/README.md; do
    check "$document names what exists" names_what_exists "$document"
done

# Each check sees what it is there for.
refuses() { ! names_what_exists "$1" >/dev/null; }
echo 'See `pass_forward` and `models/pass.c`: `forward`, `backward`. `mask` in `src/math/team.c`.' >"$work/moved"
echo 'See `pass_forwards`.' >"$work/name"
echo 'See `models/passes.c`.' >"$work/file"
echo 'See `models/pass.h`, and `gather_scored` in `models/pass.c`.' >"$work/good"
check 'a function in another file is found' refuses "$work/moved"
check 'an unknown function is found' refuses "$work/name"
check 'an unknown file is found' refuses "$work/file"
check 'a good document passes' names_what_exists "$work/good"
count_cases
