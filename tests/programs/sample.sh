#!/bin/sh
# Tests sample: texts, scores, sessions.
. "$(dirname -- "$0")/../commands.sh"

explains_itself sample
train softmax text.txt
train linear --attn linear text.txt

works 'sample --help knows the nucleus' "$bin/sample" --help nucleus
refused 'sample knows --max_new_tokens' 2 "linnet calls it '--length'" \
    "$bin/sample" --max_new_tokens 3 run

# --- texts ---

sample() { run "$bin/sample" --length 30 "$@" softmax; }
sample --seed 3 && cp out first
check 'sample generates text' exits 0
check 'sample warns of nothing' [ ! -s err ]
check 'sample generates at least --length tokens' \
    eval '[ "$(awk "{ n += NF + 1 } END { print n }" first)" -ge 30 ]'
check 'sample generates no more than one token beyond --length' \
    eval '[ "$(awk "{ n += NF + 1 } END { print n }" first)" -le 31 ]'
sample --seed 3
check 'the same seed gives the same text' same out first
sample --seed 3 --threads 2
check 'the number of threads does not change the text' same out first
sample --seed 4
check 'another seed gives another text' differ out first
sample --greedy && cp out greedy
sample --greedy --seed 9
check '--greedy does not depend on the seed' same out greedy
sample --top-k 1 --temperature 5
check '--top-k 1 is greedy' same out greedy
sample --temperature 0
check '--temperature 0 is greedy' same out greedy
sample --top-p 0
check '--top-p 0 is greedy' same out greedy
# Every word once, as long as there are others.
sample --length 12 --greedy && repeated() { tr -s ' \n' '\n\n' <out | sort | uniq -d | grep -q .; }
check '--greedy repeats itself' repeated
cp out penalised
sample --length 12 --greedy --repetition-penalty 1
check '--repetition-penalty 1 is none' same out penalised
sample --length 12 --greedy --repetition-penalty 100
check '--repetition-penalty keeps words from coming again' fails repeated
cp out penalised
sample --length 12 --greedy --repetition-penalty 100 --count 2
check '--repetition-penalty applies to each of several texts' begins out penalised
sample --length 5 --greedy --prompt "$(head -n 1 penalised)" --repetition-penalty 100
check '--repetition-penalty counts the words of the prompt' fails repeated
refused 'sample refuses a repetition penalty of 0' 2 'from 0.01 to 100' \
    "$bin/sample" --repetition-penalty 0 softmax
sample --prompt 'the linnet'
check 'the text begins with the prompt' eval 'head -n 1 out | grep -q "^the linnet"'
check 'a known prompt gives no warning' [ ! -s err ]
sample --prompt 'the cuckoo'
check 'sample reports an unknown word in the prompt' says "read as <unk>: 'cuckoo'"
run "$bin/sample" --length 0 --prompt 'one lark' softmax
check '--length 0 prints the prompt only' [ "$(cat out)" = 'one lark' ]
sample --count 3 && cp out few
check '--count 3 prints three texts' eval '[ "$(grep -c "^---\$" few)" -eq 2 ]'
sample --count 1
check 'the first of several texts is the one made alone' begins few out
# More texts than sample generates in parallel.
sample --count 71 && cp out many
check '--count 71 prints 71 texts' eval '[ "$(grep -c "^---\$" many)" -eq 70 ]'
check 'a text does not depend on --count' begins many few
sample --count 3 --threads 2
check 'several texts do not depend on the number of threads' same out few
sed 's/.*/ & /' text.txt >blanks.txt
train letters --tokens char text.txt
train trimmed --tokens char --trim blanks.txt
check '--trim gives the model of the text without outer white space' \
    same_numbers letters/last.safetensors trimmed/last.safetensors
run "$bin/eval" letters text.txt
cp out letters.out
run "$bin/eval" trimmed blanks.txt
check '--trim gives the scores of the text without outer white space' same letters.out out
train rare --min-count 60 text.txt
sample --seed 1 && run "$bin/sample" --length 300 --temperature 3 rare
check 'a model trained with <unk> generates it' prints '<unk>'
run "$bin/sample" --length 300 --temperature 3 --no-unk rare
check '--no-unk generates no <unk>' fails prints '<unk>'
run "$bin/sample" --length 300 linear
check 'linear attention generates text beyond the context length' exits 0

sample --length 3 --prompt 'the unheardof linnet zzz'
check 'unknown words of a prompt are named' says "read as <unk>: 'unheardof', 'zzz'"

"$bin/sample" --length 100000 softmax 2>err </dev/null | head -c 10 >out
check 'sample ends silently when its reader has gone' [ ! -s err ]
"$bin/sample" --length 1000000000000 --count 3 linear 2>err </dev/null | head -c 10 >out
check 'sample generates texts longer than memory' eval '[ ! -s err ] && [ -s out ]'
refused 'sample refuses a prompt that is not UTF-8' 2 'prompt' \
    "$bin/sample" --prompt "$(printf '\377')" softmax
sample --detok --prompt 'the linnet'
check '--detok capitalises the first word' eval 'head -n 1 out | grep -q "^The linnet"'
check '--detok removes the space before a full stop' fails prints ' \.'
sample --show-probs --prompt 'the linnet'
check '--show-probs prints a legend' eval 'head -n 1 out | grep -q probability'
check '--show-probs prints a probability after each token' prints '^the\[[0-9.e-]*\] linnet\['
run env COLUMNS=60 "$bin/sample" --length 30 --count 3 --columns softmax
check '--columns prints texts side by side' eval 'head -n 1 out | grep -q "^(1) .* (2)"'
check '--columns fits the width of the terminal' \
    eval '[ "$(tr -d "\200-\277" <out | wc -L)" -le 60 ]'
refused 'sample refuses --columns for texts longer than memory' 2 '--columns keeps' \
    "$bin/sample" --columns --length 1000000000 softmax

# --- scores ---

head -n 3 text.txt >little.txt
"$bin/sample" --score - softmax <little.txt >out 2>err
status=$?
check 'sample --score works' exits 0
cp out scored
run "$bin/eval" softmax text.txt --valid little.txt
check '--score prints the same summary as eval' [ "$(tail -n 2 scored | tr -d '.0-9')" = \
    "$(tail -n 2 out | sed 's/^valid: //' | tr -d '.0-9')" ]
nats() { tail -n 1 "$1" | sed 's/.* \([0-9.]*\) nats in all$/\1/'; }
check '--score agrees with eval in every digit' \
    eval 'awk "BEGIN { d = $(nats scored) - $(nats out); exit !(d < 0.02 && d > -0.02) }"'
check '--score prints a line for every token' lines scored "$(($(wc -w <little.txt) + 3 + 3))"
run "$bin/sample" --score 'the cuckoo' softmax
check '--score counts unknown words' prints '2 tokens, 1 of them unknown'
refused 'sample refuses to score an empty text' 1 'nothing to score' \
    "$bin/sample" --score '' softmax
refused 'sample refuses --score with --prompt' 2 'generates no text' \
    "$bin/sample" --score a --prompt b softmax

# --- sessions ---

session() { "$bin/sample" --interactive softmax >out 2>err; status=$?; }
words() { tr -s ' \n' '\n\n' <"$1"; }
sample --length 12 --prompt 'the linnet' && words out >whole
printf '/length 6\nthe linnet\n\n' | session
check 'an interactive session works' exits 0
check 'a session confirms a changed setting' eval 'head -n 1 out | grep -q "^length  *6\$"'
tail -n +2 out >rest && words rest >halves
check 'an empty line in a session continues the text' same halves whole
printf '/temperature 500\n/wings\n/top-k\n/quit\nthe linnet\n' | session
check 'a session survives mistakes' exits 0
check 'a session explains mistakes' eval 'says "from 0 to 100" && says "no command /wings"'
check 'a session prints settings' prints '^top-k  *0$'
check '/quit ends a session' fails prints linnet
if command -v script >/dev/null 2>&1; then
    mkdir home
    printf '/length 5\rthe linnet\r/quit\r' |
        env HOME="$work/home" XDG_STATE_HOME= TERM=xterm \
            script -qec "'$bin/sample' softmax" /dev/null >out 2>err
    check 'sample on a terminal starts a session' prints 'Type a prompt'
    check 'a session on a terminal generates text' prints '^the linnet '
    check 'a session on a terminal keeps a history' \
        grep -q '^the.*linnet' home/.local/state/linnet/history
fi

# --- refusals ---

refuses_wrong_runs sample
reports_full_disk sample softmax

count_cases
