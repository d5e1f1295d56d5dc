#!/bin/sh
# Tests inspect: text, JSON, page and picture.
. "$(dirname -- "$0")/../commands.sh"

explains_itself inspect
train softmax text.txt
train linear --attn linear text.txt

inspect() { run "$bin/inspect" --text 'the linnet sings here' "$@"; }
for kind in softmax linear; do
    inspect "$kind" && cp out first
    check "$kind: inspect works" exits 0
    check "$kind: inspect warns of nothing" [ ! -s err ]
    check "$kind: inspect shows the likeliest next tokens" prints '^ *2  the  *linnet  *[01][.]'
    check "$kind: inspect has a line for each token and head" lines out 10
    printf 'the linnet sings here\n' | "$bin/inspect" "$kind" >out 2>err
    check "$kind: inspect reads standard input" same out first
    inspect --json "$kind"
    check "$kind: inspect --json is JSON" is_json
    check "$kind: inspect --json has the weights" prints '"weights": \['
done
inspect --layer 1 --head 2 softmax
check 'inspect --layer --head draws that head' prints '^Layer 1, head 2: softmax'
check 'inspect --layer --head draws no other head' fails prints '^Layer 1, head 1'
inspect --html page.html --svg maps.svg linear
check 'inspect writes a page' grep -q '<h1>linear</h1>' page.html
check 'the page of inspect has both heads' [ "$(grep -c '<svg class="map"' page.html)" -eq 2 ]
check 'the page of inspect loads no other files' \
    fails grep -q -e '<script' -e 'src=' -e 'href="[^#]' page.html
check 'inspect --svg writes a picture' [ "$(grep -c '<svg class="map"' maps.svg)" -eq 2 ]

# --- two models side by side ---

inspect --html page.html --svg maps.svg softmax linear
check 'inspect shows two runs' eval 'exits 0 && prints "^  *softmax  *linear" &&
    prints "^softmax\$" && prints "^linear\$" && prints "^ *2  the  *linnet  *[01][.][0-9]*  *[0-9]*  *[01][.]"'
check 'their page has both' eval 'grep -q "<h1>softmax and linear</h1>" page.html &&
    [ "$(grep -c "<svg class=\"map\"" page.html)" -eq 4 ] &&
    [ "$(grep -c "class=\"pair\"" page.html)" -eq 2 ]'
check 'their picture has both' [ "$(grep -c '<svg class="map"' maps.svg)" -eq 4 ]
inspect --layer 1 --head 2 softmax linear
check 'their weights are drawn one after the other' \
    eval 'prints "^softmax: Layer 1, head 2: softmax" && prints "^linear: Layer 1, head 2: linear"'
inspect --json softmax linear
check 'their JSON has both' \
    eval 'is_json && [ "$(grep -o "\"run\": \"[a-z]*\"" out | tr -d "\n")" = "\"run\": \"softmax\"\"run\": \"linear\"" ]'
train short --context 8 text.txt
run "$bin/inspect" --text "$(make_text 5 1 | tr '\n' ' ')" softmax short
check 'both models read what the shorter context holds' says 'only the last 8 are read'
train rotating --attn linear --pos rotary text.txt
inspect --html page.html rotating
check 'the page says why weights are negative' grep -q 'Negative weights of linear.*RoPE rotates' page.html
train other-words --tokens byte text.txt
refused 'inspect refuses another tokenizer beside' 1 'other-words: its tokenizer differs' \
    "$bin/inspect" --text the softmax other-words
refused 'inspect shows no more than three' 2 'give one run, or up to three' \
    "$bin/inspect" --text the softmax linear softmax linear

run "$bin/inspect" --text 'the cuckoo sings' softmax
check 'inspect reports unknown tokens' says '1 unknown token'
run "$bin/inspect" --last 3 --text "$(make_text 5 1 | tr '\n' ' ')" softmax
check 'inspect keeps the end of a text beyond the context length' says 'the last 16 are read'
check 'inspect --last shows the last tokens' says 'the last 3 of 16'
check 'inspect --last sums up earlier tokens in one column' prints '(earlier)'
train bytes --tokens byte text.txt
run "$bin/inspect" --text 'aüb' bytes
check 'inspect shows parts of a character as escapes, and the whole after the last' \
    eval "prints '^ *3  .xc3 *.xbc (' && prints '^ *4  .xbc (\(ü\|.u00fc\)) *b '"
run "$bin/inspect" --json --text 'aüb' bytes
check 'inspect --json names the character that a token completes' \
    eval "is_json && [ \"\$(grep -o '\"completes\": \"[^\"]*\"' out)\" = '\"completes\": \"ü\"' ]"
refused 'inspect refuses a layer that the model lacks' 2 'this model has 1' \
    "$bin/inspect" --text the --layer 2 softmax
make_large softmax
refused 'inspect refuses predictions that are not finite' 1 'predictions are not finite' \
    "$bin/inspect" --text the large
refused 'inspect refuses an empty text' 2 'the text is empty' "$bin/inspect" softmax
refused 'inspect refuses a text that is not UTF-8' 2 'text' \
    "$bin/inspect" --text "$(printf '\377')" softmax
refused 'inspect names a page that it cannot write' 1 'nowhere/page.html' \
    "$bin/inspect" --text the --html nowhere/page.html softmax

count_cases
