#!/bin/sh
# Tests grids, several runs that one command trains: how they are continued after every kind of end,
# what is said and written of them, --dry-run, and settings that make their runs comparable.
. "$(dirname -- "$0")/../commands.sh"

# grid OPTIONS...: four runs of 20 steps in the directory grid.
grid() {
    # shellcheck disable=SC2086
    run "$bin/train" $small --steps 20 --log-every 5 --eval-every 10 --attn softmax,linear \
        --seed 1,2 --run grid "$@" text.txt
}
# What it is all compared with.
# shellcheck disable=SC2086
run "$bin/train" $small --steps 20 --log-every 5 --eval-every 10 --attn linear --seed 2 --quiet \
    --run straight text.txt

# state RUN: what grid.json says of a run.
state() { grep -A 1 "\"run\": \"$1\"" grid/grid.json | sed -n 's/.*"state": "\(.*\)".*/\1/p'; }
states() { for name in softmax-seed1 softmax-seed2 linear-seed1 linear-seed2; do state $name; done; }
are() { [ "$(states | tr '\n' ' ')" = "$1 " ]; }

# --- stopped, killed, continued ---

grid --stop-after 12
check 'a grid ends where it is stopped' eval 'exits 0 && [ "$(echo grid/*/)" = grid/softmax-seed1/ ]'
check 'it says how many runs and how much time are left' \
    prints '^Grid: 0 of 4 runs finished, 1 open, 3 missing, about [0-9:]* left$'
check 'and both ways to continue' \
    prints '^To continue the grid: the same command again, or .*train --resume grid$'
check 'grid.json knows the states' are 'open missing missing missing'
check 'and the settings that differ' eval 'grep -q "\"attn\": \"linear\"" grid/grid.json &&
    grep -q "\"seed\": \"2\"" grid/grid.json && ! grep -q "\"steps\"" grid/grid.json'
check 'grid.json has an estimate of the time' grep -q '"seconds_left": [0-9.e-]*[1-9]' grid/grid.json
check 'the progress has a line of the grid' says '^grid: run 1 of 4, [0-9:]* left  epoch '
check 'a heading says which run it is' prints '^== run 1 of 4: softmax-seed1'

# Killed at the start of the second run, before its first checkpoint: in every way that leaves.
mkdir -p grid/softmax-seed2 grid/linear-seed1
cp grid/softmax-seed1/settings.conf grid/softmax-seed2/
sed -i 's/^seed = 1/seed = 2/' grid/softmax-seed2/settings.conf
cp grid/softmax-seed1/log.csv grid/softmax-seed2/
touch "grid/softmax-seed2/settings.conf.$(sh -c 'echo $$').tmp" grid/softmax-seed2/lock grid/linear-seed1/lock
run "$bin/train" --resume grid
check '--resume continues a grid, also runs that were killed before their first checkpoint' \
    eval 'exits 0 && are "finished finished finished finished"'
check 'no run is made twice' [ "$(echo grid/*/ | wc -w)" = 4 ]
check 'its runs are bit-identical to single ones' same_runs straight grid/linear-seed2
check 'it ends with the comparison' prints '(2 seeds)'
cksum grid/*/last.safetensors grid/*/log.csv >sums.before
grid
cksum grid/*/last.safetensors grid/*/log.csv >sums.after
check 'a finished grid is only compared' \
    eval 'exits 0 && prints "^== runs 1 to 4 of 4: finished$" && prints "(2 seeds)"'
check 'and nothing in it changes' same sums.before sums.after

rm -r grid/linear-seed1
rm grid/softmax-seed1/last.safetensors grid/softmax-seed1/previous.safetensors
grid --quiet
check 'a run that is missing is trained again' eval 'exits 0 && [ -f grid/linear-seed1/last.safetensors ]'
check 'a finished run is not, if only its best model was kept' [ ! -e grid/softmax-seed1/last.safetensors ]
mv grid moved
run "$bin/train" --resume moved --quiet
check 'a grid that was moved is continued where it is' eval 'exits 0 && [ ! -e grid ]'
mv moved grid

# Killed in the middle.
rm -r grid
# shellcheck disable=SC2086
"$bin/train" $small --steps 1000000 --eval-every 5 --attn softmax,linear --run grid --quiet text.txt \
    >out 2>err </dev/null &
child=$!
eventually [ -f grid/softmax/last.safetensors ]
kill -KILL "$child"
wait "$child" 2>/dev/null
child=
check 'a killed grid leaves its lock file' [ -f grid/grid.json.lock ]
check 'a killed grid has a file that says what was open' grep -q '"open"\|"missing"' grid/grid.json
"$bin/train" --resume grid --quiet >out 2>err </dev/null &
child=$!
eventually [ -f grid/softmax/lock ]
works 'a dry run of it works at the same time' "$bin/train" --resume grid --dry-run
refused 'a second process does not touch it' 1 'grid/grid.json: in use by process' \
    "$bin/train" --resume grid
refused 'nor one of its runs' 1 'grid/softmax: in use by process' "$bin/train" --resume grid/softmax
# shellcheck disable=SC2086
refused 'nor does a run that begins there' 1 'grid/softmax: in use by process' \
    "$bin/train" $small --run grid/softmax text.txt
rows=$(wc -l <grid/softmax/log.csv)
eventually eval '[ "$(wc -l <grid/softmax/log.csv)" -gt $((rows + 5)) ]'
kill -TERM "$child"
wait "$child"
status=$?
child=
check 'a killed grid goes on, and a signal ends it' \
    eval 'exits 143 && [ "$(echo grid/*/)" = grid/softmax/ ]'
rm -r grid

# --- a run that fails ---

# shellcheck disable=SC2086
run "$bin/train" $small --steps 60 --weight-decay 100 --warmup 0 --schedule constant --lr 100.0,1e-3 \
    --run grid text.txt
check 'a run that diverges leaves the others to be trained' \
    eval 'exits 1 && prints "^Grid: 1 of 2 runs finished, 1 open" && [ -f grid/lr1e-3/last.safetensors ]'
rm -r grid

# --- other settings ---

grid --stop-after 2 --quiet
refused 'a grid keeps its settings' 2 'keeps its text and its settings; leave --lr out' \
    "$bin/train" --resume grid --lr 1
# shellcheck disable=SC2086
refused 'a directory holds one grid' 1 'grid/softmax-seed1 holds steps 20, not 30; choose another' \
    "$bin/train" $small --steps 30 --attn softmax,linear --seed 1,2 --run grid text.txt
echo '{"runs": [{"run": 5}]}' >grid/grid.json
refused 'train refuses a damaged grid.json' 1 'grid/grid.json: not the description of a grid' \
    "$bin/train" --resume grid
run "$bin/compare" grid
check 'so does compare' eval 'exits 1 && says "not the description of a grid"'
rm -r grid

# --- lists that change ---

# lists FOLDERS OPTIONS...: whether the directory has these runs after training with the lists.
lists() {
    wanted=$1
    shift
    # shellcheck disable=SC2086
    run "$bin/train" $small --steps 2 --quiet --run grid "$@" text.txt
    check "lists that change train no run again: $*" \
        eval 'exits 0 && [ "$(cd grid && echo */)" = "$wanted" ]'
}
lists 'linear/ softmax/' --attn softmax,linear --seed 1
lists 'linear-seed2/ linear/ softmax-seed2/ softmax/' --attn softmax,linear --seed 1,2
lists 'linear-seed2/ linear/ softmax-seed2/ softmax/' --attn softmax,linear --seed 2
lists 'linear-seed2/ linear-seed3/ linear/ softmax-seed2/ softmax-seed3/ softmax/' \
    --attn softmax,linear --seed 2,3
run "$bin/train" --resume grid/grid.json --dry-run
check 'grid.json stands for its directory' eval 'exits 0 && prints "^softmax-seed2 .* finished"'
mv grid elsewhere
mkdir -p grid
refused 'a grid of runs/ is resumed where it is' 2 'change to the directory that has them' \
    eval 'cp elsewhere/grid.json grid/attn.grid.json && "$bin/train" --resume grid/attn.grid.json'
rm -r grid elsewhere

# --- without --run ---

for options in '--steps 4 --stop-after 2' '--steps 4' '--steps 4 --threads 1'; do
    # shellcheck disable=SC2086
    run "$bin/train" $small $options --quiet --attn softmax,linear --seed 1,2 text.txt
done
check 'a grid in runs/ is never made twice' \
    [ "$(cd runs && echo */)" = 'linear-seed1-text/ linear-seed2-text/ softmax-seed1-text/ softmax-seed2-text/' ]
works 'its file resumes it' "$bin/train" --resume runs/attn-seed-text.grid.json
works 'and compare reads it' "$bin/compare" runs/attn-seed-text.grid.json
cp out kept.out
works 'compare takes runs/*' "$bin/compare" runs/*
check 'and lists each run once' same out kept.out
# shellcheck disable=SC2086
run "$bin/train" $small --steps 4 --quiet --attn relu,linear --seed 1,2 text.txt
check 'a grid with other values has a file of its own' \
    [ "$(cd runs && echo *.json)" = 'attn-seed-text-2.grid.json attn-seed-text.grid.json' ]
rm -r runs

# --- values that belong together ---

# shellcheck disable=SC2086
run "$bin/train" $small --steps 2 --attn softmax,linear --context 8/16 --batch 4/2 --run grid --quiet \
    text.txt
check 'lists with / advance together, lists with , do not' \
    [ "$(cd grid && echo */)" = 'linear-context16-batch2/ linear-context8-batch4/ softmax-context16-batch2/ softmax-context8-batch4/' ]
refused 'they need as many values' 2 'have lists with / of different lengths' \
    "$bin/train" --context 8/16 --batch 4/2/1 --run none text.txt
refused 'a list has one kind of separator' 2 'commas list values for all combinations' \
    "$bin/train" --context 8/16,32 --batch 4/2/1 --run none text.txt
refused 'a list with / lacks no value' 2 'a value is missing beside a slash' \
    "$bin/train" --context 8/ --batch 4/2 --run none text.txt

# --- equal parameters and tokens ---

plain='--layers 2 --dim 64 --heads 2 --steps 2 --log-every 1 --quiet'
facts() { grep -h "^# $1: \|^$1 = " fair/*/settings.conf | sed 's/^[^0-9]*//' | tr '\n' ' '; }
# shellcheck disable=SC2086
works 'train matches parameters and tokens' "$bin/train" $plain --attn softmax,gated-delta,rwkv7 \
    --match-params softmax --context 16,32 --batch-tokens 64 --run fair text.txt
# spread MOST: whether the numbers on stdin differ by at most this part.
spread() { tr ' ' '\n' | awk -v most="$1" 'NF { if (!n++ || $1 < low) low = $1; if ($1 > high) high = $1 }
    END { exit !(n == 6 && high <= low * (1 + most)) }'; }
check '--match-params makes parameters equal within 0.2 %' eval 'facts parameters | spread 0.002'
check 'and the found width is in the settings' [ "$(facts ffn | wc -w)" = 6 ]
check 'the first kind keeps its own' eval '[ "$(sed -n "s/^ffn = //p" fair/softmax-context16/settings.conf)" = 256 ]'
check '--batch-tokens makes the tokens of a step equal' \
    eval '[ "$(tail -qn 1 fair/*/log.csv | cut -d , -f 3 | sort -u)" = 128 ]'
# shellcheck disable=SC2086
works 'the same command finds its runs again' "$bin/train" $plain --attn softmax,gated-delta,rwkv7 \
    --match-params softmax --context 16,32 --batch-tokens 64 --run fair text.txt
# shellcheck disable=SC2086
refused 'but not those of another match' 1 'holds a run of another --match-params' \
    "$bin/train" $plain --attn softmax,gated-delta,rwkv7 --match-params 99999 --context 16,32 \
    --batch-tokens 64 --run fair text.txt
works 'the settings of a matched run repeat it' "$bin/train" --quiet \
    --preset fair/rwkv7-context16/settings.conf --run again text.txt
check 'with the same weights' same_numbers again/best.safetensors fair/rwkv7-context16/best.safetensors
for which in 99999 fair/softmax-context16; do
    # shellcheck disable=SC2086
    works "--match-params $which" "$bin/train" $plain --attn linear --batch 1 --match-params "$which" \
        --run "match${which%%/*}" text.txt
done
check '--match-params takes a number' eval 'head -n 1 match99999/settings.conf | grep -q "parameters: \(99\|100\)[0-9]*$"'
check 'and a run' eval 'head -n 1 matchfair/settings.conf | cut -d " " -f 3 >n && [ "$(cat n)" = "$(sed -n "s/^# parameters: //p" fair/softmax-context16/settings.conf)" ]'
refused '--match-params needs room' 2 'this model has more without an MLP' \
    "$bin/train" --match-params 500 --run none --quiet text.txt
refused '--match-params knows what it is given' 2 'neither an attention kind, nor a run' \
    "$bin/train" --match-params nothing --run none text.txt
refused '--ffn contradicts a number of parameters' 2 '--ffn has no effect here' \
    "$bin/train" --match-params 50000 --ffn 30 --run none text.txt
refused '--batch-tokens needs a multiple of the context' 2 '--batch-tokens 70: no multiple of --context 16' \
    "$bin/train" --batch-tokens 70 --context 16 --run none text.txt
refused '--batch contradicts --batch-tokens' 2 'contradict each other' \
    "$bin/train" --batch-tokens 64 --batch 4 --run none text.txt
refused 'a resumed run keeps its width' 2 '--match-params and --resume contradict' \
    "$bin/train" --resume again --match-params 50000

# --- chains: each run taught by the one before it ---

# shellcheck disable=SC2086
chain() {
    run "$bin/train" $small --steps 20 --log-every 5 --eval-every 10 --attn linear --seed 2,3 \
        --generations 3 --run chain "$@" text.txt
}
chain --stop-after 12
check 'a chain ends where it is stopped, too' eval 'exits 0 && [ "$(echo chain/*/)" = chain/seed2-generation1/ ]'
chain
check 'a chain trains every generation of every seed' eval 'exits 0 && [ "$(echo chain/*/ | wc -w)" = 6 ]'
check 'chains are samples of one experiment' prints '^generation3  *2 '
check 'whose teachers are no news' eval '! prints distilled && ! grep -q "differ in more" err'
check 'the first generation is the run alone' same_numbers chain/seed2-generation1/best.safetensors straight/best.safetensors
# shellcheck disable=SC2086
run "$bin/train" $small --steps 20 --log-every 5 --eval-every 10 --attn linear --seed 102 --quiet \
    --distill chain/seed2-generation1 --run taught text.txt
check 'a later one is taught by the one before, with a seed of its own' \
    same_numbers chain/seed2-generation2/best.safetensors taught/best.safetensors
check 'and so on' grep -q '^distill = chain/seed3-generation2$' chain/seed3-generation3/settings.conf
run "$bin/compare" --by generation chain
check 'compare --by generation draws a line' prints '^linear  *[0-9.]*  *[0-9.]*  *[0-9.]*  *[0-9]'
cksum chain/*/*.safetensors >sums.before
chain --no-keep-teachers --quiet
check 'teachers can be removed' eval 'exits 0 && [ "$(echo chain/*/best.safetensors)" = \
    "chain/seed2-generation3/best.safetensors chain/seed3-generation3/best.safetensors" ]'
check 'with their logs kept' [ "$(echo chain/*/log.csv | wc -w)" = 6 ]
chain --quiet
cksum chain/*/*.safetensors >sums.after
check 'a chain without its teachers is finished' \
    eval 'exits 0 && [ "$(grep -c generation3 sums.after)" = 6 ] && [ "$(grep -F -c -f sums.after sums.before)" = 6 ]'
# shellcheck disable=SC2086
works '--dry-run of a chain' "$bin/train" $small --steps 20 --generations 2 --dry-run text.txt
check 'has a row for each generation' [ "$(grep -c '^generation[12] ' out)" = 2 ]
refused '--keep-teachers needs a chain' 2 '--keep-teachers has no effect here' \
    "$bin/train" --no-keep-teachers --run none text.txt

# --- --dry-run ---

mkdir plan
cd plan || exit 1
# shellcheck disable=SC2086
works '--dry-run prints the runs of a grid' "$bin/train" $plain --attn softmax,kda --seed 1,2 --context 16 \
    --batch 4 --dry-run ../text.txt
check 'each with its parameters, tokens, steps, memory and time' \
    [ "$(grep -c '^\(softmax\|kda\)-seed[12]  *[0-9]*  *[0-9]*  *128  *2  *[0-9.]*  *[0-9:]*$' out)" = 4 ]
check 'and their sum' prints '^4 runs, about [0-9:]*$'
# shellcheck disable=SC2086
works '--dry-run prints a single run' "$bin/train" $plain --attn kda --context 16 --batch 4 --dry-run \
    ../text.txt
check 'in one row' prints '^1 run, about'
check '--dry-run trains nothing' [ "$(echo *)" = 'err out' ]
cd ..
# shellcheck disable=SC2086
works '--dry-run of a grid that has begun' "$bin/train" $plain --attn softmax,gated-delta,rwkv7,kda \
    --match-params softmax --context 16,32 --batch-tokens 64 --run fair --dry-run text.txt
check 'says what is finished' [ "$(grep -c 'finished$' out)" = 6 ]
check 'and how much is left' prints '^8 runs, about [0-9:]*, of which [0-9:]* are left$'

count_cases
