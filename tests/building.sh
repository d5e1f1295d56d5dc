#!/bin/sh
# Builds linnet in unusual ways: building.sh, called by make. In a path with blanks; with objects
# and programs elsewhere and read-only sources; with many jobs; without assertions, because
# refusing bad input must not depend on them (programs.sh runs on that build); with a cross
# compiler; without the libraries. Counts what make runs.
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

# Commands that stand for others and note that they were called: a compiler that counts, what
# installs packages, and a pkg-config that finds none.
mkdir "$work/stands" && called=$work/called
for name in counted apt-get sudo dpkg-query pkg-config; do
    cat >"$work/stands/$name" <<END
#!/bin/sh
echo $name >>"$called"
case $name in counted) exec "\$@" ;; apt-get) exit 0 ;; *) exit 1 ;; esac
END
    chmod +x "$work/stands/$name"
done
calls() { grep -c "^$1\$" "$called"; }
counting() {
    : >"$called"
    build CC="'$work/stands/counted' ${CC:-cc}" PKG_CONFIG="'$work/stands/counted' pkg-config" "$@"
}
check 'make help asks neither the compiler nor pkg-config' \
    eval 'counting help && [ "$(calls counted)" -eq 0 ]'
counting all
check 'make asks each question once, not for every object' \
    eval 'counting all && [ "$(calls counted)" -le 15 ]'

# without: make, without packages, fails in one line that names them and installs nothing.
without() {
    : >"$called"
    ! PATH="$work/stands:$PATH" "$make" -s -C "$tree" "$1" BUILD="$work/bare" BIN="$work/bare" \
        PKG_CONFIG="$work/stands/pkg-config" >"$work/made" 2>&1 &&
        [ "$(grep -c 'zlib jansson libedit.*make deps' "$work/made")" -ge 1 ] &&
        [ "$(calls apt-get)$(calls sudo)" = 00 ]
}
for target in all demo experiment test; do
    check "make $target names missing packages and installs none" without $target
done
PATH="$work/stands:$PATH" "$make" -C "$tree" deps SUDO= >"$work/made" 2>&1
check 'make deps installs missing packages' [ "$(calls apt-get)" -ge 1 ]

if aarch64-linux-gnu-gcc --version >/dev/null 2>&1 &&
    env PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig pkg-config --exists zlib jansson; then
    check 'make all works with a cross compiler' build CC=aarch64-linux-gnu-gcc \
        PKG_CONFIG='env PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig pkg-config' \
        BUILD="$work/cross" BIN="$work/cross/bin" all
    check 'programs of a cross compiler have manual pages' [ -s "$work/cross/man/linnet-toy.1" ]
else
    skip 'a cross compiler, for want of one (make arm-deps)'
fi
check 'make clean works' build clean
check 'make clean leaves the sources' [ "$(files)" = "$sources" ]

count_cases
