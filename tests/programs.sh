#!/bin/sh
# Tests the built programs from the command line: programs.sh BIN, where BIN is their directory.
# Runs every script of programs/, as many at a time as there are processors. Each can also be run
# alone: sh tests/programs/sample.sh bin.
# Prints a line for each failed check, and at the end how many passed and failed.
set -u

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
bin=$(CDPATH='' cd -- "${1:-$here/../bin}" && pwd) || exit 1
said=$(mktemp -d)
trap 'rm -rf -- "$said"' EXIT
trap 'exit 1' HUP INT TERM

# The longest begin first.
cd -- "$here/programs" || exit 1
for script in *.sh; do
    echo "$(wc -l <"$script") $script"
done | sort -rn | while read -r _ script; do echo "$script"; done |
    xargs -P "$(nproc 2>/dev/null || echo 1)" -I '{}' \
        sh -c 'sh "$1" "$2" >"$3/$1" 2>&1' sh '{}' "$bin" "$said"

cd -- "$said" || exit 1
status=0
for script in "$here"/programs/*.sh; do
    name=${script##*/}
    grep -q '^[0-9]* passed, 0 failed$' "$name" || status=1
    sed "s/^/${name%.sh}: /" "$name"
done
cat ./*.sh | awk '/^[0-9]+ passed, [0-9]+ failed$/ { passed += $1; failed += $3 }
    END { print passed + 0 " passed, " failed + 0 " failed" }'
exit "$status"
