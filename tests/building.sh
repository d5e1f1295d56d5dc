#!/bin/sh
# Builds linnet in unusual ways: building.sh, called by make. In a path with blanks; with objects
# and programs elsewhere and read-only sources; with many jobs; without assertions, because
# refusing bad input must not depend on them (programs.sh runs on that build).
# Prints a line for each failed check, and at the end how many passed and failed.
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

check 'linnet builds with objects and programs elsewhere' \
    build BUILD="$work/objects" BIN="$work/programs" all
check 'building elsewhere leaves the sources unchanged' [ "$(files)" = "$sources" ]
check 'programs without assertions refuse the same input' \
    sh "$top/tests/programs.sh" "$work/programs"
check 'linnet builds in a path with blanks' build all
check 'programs built in a path with blanks start' \
    eval '"$tree/bin/train" --version >"$work/made"'
check 'a second make builds nothing' eval 'build all && ! grep -q "^  [A-Z]" "$work/made"'
check 'make clean works' build clean
check 'make clean leaves the sources' [ "$(files)" = "$sources" ]

count_cases
