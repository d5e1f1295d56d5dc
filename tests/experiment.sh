#!/bin/sh
# Tests eval/experiment.sh: experiment.sh BIN, where BIN is the directory of the programs. It works
# in a copy of the files it needs, on texts and with models that take seconds.
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
refuses() {
    message=$1
    shift
    ! experiment "$@" && grep -q -- "$message" err
}
grown() { begins "$1" "$2" && ! cmp -s "$1" "$2"; }
without() { ! grep -q "^$1," eval/results.csv; }
rows() { grep -c "^$1" eval/results.csv; }

mkdir -p bin data eval
for program in eval compare toy; do
    cp "$bin/$program" bin
done
# Options that come later count: two kinds, small models, trained for as long as wanted.
cp "$bin/train" bin/linnet-train
echo 60 >epochs
cat >bin/train <<'END'
#!/bin/sh
case $* in
*--resume*) exec bin/linnet-train "$@" ;;
*help*) exec printf 'softmax  one kind\nlinear  another one\n' ;;
esac
exec bin/linnet-train $(echo "$*" | sed 's/--match-params [0-9]*//') \
    --dim 16 --heads 2 --layers 1 --warmup 0 --epochs "$(cat epochs)"
END
chmod +x bin/train
cp "$top/eval/experiment.sh" eval
head -n 1 "$top/eval/results.csv" >eval/results.csv
git init -q . && commit
begun_by=$(git rev-parse --short HEAD)
run=runs/experiment/user/softmax-1

check 'the experiment needs its text' refuses 'get it with data/get ptb' user
seed=0
for split in train valid test; do
    seed=$((seed + 1))
    bin/toy --length 400 --seed "$seed" >data/ptb.$split.txt
done
check 'the experiment refuses an unknown part' refuses "unknown part 'everything'" everything

experiment user &
child=$!
eventually grep -q -s '^[1-9]' "$run/log.csv"
kill -TERM "$(cat "$run/lock")"
wait "$child"
check 'a stopped experiment fails' [ $? -ne 0 ]
check 'a stopped experiment leaves a checkpoint' [ -f "$run/last.safetensors" ]
check 'a stopped experiment reports nothing' without user/softmax-1
cp "$run/log.csv" log.stopped

commit # what goes on is still the run that the first one began
echo 2 >epochs
experiment user
check 'a resumed experiment continues its log' grown "$run/log.csv" log.stopped
check 'the experiment completes all runs' [ "$(rows user/)" -eq 10 ]
check 'the row in results.csv has the commit and the command' \
    grep -q "^user/softmax-1,.*,$begun_by,.*,bin/train --attn softmax --seed 1 --precision single ptb.txt\$" \
    eval/results.csv
check 'the row has both losses, and the tokens and bytes they are of' \
    grep -q '^user/linear-2,[0-9.]*,[1-9][0-9]*,[0-9]*,[0-9.]*,[1-9][0-9]*,[1-9][0-9]*,,' eval/results.csv
cp eval/results.csv results.before
rm -r runs
experiment user
check 'a run that has a row is not trained again' [ ! -e runs/experiment/user ]
check 'a complete experiment changes nothing' cmp -s eval/results.csv results.before

experiment again user/linear-2
check 'a run trains again to the same result' [ $? -eq 0 ]
sed '/^user.linear-2,/s/,[0-9]*\.[0-9]*,/,1.5,/' results.before >eval/results.csv
check 'a run with another result is named' refuses 'user/linear-2: the results differ' \
    again user/linear-2
check 'a row that is missing is named' refuses "no row 'user/other'" again user/other
cp results.before eval/results.csv
check 'a row of another command is refused' \
    eval 'PRECISION=bf16 refuses "the row of user/softmax-1 is of .bin/train.*single.* not of .*bf16" user'

experiment kinds
# first_seeds KIND: a line for each rate, loss and rate, the best one first.
first_seeds() {
    sed -n "s/^kinds.$1-\([0-9.e-]*\)-1,\([^,]*\),.*/\2 \1/p" eval/results.csv | sort -g
}
seeds_at() { rows "kinds/linear-$1-[23],"; }
check 'all kinds have three rates or more, and three seeds at the best one' eval \
    'names=$(sed -n "s|^kinds/\([a-z+]*\)-[^,]*-1,.*|\1|p" eval/results.csv | sort | uniq -c) &&
    [ "$(echo "$names" | wc -l)" -eq 6 ] && echo "$names" | awk "\$1 < 3 { exit 1 }" &&
    [ "$(rows "kinds/.*-[23],")" -ge 12 ]'
best=$(first_seeds linear | sed -n '1s/.* //p')
check 'the rate with the lowest loss of seed 1 has three seeds' [ "$(seeds_at "$best")" -eq 2 ]
next=$(first_seeds linear | sed -n '2s/.* //p')
sed -i "s/^\(kinds.linear-$best-2\),[^,]*,/\1,99,/; /^kinds.linear-$next-[23],/d" eval/results.csv
experiment kinds
check 'a rate whose first seed is better than the mean at the best rate has three seeds, too' \
    [ "$(seeds_at "$next")" -eq 2 ]

count_cases
