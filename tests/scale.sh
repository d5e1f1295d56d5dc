#!/bin/sh
# Measures how much faster two ranks train than one, on networks of several speeds: runs
# "bench scale" on machines made of network namespaces (machines.sh lists what they need).
# scale.sh BIN [OPTIONS OF BENCH], where BIN has programs built with MPI=1; "make scale" runs it.
# Prints a Markdown table in milliseconds per step.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$top/tests/cases.sh"
bin=$(CDPATH='' cd -- "${1:?}" && pwd) || exit 1
shift
cd -- "$work" || exit 1
. "$top/tests/machines.sh"

number() { sed -n "s/.*\"$1\": *\([0-9.eE+-]*\).*/\1/p" out; }
row() {
    network=$1 hosts=$2
    shift 2
    together "$hosts" 2 "$bin/bench" scale --json --threads 1 "$@" || { cat err; exit 1; }
    awk -v network="$network" -v alone="$(number alone_seconds)" -v step="$(number step_seconds)" \
        -v exchange="$(number exchange_seconds)" -v speedup="$(number speedup)" 'BEGIN {
        printf "| %s | %.0f | %.0f | %.0f | %.2f |\n", network, 1e3 * alone, 1e3 * step,
            1e3 * exchange, speedup }'
}
echo '| network | one rank | two ranks | of which exchange | speedup |'
echo '|---|---|---|---|---|'
row 'within one machine' 10.77.0.1 "$@"
for rate in 10gbit 1gbit 100mbit; do
    slowed "$rate"
    row "$rate" 10.77.0.1,10.77.0.2 "$@"
done
