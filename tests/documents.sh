#!/bin/sh
# Runs every command of README.md and TUTORIAL.md as printed, in the order of the page and in a fresh
# clone of the last commit, and names the first one that fails.
set -u
top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$top/tests/cases.sh"
unset CDPATH MAKEFLAGS MAKELEVEL
[ -z "${PTB_DIR-}" ] || PTB_DIR=$(cd -- "$PTB_DIR" && pwd)
evidence() { tail -n 15 "$work/out"; }

# The blocks of commands of a document, in which ADDRESS stands for the place of linnet.
commands() { sed -n '/^```sh/,/^```/{/^```/d; s|ADDRESS|'"$top"'|; p;}' "$top/$1"; }

# works DOCUMENT: its commands run in a directory of its own, or in a clone if the document begins in one.
works() {
    mkdir -p "$work/$1/home" && cd -- "$work/$1" || return 1
    commands "$1" | grep -q '^git clone' || {
        git clone -q "$top" linnet && cd linnet || return 1
    }
    commands "$1" >"$work/commands"
    HOME=$work/$1/home sh -eux "$work/commands" >"$work/out" 2>&1 </dev/null
}

for document in README.md TUTORIAL.md; do
    check "the commands of $document work" works "$document"
done
check 'there are commands' [ "$(commands README.md | wc -l)" -gt 10 ]
count_cases
