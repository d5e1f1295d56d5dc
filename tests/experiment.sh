#!/bin/sh
# Tests eval/experiment.sh: experiment.sh BIN, where BIN is the directory of the programs. It works
# in a copy of the files it needs, on a text and with a preset that take seconds.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$top/tests/cases.sh"
bin=$(CDPATH='' cd -- "${1:-$top/bin}" && pwd) || exit 1
unset CDPATH RUNS PRECISION GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export GIT_CONFIG_GLOBAL=/dev/null
cd -- "$work" || exit 1
evidence() { messages; }

commit() { git -c user.name=a -c user.email=a@b commit -q --allow-empty -m 'a commit'; }
experiment() { sh eval/experiment.sh "$@" >out 2>err </dev/null; }
refuses() { ! experiment "$1" && grep -q -- "$2" err; }
grown() { begins "$1" "$2" && ! cmp -s "$1" "$2"; }
without_char() { ! grep -q '^char,' eval/results.csv; }
# The parts of a report that people write.
frame() { sed '/^<!-- char/,/^<!-- end/d; /^<!-- runs/,/^<!-- end/d' "$1"; }
bits() { awk -F , '$1 == "char" { printf "%.4f", $2 / log(2) }' eval/results.csv; }

mkdir -p bin data eval src/attention
for program in eval compare toy; do
    cp "$bin/$program" bin
done
# The other runs of the part have sizes of their own; these are as small as the preset's.
cp "$bin/train" bin/linnet-train
cat >bin/train <<'END'
#!/bin/sh
case $* in
*--resume*) exec bin/linnet-train "$@" ;;
*) exec bin/linnet-train "$@" --dim 16 --heads 2 ;;
esac
END
chmod +x bin/train
cp "$top/eval/experiment.sh" "$top/eval/RESULTS.md" eval
cp -R "$top/models" models
sed 's/^layers = .*/layers = 3/; s/^dim = .*/dim = 16/; s/^heads = .*/heads = 2/; s/^context = .*/context = 32/
    s/^ngram-rows = .*/ngram-rows = 512/; s/^epochs = .*/epochs = 10/' \
    "$top/models/char.conf" >models/char.conf
head -n 1 "$top/eval/results.csv" >eval/results.csv
git init -q . && commit
begun_by=$(git rev-parse --short HEAD)
run=runs/experiment/char

check 'the experiment needs its text' refuses char 'get it with data/get ptb'
seed=0
for split in train valid test; do
    seed=$((seed + 1))
    bin/toy --length 400 --seed "$seed" >data/ptb.$split.txt
done
check 'the experiment refuses an unknown part' refuses everything "unknown part 'everything'"

experiment char &
child=$!
eventually grep -q -s '^[1-9]' "$run/log.csv"
kill -TERM "$(cat "$run/lock")"
wait "$child"
check 'a stopped experiment fails' [ $? -ne 0 ]
check 'a stopped experiment leaves a checkpoint' [ -f "$run/last.safetensors" ]
check 'a stopped experiment reports nothing' without_char
cp "$run/log.csv" log.stopped

commit # what goes on is still the run that the first one began
experiment char
check 'a resumed experiment completes' [ -f "$run/done" ]
check 'a resumed experiment continues its log' grown "$run/log.csv" log.stopped
check 'the row in results.csv has the commit and the command' \
    grep -q "^char,.*,$begun_by,.*,bin/train --preset char --precision single ptb.txt\$" \
    eval/results.csv
check 'both splits are scored' [ "$(grep -c plain "$run/scores.csv")" -eq 2 ]
check 'the report has the number in results.csv' \
    grep -q "^| char | .* | $(bits) | " eval/RESULTS.md
check 'the list of runs has the command' grep -q "^| char | .* | $begun_by | " eval/RESULTS.md
check 'the rest of the report is unchanged' \
    [ "$(frame eval/RESULTS.md)" = "$(frame "$top/eval/RESULTS.md")" ]

cp eval/results.csv results.before
cp "$run/log.csv" log.before
experiment char
check 'a complete run is not trained again' cmp -s "$run/log.csv" log.before
check 'a complete run is reported unchanged' cmp -s eval/results.csv results.before
head -n 1 results.before >eval/results.csv
experiment char
check 'a missing row in results.csv is restored from the run' \
    cmp -s eval/results.csv results.before

export PRECISION=bf16
check 'a complete run of another command is not reported' refuses char "was not started by 'bin/train .* bf16"
rm "$run/done"
check 'another command does not resume the run' refuses char "was not started by 'bin/train .* bf16"
unset PRECISION
sed '/end of char/d' eval/RESULTS.md >report && mv report eval/RESULTS.md
check 'the experiment refuses a report without its marks' \
    refuses char "the marks of 'char' are missing"

count_cases
