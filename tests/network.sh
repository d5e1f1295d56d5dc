#!/bin/sh
# Tests training on several machines: network.sh BIN PLAIN, with programs built with MPI=1 and
# without. machines.sh makes the machines; their network is slowed down and cut. Prints a line for
# each failed check, and at the end how many passed and failed.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$top/tests/cases.sh"
bin=$(CDPATH='' cd -- "${1:?}" && pwd) || exit 1
plain=$(CDPATH='' cd -- "${2:?}" && pwd) || exit 1
export LC_ALL=C

cd -- "$work" || exit 1
evidence() { messages; }

. "$top/tests/machines.sh"

# --- training ---

settings='--layers 2 --dim 48 --heads 3 --context 40 --lr 0.003 --warmup 10 --dropout 0.1
    --batch 8 --shards 4 --log-every 20 --eval-every 30 --threads 1 --quiet'
# shellcheck disable=SC2086
{
    "$plain/train" $settings --steps 60 --run alone toy >out 2>err
    check 'mpirun reaches the machines by their addresses' \
        together 10.77.0.1,10.77.0.2,10.77.0.3 3 hostname
    check 'every machine has its own name' [ "$(sort -u out | wc -l)" -eq 3 ]
    together 10.77.0.1,10.77.0.2,10.77.0.3 3 "$bin/train" $settings --steps 60 --run three toy
    check 'a run on three machines is bit-identical to a run on one' same_runs alone three
    check 'the network slows down' slowed 10mbit
    together 10.77.0.1,10.77.0.2 2 "$bin/train" $settings --steps 60 --run slow toy
    check 'a run on a slow network is bit-identical' same_runs alone slow
    slowed 1gbit
}

# pull_cable RUN: disconnects the third machine after the run's first checkpoint.
pull_cable() {
    eventually [ -e "$1/previous.safetensors" ]
    cable down
    date +%s >cut-at
}
# shellcheck disable=SC2086
{
    "$plain/train" $settings --steps 400 --save-every 10 --run whole toy >out 2>err
    pull_cable lost &
    together 10.77.0.1,10.77.0.2,10.77.0.3 3 "$bin/train" $settings --steps 400 --save-every 10 \
        --run lost toy
    status=$?
    ended=$(date +%s)
    wait
    check 'losing a machine ends the run' [ "$status" -ne 0 ]
    check 'losing a machine ends the run within 30 seconds' [ $((ended - $(cat cut-at))) -le 30 ]
    gone() { ! pgrep -f -- "^$bin/train .*--run lost" >/dev/null; }
    eventually gone
    check 'no process of the lost run is left' gone
    check 'the lost run leaves a checkpoint' [ -s lost/last.safetensors ]
    cable up
    together 10.77.0.1,10.77.0.2 2 "$bin/train" --resume lost --quiet
    check 'two machines resume the lost run bit-identically' same_runs whole lost
}

count_cases
