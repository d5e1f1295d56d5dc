#!/bin/sh
# Builds linnet where building is hard: building.sh, called by make. A checkout whose path has
# blanks; objects and programs elsewhere, for sources that are only read; many jobs; no
# assertions, which must not be what refuses bad input: tests/programs.sh runs on that build.
# Prints a line for each case that failed and, last, how many passed and failed.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$top/tests/cases.sh"
make=${MAKE:-make}
evidence() { tail -n 5 "$work/made" 2>/dev/null; }

tree="$work/a folder with blanks"
mkdir "$tree"
for part in Makefile src data models eval train tests; do
    cp -R "$top/$part" "$tree" || exit 1
done
build() {
    "$make" -C "$tree" -j 4 PROTECT= OPTIMISE=-O1 CPPFLAGS=-DNDEBUG "$@" >"$work/made" 2>&1
}
files() { (cd "$tree" && find . ! -type d | LC_ALL=C sort); }
sources=$(files)

check 'objects and programs elsewhere' build BUILD="$work/objects" BIN="$work/programs" all
check 'leave the sources alone' [ "$(files)" = "$sources" ]
check 'without assertions, input is refused as with them' \
    sh "$top/tests/programs.sh" "$work/programs"
check 'a path with blanks' build all
check 'has programs that start' eval '"$tree/bin/train" --version >"$work/made"'
check 'nothing is left to make' eval 'build all && ! grep -q "^  [A-Z]" "$work/made"'
check 'make clean' build clean
check 'leaves the sources' [ "$(files)" = "$sources" ]

count_cases
