#!/bin/sh
# Tests sample: texts, prompts, sessions.
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
# Words and marks, in small letters.
sed 's/^\([^ ]*\) \(.*\)$/"\1, \2!"/' text.txt >marked.txt
tr a-z A-Z <marked.txt >loud.txt
train marked --tokens wordpunct marked.txt
train lowered --tokens wordpunct --lowercase loud.txt
check '--lowercase gives the model of the text in small letters' \
    same_numbers marked/last.safetensors lowered/last.safetensors
run "$bin/eval" marked marked.txt
cp out marked.out
run "$bin/eval" lowered loud.txt
check '--lowercase gives the scores of the text in small letters' same marked.out out
train halfway --tokens wordpunct --lowercase --stop-after 15 loud.txt
resume halfway
check 'a resumed run still reads small letters' \
    same_numbers lowered/last.safetensors halfway/last.safetensors
run "$bin/sample" --length 0 --prompt '"The LINNET, sings!"' lowered
check 'a prompt is read in small letters, and printed without blanks before marks' \
    [ "$(cat out)" = '"the linnet, sings!"' ]
check 'no word of it is unknown' fails says 'unknown\|<unk>'
refused 'train refuses --lowercase for bytes' 2 '--lowercase is for' \
    "$bin/train" --run none --tokens byte --lowercase text.txt
yes 'this line, which ends here.' | head -n 200 >hint.txt
awk 'BEGIN { for (i = 0; i < 600; i++) print "word" i, "word" i "," }' >>hint.txt
train hint --steps 2 --valid hint.txt --test hint.txt hint.txt
check 'train says when words have punctuation marks on them' \
    says 'end in a punctuation mark, as .*--tokens wordpunct'
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
sample --show-probs --prompt 'the linnet'
check '--show-probs prints a legend' eval 'head -n 1 out | grep -q probability'
check '--show-probs prints a probability after each token' prints '^the\[[0-9.e-]*\] linnet\['
run env COLUMNS=60 "$bin/sample" --length 30 --count 3 --columns softmax
check '--columns prints texts side by side' eval 'head -n 1 out | grep -q "^(1) .* (2)"'
check '--columns fits the width of the terminal' \
    eval '[ "$(tr -d "\200-\277" <out | wc -L)" -le 60 ]'
refused 'sample refuses --columns for texts longer than memory' 2 '--columns keeps' \
    "$bin/sample" --columns --length 1000000000 softmax

# A bird of four bytes; a model of bytes makes some of them only in part.
bird=$(printf '\360\237\220\246') lost=$(printf '\357\277\275')
sed "s/a/$bird/g; s/i/$(printf '\320\271')/g" text.txt >birds.txt
train bytes --tokens byte --steps 5 birds.txt

# --- prompts from standard input and from files ---

# piped FILE OPTIONS...: with this standard input.
piped() {
    input=$1
    shift
    "$bin/sample" --length 12 "$@" softmax >out 2>err <"$input"
    status=$?
}
sample --length 12 --prompt 'the linnet' && cp out given
printf 'the linnet\n' >prompt.txt
printf 'the linnet\n' | "$bin/sample" --length 12 softmax >out 2>err
check 'a pipe is the prompt' eval 'same out given && [ ! -s err ]'
piped prompt.txt
check 'a file on standard input is the prompt' same out given
for options in '--prompt -' '--prompt-file -' --no-interactive; do
    # shellcheck disable=SC2086
    piped prompt.txt $options
    check "$options reads standard input" same out given
done
run "$bin/sample" --length 12 --prompt-file prompt.txt softmax
check '--prompt-file reads a file' same out given
printf 'the linnet\r\n' >ends.txt
piped ends.txt
check 'a last line end of CR LF does not belong to the prompt' same out given
sample --length 12 && cp out unprompted
: >nothing.txt
piped nothing.txt
check 'an empty file on standard input is no prompt' same out unprompted
"$bin/sample" --length 12 softmax >out 2>err <&-
check 'a closed standard input is no prompt' eval 'same out unprompted && [ ! -s err ]'
sleep 4 | "$bin/sample" --length 12 softmax >out 2>err
check 'a pipe that stays silent is waited for, with a message' \
    eval 'same out unprompted && says "waiting for a prompt on standard input"'
piped prompt.txt --prompt 'one lark' && cp out other
sample --length 12 --prompt 'one lark'
check 'with --prompt, standard input is not read' same out other
piped prompt.txt --prompt ''
check "--prompt '' is no prompt" same out unprompted
printf 'the linnet\nsings here\n\n' >two.txt
run "$bin/sample" --length 0 --prompt-file two.txt --json softmax
check 'a prompt has its line ends but the last' prints '"prompt": "the linnet.nsings here.n"'
piped prompt.txt --stop linnet
check '--stop does not end a prompt from standard input' eval 'head -n 1 out | grep -q "^the linnet"'
piped prompt.txt --json
check '--json has the prompt from standard input' eval 'is_json && prints "\"prompt\": \"the linnet\""'
piped nothing.txt --json
check '--json has null for an empty input' eval 'is_json && prints "\"prompt\": null"'
printf '/length 12\n\n' | "$bin/sample" --interactive --prompt-file prompt.txt softmax >out 2>err
check 'a session begins with --prompt-file' eval 'head -n 1 out | grep -q "^the linnet"'
yes 'the linnet sings here' | head -n 2000 >long.txt
piped long.txt --length 3
check 'a prompt may be longer than the context' begins out long.txt
printf 'a\000b' | "$bin/sample" --length 0 bytes >out 2>err
check 'zero bytes of a prompt are kept for a model of bytes' eval 'printf "a\000b\n" | same - out'
printf 'a\000b' | "$bin/sample" --length 0 --json bytes >out 2>err
check '--json has them' prints '"prompt": "a.u0000b"'
printf 'the linnet\na\000b\n' >zero.txt
piped zero.txt --lines
check 'a model of words refuses zero bytes, and says where' \
    eval 'exits 1 && [ ! -s out ] && says "standard input:2: binary data at byte 12"'
refused 'sample refuses a prompt file that is not UTF-8' 1 'latin.txt:1: invalid UTF-8' \
    eval "printf 'caf\\351\n' >latin.txt; '$bin/sample' --prompt-file latin.txt softmax"
refused 'sample refuses a missing prompt file' 1 'nowhere: cannot open' \
    "$bin/sample" --prompt-file nowhere softmax

printf 'the linnet\n\none lark\r\nthe linnet' >lines.txt
for prompt in 'the linnet' '' 'one lark' 'the linnet'; do
    sample --length 12 --count 2 --prompt "$prompt" && cat out && echo ---
done | sed '$d' >each
piped lines.txt --lines --count 2
check '--lines makes the texts that each prompt has alone' same out each
run "$bin/sample" --length 12 --count 2 --lines --prompt-file lines.txt softmax
check '--lines cuts --prompt-file' same out each
piped lines.txt --lines --json --count 2
check '--lines --json is JSON' is_json
check '--lines --json has an object for each prompt' \
    [ "$(grep -c '"prompt": "' out) $(grep -c '^{"text"' out)" = '4 8' ]
piped nothing.txt --lines
check '--lines of an empty input prints nothing' eval 'exits 0 && silent'
piped nothing.txt --lines --json
check '--lines --json of an empty input is an empty array' eval 'is_json && [ "$(tr -d "\n" <out)" = "[]" ]'
piped lines.txt --lines --show-probs
check '--lines prints one legend' [ "$(grep -c probability out)" -eq 1 ]
for options in '--prompt a --prompt-file b' '--lines --interactive' '--prompt - --interactive' \
    '--prompt-file - --interactive' '--lines --prompt a'; do
    # shellcheck disable=SC2086
    refused "sample refuses $options" 2 'give only one of them\|leave --' \
        "$bin/sample" $options softmax
done

# --- stop texts ---

# before TEXT FILE: the file up to the first TEXT.
before() {
    awk -v stop="$1" '{ all = all between $0; between = "\n" }
        END { at = index(all, stop); printf "%s", at ? substr(all, 1, at - 1) : all }' "$2"
}
ends_before() { [ "$(cat out)" = "$(before "$1" first)" ] && [ "$(cat out)" != "$(cat first)" ]; }
longest=$(tr -s ' ' '\n' <first | awk '{ print length, $0 }' | sort -rn | sed -n '1s/.* //p')
sample --seed 3 --stop "$longest"
check '--stop ends the text before a word' ends_before "$longest"
check '--stop prints no more than that' [ ! -s err ]
between=$(head -n 1 first | sed 's/^[^ ]*\(. .\).*/\1/')
sample --seed 3 --stop "$between"
check '--stop finds a text that is spread over tokens' ends_before "$between"
sample --seed 3 --stop '\n'
check '--stop \n ends the text with its first line' [ "$(cat out)" = "$(head -n 1 first)" ]
sample --seed 3 --stop "$longest" --stop zzz --stop "$between"
check 'of several stop texts the first one counts' \
    eval 'ends_before "$longest" || ends_before "$between"'
sample --seed 3 --stop zzz
check 'a stop text that does not come changes nothing' same out first
sample --prompt 'the linnet' --stop linnet --length 0
check '--stop does not end the prompt' [ "$(cat out)" = 'the linnet' ]
sample --count 71 --stop '\n'
check '--stop ends each of several texts' \
    [ "$(awk 'NF && wanted { print } { wanted = $0 == "---" } NF && NR == 1' many)" = \
        "$(grep -v '^---$' out)" ]
sample --seed 3 --stop "$longest" --show-probs
check '--stop hides the probabilities of what it hides' \
    [ "$(grep -o '\[[0-9.e-]*\]' out | wc -l)" -eq \
        "$(before "$longest" first | tr ' \n' '\n\n' | grep -c .)" ]
refused 'sample refuses a stop text with an unknown escape' 2 'backslash' \
    "$bin/sample" --stop 'a\d' softmax

run "$bin/sample" --length 2000 --temperature 1 bytes
check 'a model of bytes generates valid UTF-8' iconv -f UTF-8 -t UTF-16 out -o /dev/null
check 'a character that stays incomplete is U+FFFD' prints "$lost"
run "$bin/sample" --length 0 --prompt "$(printf 'b\360\237\220\246\360\237')" bytes
check 'an incomplete character at the end is U+FFFD' \
    [ "$(cat out)" = "b$bird$lost" ]
train letters-of-birds --tokens byte --steps 200 birds.txt
run "$bin/sample" --length 200 letters-of-birds && cp out first
run "$bin/sample" --length 200 --stop "$bird" letters-of-birds
check '--stop finds a character of several tokens' ends_before "$bird"

# --- JSON ---

texts_of() { sed -n 's/^{"text": "\(.*\)", "finish_reason".*/\1/p' out; }
counts_of() {
    sed -n "s/^{\"text.*\"$1\": \[\([^]]*\)\].*/\1/p" out | tr -cd ',\n' |
        awk '{ printf "%d ", length + 1 }'
}
sample --prompt 'the linnet' --count 3 && sed '/^$/d' out >plain
sample --prompt 'the linnet' --count 3 --json --show-probs
check '--json is JSON' is_json
check '--json has the prompt and the settings' \
    eval 'prints "\"prompt\": \"the linnet\"" && prints "\"top_k\": 0" && prints "\"seed\": 1"'
printf '%b\n' "$(texts_of | sed 's/^/the linnet/; 2,$s/^/---\n/')" | sed '/^$/d' >same.texts
check '--json has the same texts, without the prompt' same same.texts plain
check '--json has the number of tokens' [ "$(grep -c '"tokens": 30,' out)" -eq 3 ]
check '--json has the ids of tokens' [ "$(counts_of token_ids)" = '30 30 30 ' ]
check '--json has log-probabilities' [ "$(counts_of log_probabilities)" = '30 30 30 ' ]
check '--json has texts that ended with --length' \
    [ "$(grep -c '"finish_reason": "length"' out)" -eq 3 ]
sample --json --count 100 --stop '\n' --stop ' sings' --prompt 'the cuckoo'
check '--json --count 100 is one JSON object' is_json
check '--json has 100 texts' eval '[ "$(texts_of | wc -l)" -eq 100 ]'
check '--json has texts that ended with a stop text' prints '"finish_reason": "stop"'
check '--json has no text with a stop text' eval '! texts_of | grep -q -e sings -e "\\\\n"'
check '--json has the stop texts' prints '"stop": \["\\n", " sings"\]'
check '--json has log-probabilities only with --show-probs' fails prints log_prob
check 'notices are not part of the JSON' says 'cuckoo'
run "$bin/sample" --json --length 300 --temperature 1 --prompt "$(printf 'b\360')" bytes
check '--json has valid UTF-8' eval 'is_json && iconv -f UTF-8 -t UTF-16 out -o /dev/null'
check '--json has ids for bytes that make no character' prints '"tokens": 300,'
sample --json --length 0 --show-probs
check '--json of no tokens is JSON' eval 'is_json && prints "\"log_probabilities\": \[\]"'
refused '--json and --columns exclude each other' 2 'give only one' \
    "$bin/sample" --json --columns softmax
refused '--json and --interactive exclude each other' 2 'give only one' \
    "$bin/sample" --json --interactive softmax
refused 'sample refuses --json for texts longer than memory' 2 '--json keeps' \
    "$bin/sample" --json --length 1000000000 softmax

# --- sessions ---

session() { "$bin/sample" --interactive softmax >out 2>err; status=$?; }
words() { tr -s ' \n' '\n\n' <"$1"; }
sample --length 12 --prompt 'the linnet' && words out >whole
printf '/length 6\nthe linnet\n\n' | session
check 'an interactive session works' exits 0
check 'a session confirms a changed setting' eval 'head -n 1 out | grep -q "^length  *6\$"'
tail -n +2 out >rest && words rest >halves
check 'an empty line in a session continues the text' same halves whole
sample --length 30 --seed 3 && cp out first
printf '/length 30\n/seed 3\n/stop "%s"\n\n' "$between" | session
tail -n +4 out >rest && mv rest out
check '/stop ends the text of a session' ends_before "$between"
printf '/length 30\n/stop \\n\n\n\n' | session
check 'an empty line goes on behind the stop text' \
    eval 'sample --seed 1 && head -n 2 out >rest' # two lines of the text without --stop
printf '/length 30\n/stop \\n\n\n\n' | session
tail -n +3 out >halves
check 'a text goes on as it would without --stop' same halves rest
printf '/count 2\n/stop s\n\n\n' | session
check 'a session says when all texts have ended' says 'have ended before a stop text'
printf '/stop zz\n/stop a\\\n/stop\n/stop ""\n/stop\n' | session
check 'an invalid /stop changes nothing' [ "$(sed -n 2p out | tr -s ' ')" = 'stop zz' ]
check '/stop "" removes the stop text' [ "$(sed -n 4p out | tr -s ' ')" = 'stop ' ]
printf '/help\n' | session
for name in stop repetition-penalty; do
    check "/help lists /$name" prints "^  /$name "
done
printf 'the linnet\n/length\nthe linnet\n' | session && grep -v '^length' out >whole
printf 'the linnet\n/seed\nthe linnet\n' | session && grep -v '^seed' out >halves
check 'asking for the seed changes nothing' same whole halves
printf 'the linnet\r\n' | session && cp out whole
printf 'the linnet\n' | session
check 'a session takes lines that end in CR LF' same whole out
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

make_large softmax
refused 'sample refuses predictions that are not finite' 1 'predictions are not finite' \
    "$bin/sample" large
refuses_wrong_runs sample
reports_full_disk sample softmax

count_cases
