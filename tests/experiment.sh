#!/bin/sh
# Tests eval/experiment.sh: experiment.sh BIN, where BIN is the folder of the programs. It works in
# a copy of what it needs, on a text and with a preset that take seconds.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$top/tests/cases.sh"
bin=$(CDPATH='' cd -- "${1:-$top/bin}" && pwd) || exit 1
unset CDPATH
cd -- "$work" || exit 1
evidence() { messages; }

commit() { git -c user.name=a -c user.email=a@b commit -q --allow-empty -m 'a commit'; }
experiment() { sh eval/experiment.sh "$@" >out 2>err </dev/null; }
# refused NAME PART PHRASE: that part ends at once, and says the phrase.
fails_with() { ! experiment "$1" && grep -q -- "$2" err; }
refused() { check "$1" fails_with "$2" "$3"; }
eventually() {
    for _ in $(seq 300); do
        "$@" 2>/dev/null && return
        sleep 0.1
    done
    return 1
}

mkdir -p data eval src/attention
cp "$top/eval/experiment.sh" "$top/eval/RESULTS.md" eval
cp -R "$top/models" models
cp -R "$bin" bin
head -n 1 "$top/eval/results.csv" >eval/results.csv
git init -q . && commit
begun_by=$(git rev-parse --short HEAD)
run=runs/experiment/char

refused 'no text' char 'data/get-ptb puts it there'
for part in train valid test; do
    bin/toy --tokens 400 --seed "${#part}" >data/ptb.$part.txt
done
refused 'no such part' everything "there is no part 'everything'"

sed -i 's/^dim = .*/dim = 24/; s/^context = .*/context = 32/; s/^epochs = .*/epochs = 80/' \
    models/char.conf
setsid sh eval/experiment.sh char >out 2>err </dev/null &
experiment=$!
eventually grep -q , "$run/log.csv"
kill -TERM "-$experiment"
wait "$experiment" 2>killed
eventually [ ! -e "$run/lock" ]
check 'stopped, it has saved' [ -f "$run/last.safetensors" ]
check 'and nothing is reported' eval '! grep -q ^char, eval/results.csv'
before=$(wc -l <"$run/log.csv")

commit # what goes on is still the run that the first one began
experiment char
check 'it goes on to the end' [ -f "$run/done" ]
check 'from where it was' eval 'cut -d , -f 1 $run/log.csv | sed 1d | sort -n -c -u'
check 'which was not the end' [ "$before" -lt "$(wc -l <"$run/log.csv")" ]
check 'its line has the commit and the command' \
    grep -q "^char,.*,$begun_by,.*,bin/train --preset char --precision single ptb.txt\$" \
    eval/results.csv
check 'both texts are read once' [ "$(grep -c plain "$run/scores.csv")" -eq 2 ]
bits=$(sed -n "s/^[0-9]* parameters; \([0-9.]*\) bits.*/\1/p" eval/RESULTS.md)
loss=$(sed -n 's/^char,\([0-9.]*\),.*/\1/p' eval/results.csv)
check 'the report has what the line says' [ "$bits" = "$(echo "$loss" |
    awk '{ printf "%.4f", $1 / log(2) }')" ]
check 'the list has it, too' grep -q "^| char | .* | $begun_by | " eval/RESULTS.md
check 'the rest of the report is as it was' [ "$(sed '/^<!-- char/,/^<!-- end/d
    /^<!-- runs/,/^<!-- end/d' eval/RESULTS.md)" = "$(sed '/^<!-- char/,/^<!-- end/d
    /^<!-- runs/,/^<!-- end/d' "$top/eval/RESULTS.md")" ]

cp eval/results.csv results.before
cp "$run/log.csv" log.before
experiment char
check 'what is complete is not trained again' cmp -s "$run/log.csv" log.before
check 'nor said to be' eval '! grep -q char err'
check 'and reported alike' cmp -s eval/results.csv results.before
head -n 1 results.before >eval/results.csv
experiment char
check 'a line that is missing is made from the run' cmp -s eval/results.csv results.before

rm "$run/done"
PRECISION=bf16 sh eval/experiment.sh char >out 2>err </dev/null
check 'another command does not go on with it' grep -q "was not begun by 'bin/train .* bf16" err
sed -i '/end of char/d' eval/RESULTS.md
refused 'a report without marks' char "the marks of 'char' are missing"

count_cases
