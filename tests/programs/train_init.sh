#!/bin/sh
# Tests runs that start from the weights of another: train --init RUN.
. "$(dirname -- "$0")/../commands.sh"

# The model of the parent has two layers, to have everything that --init can meet.
parent='--layers 2 --dim 16 --heads 2 --context 16 --batch 4 --pos rotary'
# shellcheck disable=SC2086
run "$bin/train" $parent --steps 40 --lr 0.01 --warmup 5 --quiet --run parent text.txt
check 'the parent is trained' exits 0
make_text 200 9 | sed 's/lark/owl/g; s/today/tonight/g' >other.txt

# begins_at RUN: the validation loss before the first step.
begins_at() { awk -F , '$1 == 0 { print $7 }' "$1/log.csv"; }
parent_loss=$(best_loss parent)
# tune NAME OPTIONS...: a short run with the parent's weights, whose output is in out.
tune() {
    folder=$1
    shift
    run "$bin/train" --init parent --run "$folder" --steps 6 --batch 4 --lr 0.005 "$@"
}

# --- the function at the start ---

tune same text.txt
check 'a run starts from the weights of another' exits 0
check 'its shape is that of the other' prints '2 layers of 16  2 heads  MLP 64  context 16'
check 'the screen says which weights and whose tokenizer' \
    prints '^Start  *parent/best.safetensors, step 40, validation loss'
check 'the screen says whose tokenizer it is' prints 'tokenizer of that run'
check 'its first validation loss is the last of the other' near "$(begins_at same)" "$parent_loss" 0
check 'it does not print a training loss before the first step' prints '^epoch 0  step 0  validation'
check 'a loss that does not exist is an empty cell' \
    eval 'sed -n 2p same/log.csv | grep -q "^0,0,0,[^,]*,[^,]*,,[0-9.]*,,," && fails grep -q nan same/log.csv'
run "$bin/compare" --csv-log same
check 'compare --csv-log has an empty cell as well' fails prints nan
make_large parent
run "$bin/train" --init large --run hopeless --quiet text.txt
check 'a run that starts from weights without a finite loss ends with a line' \
    eval 'exits 1 && lines err 1 && says "init large: the validation loss of its weights"'
check 'its origin is in settings.conf' \
    grep -q '^# origin: parent/best.safetensors, step 40, validation loss .*, crc32 [0-9a-f]*$' \
    same/settings.conf
check 'its origin is in its checkpoints' [ -n "$(recorded same/last.safetensors origin)" ]

# unchanged NAME PHRASE OPTIONS...: a part is new, and the loss is the parent's.
unchanged() {
    title=$1 phrase=$2
    shift 2
    tune part "$@" text.txt
    check "$title starts without effect" near "$(begins_at part)" "$parent_loss" 1e-5
    check "$title is named" prints "$phrase"
    rm -rf part
}
unchanged 'a residual convolution' 'without effect at the start: convolution' --conv residual
unchanged 'value residual' 'without effect at the start: value residual' --value-residual
unchanged 'n-gram embeddings' 'without effect at the start: n-gram embeddings' --ngrams 3
unchanged 'an output head of its own' 'output head of its own' --no-tied
unchanged 'another dropout' 'tokenizer of that run' --dropout 0.3
unchanged 'the same tokenizer by name' 'tokenizer of that run' --init-tokens run

tune part --attn gated-delta text.txt
check 'another attention kind is allowed' exits 0
check 'another attention kind is named' \
    prints 'attn gated-delta was softmax: the same weights compute another'
check 'parts that change the function are named' prints 'changing the function: convolution'
rm -rf part
tune part --no-qk-norm --head-bias no text.txt
check 'dropped parts are named' prints 'dropped: QK-norm, head bias'
rm -rf part
tune part --context 32 text.txt
check 'the context grows' prints 'context 32$'
rm -rf part

# --- tokenizers ---

tune other other.txt
check 'new words are unknown to the tokenizer of the other' prints 'unknown tokens: [1-9]'
check 'train says what to do about them' says 'unknown to the tokenizer .* --init-tokens text'
count=$(sed -n 's/^# vocabulary: \([0-9]*\) tokens.*/\1/p' parent/settings.conf)
tune own --tokens word other.txt
check 'a tokenizer of its own is learned' prints "$((count - 2)) of $count tokens are also the run's"
check 'the count of shared tokens is recorded' \
    grep -q "^# origin: .*, $((count - 2)) of $count tokens shared$" own/settings.conf
tune own2 --init-tokens text other.txt
check '--init-tokens text is the same as naming the tokenizer' \
    same_numbers own/last.safetensors own2/last.safetensors
"$bin/tokens" train --tokens bpe --vocab-size 280 --out tk text.txt >/dev/null 2>&1
# shellcheck disable=SC2086
run "$bin/train" $parent --steps 2 --quiet --tokenizer-file tk --run filed text.txt
echo 'lr = 0.005' >plain.conf
works 'a preset that names no tokenizer file keeps none of the run' \
    "$bin/train" --quiet --preset plain.conf --init filed --vocab-size 300 --steps 2 --run refiled \
    text.txt
check 'the tokenizer is learned anew' eval '! grep -q "^tokenizer-file" refiled/settings.conf'
echo 'tokenizer-file = tk' >filed.conf
refused 'a tokenizer file that the preset names counts' 2 'tk: a tokenizer from a file learns' \
    "$bin/train" --preset filed.conf --init filed --vocab-size 300 --run none text.txt
tune bytes --tokens char other.txt
check 'tokens of another kind are shared by their text' prints '[1-9][0-9]* of [0-9]* tokens are also'
tune ngrams --ngrams 2 --ngram-rows 64 text.txt
run "$bin/train" --init ngrams --run others --steps 2 --init-tokens text other.txt
check 'n-gram embeddings of other tokens are given up' prints 'n-gram embeddings start anew'
run "$bin/compare" other own
check 'compare tells which runs started from others' prints 'own started from parent/best'
check 'compare knows that the vocabularies differ' prints 'The tokenizers differ'

# --- reproduced, resumed, moved, in series ---

"$bin/train" --quiet --preset own/settings.conf --run again >out 2>err
check 'settings.conf reproduces a run with --init' same_runs own again
tune parts --stop-after 2 --lr 0.003 other.txt
cp -r parts moved
mv parent away
run "$bin/train" --quiet --resume moved
check 'a run resumes without the run that it started from' exits 0
mv away parent
tune whole --lr 0.003 other.txt
check 'a resumed run with --init is bit-identical' same_runs whole moved
check 'a resumed run keeps its origin' grep -q '^# origin: parent' moved/settings.conf
run "$bin/train" --quiet --resume moved --steps 12
check 'a run with --init is extended' [ "$(recorded moved/last.safetensors step)" = 12 ]
tune chain --quiet text.txt
run "$bin/train" --quiet --init chain/last.safetensors --run chain2 --steps 2 text.txt
check 'a checkpoint file serves as well' \
    grep -q '^# origin: chain/last.safetensors, step 6' chain2/settings.conf
tab=$(printf 'a\tb')
cp -r parent "$tab"
run "$bin/train" --quiet --init "$tab" --run tabbed --steps 4 --stop-after 2 text.txt
works 'a run resumes whose origin has a control character in its name' \
    "$bin/train" --quiet --resume tabbed
check 'the origin has the control character as \xNN' \
    grep -q '^# origin: a\\x09b/best.safetensors, step 40' tabbed/settings.conf
tune kinds --attn softmax,linear --quiet text.txt
check 'each run of a series starts from the same weights' \
    grep -q '^# origin: parent' kinds/linear/settings.conf
one=$(awk -F , 'NR == 2 { print $7 }' same/log.csv)
tune threads --threads 1 text.txt
check 'threads change no bit' same_runs same threads
check 'both begin at the same loss' [ "$one" = "$(begins_at threads)" ]
tune steady --lr 0 text.txt
check 'the best model of a run that does not improve is its start' \
    [ "$(recorded steady/best.safetensors step)" = 0 ]

# --- refused ---

refused '--init refuses another shape' 2 '--dim 32 differs from 16 of parent' \
    "$bin/train" --init parent --dim 32 text.txt
refused '--init refuses another number of layers' 2 '--layers 3 differs from 2 of parent' \
    "$bin/train" --init parent --layers 3 text.txt
refused '--init refuses another shape in a series' 2 '--dim 32 differs from 16 of parent' \
    "$bin/train" --init parent --dim 16,32 text.txt
refused '--init and --resume contradict each other' 2 '--init and --resume contradict' \
    "$bin/train" --init parent --resume parent
refused '--init-tokens needs --init' 2 '--init-tokens has no effect' \
    "$bin/train" --init-tokens text text.txt
refused '--init-tokens run refuses another tokenizer' 2 '--vocab-size and --init-tokens run' \
    "$bin/train" --init parent --init-tokens run --vocab-size 9 text.txt
refused '--init refuses a missing run' 1 'nowhere: no such run' \
    "$bin/train" --init nowhere text.txt
echo 'init = nowhere' >lost.conf
refused 'a preset with a missing run is refused alike' 1 'nowhere: no such run' \
    "$bin/train" --preset lost.conf text.txt
refused 'a series refuses a missing run' 1 'nowhere: no such run' \
    "$bin/train" --init nowhere --seed 1,2 text.txt
mkdir empty
refused '--init refuses a directory without a checkpoint' 1 'empty: no checkpoint' \
    "$bin/train" --init empty text.txt
refused '--init refuses a text' 1 'text.txt: not a safetensors file' \
    "$bin/train" --init text.txt text.txt
head -c 3000 parent/best.safetensors >cut.safetensors
refused '--init refuses a damaged checkpoint' 1 'cut.safetensors: ' \
    "$bin/train" --init cut.safetensors text.txt

count_cases
