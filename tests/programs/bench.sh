#!/bin/sh
# Tests bench: every command measures a tiny model once.
. "$(dirname -- "$0")/../commands.sh"

explains_itself bench

run "$bin/bench" gemm --json --dim 32 --heads 2 --batch 2 --repeats 1
check 'bench gemm reports the peak speed' prints '"peak_gflops": .*"kernel": '
run "$bin/bench" train --json --dim 32 --heads 2 --layers 1 --batch 2 --vocab 100 --repeats 1
check 'bench train reports its phases' prints '"phases": {"rest"'
run "$bin/bench" train --json --dim 32 --heads 2 --layers 1 --batch 2 --vocab 100 --repeats 1 \
    --optimizer muon
check 'bench train reports the optimizer, and its products by themselves' \
    eval "prints '\"optimizer\": ' && prints '\"optimizer_utilisation\": 0[.][0-9]*[1-9]'"
run "$bin/bench" attention --json --n 16,70 --batch 2 --repeats 1
check 'bench attention compares kinds with softmax' prints '"ratio_to_softmax"'
run "$bin/bench" decode --json --positions 3,9 --dim 32 --heads 2 --layers 1 --repeats 1
check 'bench decode reports the size of the state' prints '"state_bytes"'
run "$bin/bench" --title train --svg titled.svg attention --n 16 --batch 2 --repeats 1
check 'a title may be the name of another command' eval 'exits 0 && grep -q train titled.svg'
refused 'bench refuses an unknown command' 2 "unknown command 'dance'" "$bin/bench" dance
check 'the help of bench gemm lists only its own options' \
    eval '"$bin/bench" gemm --help all >out && ! grep -q -e "--kinds" -e "--layers" out'
run "$bin/bench" decode --csv --positions 3,9 --dim 32 --heads 2 --layers 1 --repeats 1
check 'bench --csv prints a row for each measurement' \
    eval "prints '^kind,position,tokens_per_second,' && lines out 3"
refused 'bench refuses an option of another command' 2 "unknown option '--kinds'" \
    "$bin/bench" decode --kinds softmax
refused 'bench refuses positions beyond all memory' 2 'a number from 1 to' \
    "$bin/bench" decode --positions 18446744073709551615
refused 'bench decode refuses options of training' 2 "unknown option '--dropout'" \
    "$bin/bench" decode --dropout .1

count_cases
