#!/bin/sh
# Tests eval: losses, saved scores, refusals.
. "$(dirname -- "$0")/../commands.sh"
export COLUMNS=300 # a line for each sentence

explains_itself eval
train softmax text.txt
train linear --attn linear text.txt

# --- losses ---

best=$(best_loss softmax)
eval_json softmax text.txt && cp out first
check 'eval works' exits 0
check 'eval --json is JSON' is_json
for key in loss perplexity bits_per_character bits_per_byte nats tokens unknown characters bytes \
    split window stride
do
    check "eval --json has $key" prints "\"$key\": "
done
check 'eval repeats the validation loss of the log' near "$(field loss)" "$best" 1e-4
check 'eval uses the context length as window' [ "$(field window)" = 16 ]
check 'eval prints the perplexity of the loss' near "$(field perplexity)" \
    "$(awk -v loss="$(field loss)" 'BEGIN { printf "%.12g", exp(loss) }')" 1e-6
eval_json softmax text.txt --threads 1 --batch 3
check 'the batch size does not change the loss' near "$(field loss)" "$best" 1e-4
eval_json softmax/best.safetensors text.txt
check 'eval takes a checkpoint file like its run directory' same out first
loss=$(field loss)
eval_json softmax text.txt --stride 4
check '--stride with more context does not raise the loss' eval "near $(field loss) $loss 0.02"
check 'eval --json has the stride used' [ "$(field stride)" = 4 ]
make_text 37 5 >other.txt
tokens=$(awk '{ n += NF + 1 } END { print n }' other.txt)
eval_json softmax text.txt --test other.txt --split test
check 'eval counts every token, including line ends' [ "$(field tokens)" = "$tokens" ]
check 'eval counts every character' \
    [ "$(field characters)" = "$(wc -m <other.txt | tr -d ' ')" ]
check 'eval counts every byte' [ "$(field bytes)" = "$(wc -c <other.txt | tr -d ' ')" ]
check 'eval prints bits per byte' near "$(field bits_per_byte)" \
    "$(awk -v nats="$(field nats)" -v bytes="$(field bytes)" \
        'BEGIN { printf "%.12g", nats / log(2) / bytes }')" 1e-6
eval_json softmax text.txt --split train
check 'eval scores the training split' \
    [ "$(field tokens)" = "$(awk 'NR <= 180 { n += NF + 1 } END { print n }' text.txt)" ]
run "$bin/eval" softmax text.txt
check 'eval prints nats per token' prints 'nats per token'
check 'eval prints no control characters' is_plain
cp -r softmax "$rude"
run "$bin/eval" "$rude" softmax text.txt
check 'eval prints no control characters of a name' eval 'exits 0 && is_plain'
run env COLUMNS=60 "$bin/eval" --paired softmax linear text.txt
check 'eval wraps its lines at the width of the terminal' \
    eval 'exits 0 && prints "^    [a-z0-9]" && ! grep -q ".\{61\}" out'

# --- saved scores ---

cp -r softmax noted
rm -f noted/scores.csv
run "$bin/compare" noted
check 'compare has no test column without test scores' fails prints '  test'
run "$bin/eval" --split test noted text.txt
perplexity=$(sed -n 's/.*perplexity \([0-9.]*\),.*/\1/p' out)
check 'eval saves the score of a run' \
    [ "$(cut -d , -f 1-4 noted/scores.csv | tail -n 1)" = test,16,16,0 ]
run "$bin/eval" --split test noted text.txt
check 'eval saves the score of a repeated evaluation once' lines noted/scores.csv 2
run "$bin/eval" --split test --stride 4 noted text.txt
check 'eval saves the score of another stride as well' lines noted/scores.csv 3
run "$bin/compare" noted
check 'compare shows the test score' prints "  $perplexity "
check 'compare describes how the score was measured' prints 'window 16, stride 16'
cp noted/scores.csv kept.csv
run "$bin/eval" --split test noted/best.safetensors text.txt
check 'eval of a checkpoint file saves no score' same noted/scores.csv kept.csv
echo rubbish >noted/scores.csv
run "$bin/eval" --split test noted text.txt
check "eval leaves a foreign scores.csv unchanged" \
    eval 'exits 0 && says "scores.csv:1: not the scores"'
refused 'compare refuses a foreign scores.csv' 1 'scores.csv:1: not the scores' \
    "$bin/compare" noted

run "$bin/train" --quiet --steps 3 --valid other.txt --test other.txt --run bounded text.txt
rm -f bounded/scores.csv
run "$bin/eval" --json --split test bounded text.txt
check "the run's corpus has the texts that the run had" [ "$(field tokens)" = "$tokens" ]
make_text 60 8 >foreign.txt
rm -f bounded/scores.csv
run "$bin/eval" --json --split test bounded foreign.txt
check "another corpus has texts of its own" [ "$(field tokens)" -lt "$tokens" ]
check "eval saves no score of another corpus" [ ! -e bounded/scores.csv ]

# --- another text of the same name ---

mkdir there
mv foreign.txt there/text.txt
run "$bin/eval" --json --split test bounded there/text.txt
check 'another corpus of the same name has texts of its own' [ "$(field tokens)" -lt "$tokens" ]
check 'eval says that the text is not that of the run' \
    eval '[ ! -e bounded/scores.csv ] && says "bounded: its own test text is another one"'
rm -f noted/scores.csv
for split in train valid test; do
    run "$bin/eval" --split $split noted there/text.txt
    check "eval saves no score of another $split text of the same name" \
        eval 'exits 0 && [ ! -e noted/scores.csv ] && says "noted: its own $split text"'
done
run "$bin/eval" --split test noted text.txt --test there/text.txt
check 'eval saves no score of another test text' \
    eval 'exits 0 && [ ! -e noted/scores.csv ] && says "noted: its own test text"'
run "$bin/eval" --split test linear noted there/text.txt
check 'eval names each run whose text is another one' \
    eval 'says "linear: its own test" && says "noted: its own test" && [ ! -e noted/scores.csv ]'
cp text.txt there/renamed.txt
run "$bin/eval" --split test noted there/renamed.txt
check 'a copy of the text under another name is the text of the run' \
    eval 'lines noted/scores.csv 2 && fails says "noted: "'

# An older run: its checkpoint has no checksum of the test text.
cp -r noted older
LC_ALL=C sed 's/"test_crc32"/"text_crc32"/; s/"header_crc32"/"header_crc--"/; s/"crc32"/"crc--"/' \
    noted/best.safetensors >older/best.safetensors
rm -f older/scores.csv
run "$bin/eval" --split test older text.txt --test there/text.txt
check 'eval saves no score of a test text that may be another one' \
    eval 'exits 0 && [ ! -e older/scores.csv ] && says "older: made by an earlier version"'
run "$bin/eval" --split test older there/text.txt
check 'nor that of a corpus of the same name' \
    eval 'exits 0 && [ ! -e older/scores.csv ] && says "older: made by an earlier version"'
run "$bin/eval" --split test older text.txt
check 'eval takes the test text of an older run on the word of the other two, and says so' \
    eval 'lines older/scores.csv 2 && says "older: made by an earlier version"'

# --- several runs ---

train other --seed 7 text.txt
run "$bin/eval" --json softmax other text.txt
check 'eval averages runs of one text' exits 0
tr '{,' '\n\n' <out | sed -n 's/^ *"loss": //p' >losses # of the average, then of each run
check 'the mean of the single runs stands beside the ensemble' eval '
    [ "$(field ensemble_of)" = 2 ] && near "$(field mean)" \
        "$(awk "NR > 1 && NR < 4 { sum += \$1 } END { printf \"%.12g\", sum / 2 }" losses)" 1e-6'
# The 97.5 % quantile of Student's t with one degree of freedom is 12.706.
check 'its interval is that of a mean over runs' \
    near "$(field high)" "$(awk 'NR > 1 && NR < 4 { sum += $1; d = $1 - d } END {
        if (d < 0) d = -d
        printf "%.12g", sum / 2 + 12.706 * d / 2 }' losses)" 1e-4
check 'the average is better than the mean of the losses' awk '
    NR == 1 { average = $1 }
    NR > 1 { sum += $1 }
    END { exit !(NR == 3 && average > 0 && average < sum / 2) }' losses
run "$bin/eval" softmax other text.txt
check 'eval calls it an ensemble and has the mean of the seeds before it' eval '
    prints "^valid, mean of 2 seeds: loss [0-9.]* ([0-9.]* to [0-9.]*) nats per token, perplexity" &&
    [ "$(sed -n "\$p" out | cut -d : -f 1)" = "valid, ensemble of 2 runs" ]'
run "$bin/eval" softmax other linear text.txt
check 'runs that differ in more than the seed have no mean' \
    eval 'exits 0 && fails prints "mean of" && prints "^valid, ensemble of 3 runs: "'
run "$bin/eval" --json softmax linear text.txt
check 'nor in --json' prints '"single_runs": null'
cp -r softmax twin
run "$bin/eval" softmax twin text.txt
check 'the average of a run with itself is the run' [ \
    "$(sed -n 's/^softmax: \(loss.*\); window.*/\1/p' out | head -n 1)" = \
    "$(sed -n 's/^valid, ensemble of 2 runs: \(loss.*\); .* nats in all/\1/p' out)" ]
run "$bin/eval" --by-position --json softmax softmax/ text.txt
check 'a run that is named twice is scored once' eval 'is_json && fails prints "\"runs\""'
run "$bin/eval" --stride 8 linear other text.txt
check 'eval saves the scores of the runs that it averages' \
    eval 'exits 0 && grep -q "^valid,16,8," linear/scores.csv other/scores.csv'
train bytes --tokens byte text.txt
run "$bin/eval" softmax bytes text.txt
check 'eval averages no predictions of different tokens' \
    eval 'fails exits 0 && says "bytes: its tokenizer or --trim differs from that of softmax"'
refused 'a cache is for one run' 2 '--cache is for the scores of one run' \
    "$bin/eval" softmax other text.txt --cache 100

# --- grids ---

# shellcheck disable=SC2086
run "$bin/train" $usual --attn softmax,linear --seed 1,2 --run grid text.txt
run "$bin/eval" --split test grid text.txt
cp out of_grid
check 'eval scores the runs of a grid one after the other' eval '
    exits 0 && lines out 4 && [ "$(cut -d : -f 1 out | tr "\n" " ")" = \
        "softmax-seed1 softmax-seed2 linear-seed1 linear-seed2 " ]'
cat grid/*/scores.csv >of_grid.csv
for one in softmax-seed1 softmax-seed2 linear-seed1 linear-seed2; do
    run "$bin/eval" --split test "grid/$one" text.txt
    check "the score of $one is that of the run alone" grep -q \
        "^$one: $(sed -n 's/^test: \(loss.*\)/\1/p' out)" of_grid
done
cat grid/*/scores.csv >alone.csv
check 'each has its scores.csv' eval 'lines of_grid.csv 8 && same of_grid.csv alone.csv'
run "$bin/eval" --json --temperature 1.5 grid/grid.json text.txt
check 'eval scores a grid in other ways, too' eval 'is_json &&
    [ "$(grep -o "\"method\": \"temperature\"" out | wc -l)" -eq 4 ] && fails prints ensemble'
run "$bin/eval" --paired grid text.txt
check 'eval compares the runs of a grid' eval 'exits 0 && fails prints ensemble &&
    [ "$(grep -c "^[a-z0-9-]* minus softmax-seed1: " out)" -eq 3 ]'
rm grid/linear-seed2/*.safetensors
run "$bin/eval" grid text.txt
check 'eval says how many runs of a grid cannot be scored yet' \
    eval 'exits 0 && lines out 3 && says "grid: left out 1 run without a checkpoint"'
make_large grid/softmax-seed2
rm -r grid/softmax-seed2 && mv large grid/softmax-seed2
run "$bin/eval" grid text.txt
check 'a run of a grid without a finite loss does not keep eval from the others' \
    eval 'exits 1 && lines out 2 && says "softmax-seed2: its loss on this text is not finite"'
# shellcheck disable=SC2086
run "$bin/train" $usual --tokens word,byte --run tokens text.txt
run "$bin/eval" tokens text.txt
check 'the runs of a grid may have different tokens' \
    eval 'exits 0 && [ "$(cut -d : -f 1 out | tr "\n" " ")" = "tokensword tokensbyte " ]'
rm tokens/*/*.safetensors
refused 'a grid without a checkpoint is an error' 1 'tokens/grid.json: no run of this grid' \
    "$bin/eval" tokens text.txt

# --- by position in the window, and paired ---

run "$bin/eval" --by-position --svg position.svg softmax linear text.txt
check 'eval --by-position has a row for each doubling, a column for each run' \
    eval 'exits 0 && prints "^position  *tokens  *softmax  *linear" && prints "^5-8  *[0-9]* *[0-9]\.[0-9]" &&
    prints "^9-16  *[0-9]*  *[0-9]\.[0-9]" && ! prints "^16 "'
check 'with no ensemble' fails prints ensemble
train longer --context 32 --pos rotary text.txt
train odd --context 12 --pos rotary text.txt
run "$bin/eval" --by-position softmax longer odd text.txt
check 'windows that are powers of two share their ranges, and others have rows of their own' \
    eval 'prints "^5-8  *[0-9]*-[0-9]*  *[0-9.]*  *[0-9.]*  *[0-9.]*$" &&
    prints "^9-12  *[0-9]*  *-  *-  *[0-9.]*$" &&
    prints "^9-16  *[0-9]*-[0-9]*  *[0-9.]*  *[0-9.]*  *-$" && prints "^17-32  *[0-9]*  *-  *[0-9.]*  *-$"'
mkdir deep && cp -r softmax deep/kind-softmax-small && cp -r linear deep/kind-linear-small
run env COLUMNS=60 "$bin/eval" --by-position deep/kind-softmax-small deep/kind-linear-small text.txt
check 'columns have the words in which the names differ' prints '^position  *tokens  *softmax  *linear$'
check 'eval --by-position draws a line for each run' \
    eval 'prints "^ a softmax  *b linear" && [ "$(grep -c "class=\"line" position.svg)" -eq 2 ]'
eval_json softmax text.txt
loss=$(field loss) tokens=$(field tokens)
eval_json --by-position softmax text.txt
check 'the losses by position make up the loss' \
    near "$loss" "$(grep -o '"tokens": [0-9]*, "loss": [0-9.]*' out | tr -d , |
        awk '{ nats += $2 * $4; n += $2 } END { printf "%.12g", nats / n }')" 1e-6
check 'every token has a position' [ "$tokens" = \
    "$(grep -o '"tokens": [0-9]*, "loss"' out | tr -d , | awk '{ n += $2 } END { print n }')" ]
eval_json --by-position --paired softmax linear text.txt
check 'eval --by-position --json has the ranges of each run' eval \
    'is_json && [ "$(grep -o "\"from\": 9, \"to\": 16" out | wc -l)" -eq 2 ]'
refused 'positions need windows that do not overlap' 2 'leave --stride 4 out' \
    "$bin/eval" --by-position --stride 4 softmax text.txt
train decaying --attn retention --pos none text.txt
refused 'positions need windows that begin anew' 2 'add --carry-state no' \
    "$bin/eval" --by-position --carry-state yes decaying text.txt
refused 'a chart of positions needs the positions' 2 '--svg only has an effect' \
    "$bin/eval" --svg other.svg softmax text.txt
run "$bin/eval" --by-position --svg nowhere/position.svg softmax text.txt
check 'eval names a chart that it cannot write' eval 'exits 1 && says nowhere/position.svg'

eval_json --paired softmax linear text.txt --threads 1 && cp out first
difference=$(field difference)
check 'the difference is that of the losses' \
    near "$difference" "$(grep -o '"loss": [0-9.]*' out |
        awk '{ d = $2 - d } END { printf "%.12g", d }')" 1e-4
check 'its interval is around it' \
    awk -v low="$(field low)" -v d="$difference" -v high="$(field high)" \
    'BEGIN { exit !(low < d && d < high) }'
eval_json --paired softmax linear text.txt --threads 3
check 'the interval does not depend on the threads' same out first
run "$bin/eval" --paired --split train softmax linear twin text.txt
check 'each run is compared with the first' \
    eval 'prints "^linear minus softmax: .* 95 % interval .*, p [0-9.e-]* (Holm [0-9.e-]*): " &&
    prints "^twin minus softmax: .*, p 1 (Holm 1): not told apart"'
check 'eval says what is resampled and corrected, and that seeds are not covered' eval '
    prints "^Paired bootstrap of the 180 lines .* Holm.s correction for 2 comparisons" &&
    prints "cover the text, not the seeds"'
eval_json --paired --split train softmax linear twin text.txt
check 'the correction for two comparisons doubles the smaller p' \
    near "$(grep -o '"p_holm": [0-9.e-]*' out | head -n 1 | cut -d ' ' -f 2)" \
    "$(grep -o '"p": [0-9.e-]*' out | awk 'NR == 1 { p = 2 * $2; print p < 1 ? p : 1 }')" 1e-6
check 'the word follows the corrected p' awk '
    { for (rest = $0; match(rest, /"p_holm": [0-9.e-]*, "verdict": "[a-z ]*"/);
           rest = substr(rest, RSTART + RLENGTH)) {
          split(substr(rest, RSTART, RLENGTH), part, /[:,] /)
          wrong += (part[2] < 0.05) == (part[4] == "\"not told apart\""); pairs++ } }
    END { exit !(pairs == 2 && wrong == 0) }' out
refused '--paired needs two runs' 2 '--paired compares runs' "$bin/eval" --paired softmax text.txt

# --- losses that are not finite ---

make_large softmax
run "$bin/eval" large text.txt
check 'eval refuses a loss that is not finite' \
    eval 'exits 1 && [ ! -s out ] && says "large: its loss on this text is not finite" && lines err 2'
check 'eval saves no such loss' same softmax/scores.csv large/scores.csv
run "$bin/eval" softmax large text.txt
check 'eval averages no predictions that are not finite' \
    eval 'exits 1 && lines out 1 && says "large: its loss on this text is not finite"'
run "$bin/eval" softmax text.txt --dynamic --dynamic-lr 1e6
check 'eval prints a finite loss before one that is not' \
    eval 'exits 1 && prints "^valid: loss" && lines out 2 && says "with --dynamic is not finite"'

# --- refusals ---

refused 'eval refuses a missing corpus' 1 'missing.txt' "$bin/eval" softmax missing.txt
refused 'eval refuses a stride longer than the context' 2 '--stride 20' \
    "$bin/eval" softmax text.txt --context 16 --stride 20
refused 'eval refuses more positions than the model learned' 2 '--context 17' \
    "$bin/eval" softmax text.txt --context 17
refused 'eval explains that its arguments are swapped' 1 'the corpus comes last' \
    "$bin/eval" text.txt softmax
refuses_wrong_runs eval text.txt
reports_full_disk eval softmax text.txt

refused 'eval names the new name of an option' 2 "linnet calls it '--context'" \
    "$bin/eval" softmax text.txt --window 16

# --- synthetic tasks ---

train task --attn softmax --context 7 --pos rotary recall:pairs=2,keys=8,values=8,lines=300
works 'eval scores a task' "$bin/eval" task recall:pairs=2,keys=8,values=8,lines=300
check 'eval says how many answers are right' prints '^2000 answers, [0-9]* of them right'
cp -r task again
run "$bin/eval" --by-position --paired task again recall:pairs=2,keys=8,values=8
check 'a task is resampled by its lines, and its losses are those of answers' eval '
    prints "position in the window, in nats per answer" && prints "^again minus task: +0.0000 nats per answer" &&
    prints "^Paired bootstrap of the 1000 lines"'
first=$(best_loss task)
eval_json task recall:pairs=2,keys=8,values=8
check 'the loss is that of training' near "$(field loss)" "$first" 1e-6
check 'eval --json has the accuracy' \
    awk -v accuracy="$(field accuracy)" 'BEGIN { exit !(accuracy > 0 && accuracy <= 1) }'
check 'the accuracy is saved' grep -q "^valid,7,7,.*,$(field accuracy)[0-9]*\$" task/scores.csv
works 'eval reads longer tasks of the same symbols' \
    "$bin/eval" task recall:pairs=4,keys=8,values=8
check 'the window is the longer line' prints 'window 13, stride 13'
check 'the text of another task is not that of the run' says 'task: its own valid text'
refused 'eval refuses symbols that the model has not' 1 "vocabulary has no 'k8'" \
    "$bin/eval" task recall:pairs=4
refused 'eval refuses a wrong setting of a task' 2 'pairs must be' "$bin/eval" task recall:pairs=0
refused 'eval refuses contradictory options of a baseline' 2 'drop --vocab-size' \
    "$bin/eval" --baseline --tokens byte --vocab-size 300 text.txt
refused 'eval reads a task by lines' 2 'a line of recall has 25 tokens' \
    "$bin/eval" --stride 4 task recall
refused 'a task has no baseline' 2 'are for texts' "$bin/eval" --baseline recall
run "$bin/compare" task
check 'compare shows the accuracy' prints accuracy
run "$bin/compare" --json task
check 'compare --json has the accuracy' prints '"best_val_accuracy": 0\.'

count_cases
