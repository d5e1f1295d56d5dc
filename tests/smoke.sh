#!/bin/sh
# Runs every program once, for valgrind and sanitizers: smoke.sh BIN [COMMAND...], where BIN is the
# directory of the programs and COMMAND, such as valgrind, runs each of them. Trains on three
# threads, stops, resumes, scores, samples and exports. Fails if a program fails.
set -eu

bin=$(CDPATH='' cd -- "$1" && pwd)
shift
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd -- "$work"

"$@" "$bin/toy" --length 3000 >text.txt
for kind in softmax linear gated-delta; do
    "$@" "$bin/train" --attn "$kind" --layers 2 --dim 24 --heads 2 --context 20 --batch 3 \
        --dropout 0.1 --steps 12 --eval-every 6 --sample-every 1 --log-every 2 --threads 3 \
        --stop-after 7 --quiet --run "$kind" text.txt
    "$@" "$bin/train" --resume "$kind" --threads 2 --quiet
    "$@" "$bin/eval" --threads 3 "$kind" text.txt
    "$@" "$bin/sample" --threads 3 --length 30 --count 3 "$kind" >/dev/null </dev/null
done
"$@" "$bin/compare" --svg curves.svg softmax linear gated-delta >/dev/null
"$@" "$bin/inspect" --text 'the prices' --html page.html linear >/dev/null
"$@" "$bin/export" --plain softmax exported
echo 'All programs passed.'
