#!/bin/sh
# Tests compare: tables, JSON, CSV, Markdown, pictures.
. "$(dirname -- "$0")/../commands.sh"

explains_itself compare
train softmax text.txt
train linear --attn linear text.txt
train seed --seed 2 text.txt
best=$(best_loss softmax)

# --- text, JSON, CSV ---

run "$bin/compare" softmax linear
check 'compare works' exits 0
check 'compare prints both runs' eval "prints '^softmax' && prints '^linear'"
check 'compare prints no control characters' is_plain
run "$bin/compare" --json softmax linear
check 'compare --json is JSON' is_json
check 'compare --json has both runs' eval "prints '\"softmax\"' && prints '\"linear\"'"
check 'compare --json has the best loss' near "$(field best_val_loss)" "$best" 1e-6
for key in groups differences settings scores seeds standard_deviation peak_mb; do
    check "compare --json has $key" prints "\"$key\": "
done
works 'compare --csv works' "$bin/compare" --csv softmax linear seed
check 'compare --csv prints a header, ending with the settings that differ' eval \
    "head -n 1 out | grep -q '^name,path,kind,learning_rate,context,seed,parameters,tokens,corpus,diverged,.*,best_val_loss,.*,group\$'"
check 'compare --csv prints a row for each run' eval \
    "lines out 4 && prints '^softmax,softmax,softmax,0.0[0-9]*,16,1,[0-9]*,[0-9]*,text.txt,false,' &&
    prints '^seed,.*,softmax and 1 more\$'"
sed 's/^dropout = .*/dropout = 0.5/; s/^tokens = .*/tokens = char/' softmax/settings.conf >dropped.conf
cp -r softmax dropped && mv dropped.conf dropped/settings.conf
run "$bin/compare" --csv softmax dropped
check 'compare --csv has every setting that differs' eval \
    "head -n 1 out | grep -q ',group,dropout,tokenizer\$' && prints ',dropped,0.5,char\$'"
run "$bin/compare" --json softmax dropped
check 'compare --json has the columns of --csv' eval \
    "prints '\"kind\": \"softmax\", \"learning_rate\": 0.0[0-9]*, \"context\": 16, \"seed\": 1,' &&
    prints '\"group\": \"dropped\"'"
rm -r dropped
works 'compare --csv-log works' "$bin/compare" --csv-log softmax linear
check 'compare --csv-log prints a header' \
    [ "$(head -n 1 out)" = "run,group,seed,step,epoch,tokens,seconds,\
train_loss,val_loss,tokens_per_second,peak_mb,corpus,val_bits_per_byte,val_tokens,final_val_loss,val_accuracy,match_loss" ]
check 'compare --csv-log prints every row of the logs' lines out 17
check 'compare --csv-log prints the rows of both runs' \
    eval "prints '^softmax,softmax,1,5,' && prints '^linear,linear,1,40,'"
for two in '--json --csv' '--markdown --json' '--csv --markdown'; do
    # shellcheck disable=SC2086
    refused "compare prints one thing at a time: $two" 2 \
        '--json, --csv, --csv-log and --markdown: give only one' "$bin/compare" $two softmax
done
refused 'compare refuses --reach where it has no effect' 2 '--reach has no effect' \
    "$bin/compare" --reach 5 --markdown softmax
refused 'compare refuses a --title without --svg' 2 '--title has no effect without --svg' \
    "$bin/compare" --title Curves softmax
refused 'compare refuses a --reach that is not a number' 2 "'soon' is not a number" \
    "$bin/compare" --reach 5,soon softmax
run "$bin/compare" --reach 100,0.001 softmax
check 'compare --reach shows the epochs to each loss' \
    eval "prints 'to 100  *to 0.001' && prints '^softmax .* - '"
run "$bin/compare" softmax linear
check 'compare says that one seed is no evidence' prints 'One seed each'
run "$bin/compare" --width 120 softmax seed linear
check 'compare groups runs that differ in the seed' prints '^softmax.* 1 more  *softmax  *2 '
check 'compare compares a group with other runs' prints 'linear (1 seed): '
run "$bin/compare" --no-group softmax seed
check 'compare --no-group lists every run' eval "prints '^softmax ' && prints '^seed '"
run env LC_ALL=C.UTF-8 "$bin/compare" --color always --width 40 --height 12 softmax seed linear
check 'compare fits --width' \
    [ "$(sed "s/$escape\[[0-9;]*m//g" out | LC_ALL=C.UTF-8 wc -L)" -le 40 ]

# --- several corpora, odd runs ---

sed 's/^corpus = .*/corpus = other.txt/' softmax/settings.conf >other.conf
cp -r softmax other && mv other.conf other/settings.conf
cp -r softmax resized
sed 's/^\(# validation text: .* tokens, \)[0-9]*/\17/' softmax/settings.conf >resized/settings.conf
sed -i 's/^seed = .*/seed = 9/' resized/settings.conf
run "$bin/compare" softmax resized
check 'compare does not mix two texts of one name' prints 'validation text of 7 bytes'
run "$bin/compare" softmax other linear
check 'compare shows each corpus under a heading' eval \
    "prints '^other\.txt$' && [ \"\$(grep -c '^run ' out)\" -eq 2 ]"
check 'compare warns of different texts' says 'on different texts or tokens (text.txt; other.txt)'
check 'compare compares within a corpus' fails prints '^ *other (1 seed)'
run "$bin/compare" --markdown softmax other linear
check 'compare --markdown has a heading for each corpus' prints '^### other\\\.txt$'
works 'eval scores a run of another corpus' "$bin/eval" --split test other text.txt
cp -r other third
sed -i 's/^corpus = .*/corpus = third.txt/' third/settings.conf
sed -i '2s/,\([0-9]*\),\([0-9]*\),/,\1,7,/' third/scores.csv
run "$bin/compare" --width 200 other third
check 'compare shows the test scores of each corpus' eval \
    "[ \"\$(grep -c ' test ppl ' out)\" -eq 2 ] && prints 'stride 7'"
run "$bin/compare" --html page.html other third
check 'the page says how each corpus was tested' grep -q 'third.txt: Test .* stride 7' page.html
rm -r third other/scores.csv
refused 'compare refuses the width of JSON' 2 'no effect with --json' \
    "$bin/compare" --json --width 40 softmax
run "$bin/compare" --json other softmax linear
check 'compare --json compares within a corpus' prints '"base": 1, "other": 2'
run "$bin/compare" --svg one.svg softmax other
check 'compare --svg says that it shows one corpus' grep -q 'one.svg: shows .* only; to draw another section' err
make_large softmax
run "$bin/compare" --html page.html large
check 'the page says why a model has no sample' \
    eval 'exits 0 && grep -q "predictions are not finite" page.html'
run "$bin/compare" --html page.html softmax other
check 'the page has both corpora' grep -q '"corpora":\[{"name":.*},{"name":"other.txt"' page.html
awk -F , -v OFS=, 'NR > 1 && $7 != "" && seen++ { $7 = "" } { print }' softmax/log.csv >few.csv
cp -r softmax one-val && mv few.csv one-val/log.csv
run "$bin/compare" one-val
check 'compare draws the training loss of a run with one validation' prints 'one-val (train)'
awk -F , -v OFS=, 'NR > 1 { $6 = "nan" } { print }' softmax/log.csv >nan.csv
cp -r softmax wild && mv nan.csv wild/log.csv
run "$bin/compare" wild linear
check 'compare marks a diverged run' \
    eval "prints '^wild .*diverged' && grep -q 'wild: diverged' err"
rm -r other one-val wild

# --- different tokenizers, parts of the validation text ---

train spelled --eval-every 5 --tokens char text.txt
train twice --eval-every 3 --eval-tokens 20 text.txt
run "$bin/compare" --width 200 softmax spelled
check 'compare compares different tokenizers by bits per byte' \
    eval "prints 'The tokenizers differ' && prints '^validation bits per byte$' &&
    [ \"\$(grep -c '^run ' out)\" -eq 1 ]"
run "$bin/compare" --y loss softmax spelled
check 'compare --y loss draws losses nevertheless, with a warning' eval \
    "prints '^validation loss (nats per token)$' && says 'which do not compare'"
cp -r softmax words && cp -r spelled letters
for name in words letters; do
    works "eval scores $name" "$bin/eval" --split test "$name" text.txt
done
run "$bin/compare" --width 200 --reach 2.5,0 words letters
check 'compare compares test scores of different tokenizers in bits per byte' \
    eval "prints ' test bpb ' && prints 'Test bits per byte: [0-9]* bytes' && ! says 'test score'"
check 'compare names in what groups differ besides the model' eval \
    "says 'tokenizer (tokens word, char)' && says 'recipe (eval-every 0, 5)'"
run "$bin/compare" --json words letters
check 'compare --json has bits per byte of test scores' \
    eval "is_json && prints '\"test_unit\": \"bits per byte\"' &&
    prints '\"bits_per_byte\": [0-9.]*' && prints '\"test_difference\": [0-9.-]'"
cut -d , -f 1-12 words/scores.csv >old.csv && mv old.csv words/scores.csv
run "$bin/compare" --width 200 words letters
check 'compare says that a score of an earlier version has no bytes' \
    says 'words: its test score does not say how many bytes'
rm -r words letters
run "$bin/compare" --json softmax spelled
check 'compare --json has bits per byte' \
    eval "is_json && prints '\"best_val_bits_per_byte\": [0-9.]*, ' &&
    prints '\"unit\": \"bits per byte\"'"
sed '/^# validation text/d' softmax/settings.conf >settings.conf
cp -r softmax before && mv settings.conf before/settings.conf
run "$bin/compare" before spelled
check 'compare separates tokenizers if a run does not know its bits per byte' \
    eval "prints '^text.txt, tokens = word$' && prints '^text.txt, tokens = char$'"
run "$bin/compare" softmax twice
check 'compare marks a loss of a part of the validation text' eval \
    "prints '^twice .*[0-9]~ ' && prints '^~: on a part of the validation text' ||
    [ \"\$(best_loss twice)\" = \"\$(tail -n 1 twice/log.csv | cut -d , -f 7)\" ]"
check 'compare says that the chart shows losses of a part' \
    prints '^validation loss on a part (nats)$'
run "$bin/compare" --csv-log twice
check 'compare --csv-log has the tokens of each loss' prints ',[0-9.]*,[0-9]*,[0-9.]*$'
rm -r before

# --- pictures ---

works 'compare --svg works' "$bin/compare" --svg chart.svg softmax seed linear
check 'compare --svg draws a band for a group' grep -q 'class="band' chart.svg
works 'compare --title works' "$bin/compare" --svg chart.svg --title 'One <title>' softmax linear
check 'the picture has the title' grep -q '<title>One &lt;title&gt;</title>' chart.svg

# --- Markdown, and test losses over seeds ---

same_cells() { awk -F '[|]' 'NR == 1 { cells = NF } NF != cells { exit 1 }' out; }
cp -r softmax pair-1 && cp -r seed pair-2 && cp -r linear lone
rm -f pair-1/scores.csv pair-2/scores.csv lone/scores.csv
works 'compare --markdown works' "$bin/compare" --markdown pair-1 lone
check 'compare --markdown prints a table with a row for each run' \
    eval 'lines out 4 && same_cells'
check 'compare --markdown prints titles' \
    prints '^| run | attn | params | tokens | validation ppl | bits/byte | validation ppl vs'
check 'compare --markdown prints the numbers of each run' \
    eval "prints '^| pair-1 | softmax | [0-9.k]* | [0-9.k]* | [0-9.]* | [0-9.]* | - | ' &&
    prints '^| lone | linear | .* | [0-9.]* | [0-9.]* | [+-][0-9.]* % | '"
for name in pair-1 pair-2 lone; do
    works "eval scores $name for the table" "$bin/eval" --split test "$name" text.txt
done
run env COLUMNS=20 "$bin/compare" --markdown pair-1 pair-2 lone
check 'compare --markdown has columns for seeds and test scores' prints \
    '| params | tokens | seeds | validation ppl | bits/byte | test ppl | test ppl vs. first | .*tokens/s | time | MB |$'
check 'compare --markdown describes the test scores in one line' \
    eval 'lines out 8 && [ -z "$(sed -n 7p out)" ] &&
    prints "^Test perplexity: [0-9]* tokens, window 16, stride 16\.$"'
run "$bin/compare" --json pair-1 pair-2 lone
check 'compare --json is JSON with test losses' is_json
check 'compare --json has mean test losses' prints '"test_loss": {"count": 2, "mean": [0-9.]*, '
check 'compare --json has differences between test losses' \
    prints '"test_difference": -*[0-9.e-]*, "test_low": null'
for seed in 1 2; do
    cp -r "pair-$seed" "more-$seed" && echo 'lr = 0.5' >>"more-$seed/settings.conf"
done
run "$bin/compare" --json pair-1 pair-2 more-1 more-2
check 'compare --json has a confidence interval of test losses' \
    prints '"test_low": -[0-9.]*, "test_high": [0-9.]*, .*"test_verdict": "not told apart"}'
run "$bin/compare" --width 200 --control more pair-1 pair-2 more-1 more-2
check 'compare --control names the group to compare with' eval \
    "prints '^pair .*not told apart' && prints 'loss against more'"
refused 'compare refuses a --control that is not there' 2 'the groups are pair, more' \
    "$bin/compare" --control nothing pair-1 pair-2 more-1 more-2

# --- the forest plot ---

works 'compare --forest works' env LC_ALL=C.UTF-8 "$bin/compare" --width 80 --forest \
    --svg forest.svg --control pair pair-1 pair-2 more-1 more-2 lone
check 'compare --forest has a heading for each idea' eval \
    "prints '^Softmax over the whole past\$' && prints '^Linear attention\$'"
check 'compare --forest marks estimates and intervals' eval \
    "prints '^  more  .*○.* .0.00 %' && prints '^  lone .*○' && ! prints ' \$'"
check 'compare --forest says why an interval is missing' prints 'fewer than two seeds'
check 'compare --forest has parameters and speed' prints 'test perplexity vs. pair, %.* params .*s$'
check 'compare --forest draws a picture' eval "grep -q 'class=\"line hollow' forest.svg &&
    grep -q '>Change of the test perplexity on text.txt against pair<' forest.svg && [ \"\$(tail -n 1 forest.svg)\" = '</svg>' ]"
run env LC_ALL=C "$bin/compare" --forest pair-1 lone
check 'compare --forest keeps to ASCII' eval "is_plain && prints '^  lone .* o '"
refused 'compare --forest has no axes' 2 '--y has no effect with --forest' \
    "$bin/compare" --forest --y loss pair-1 lone

# --- synthetic tasks ---

for pairs in 1 2; do
    for kind in softmax linear; do
        train "$kind-$pairs" --attn "$kind" --context $((3 * pairs + 1)) \
            "recall:pairs=$pairs,keys=4,values=4,lines=400"
    done
done
train linear-again --attn linear --context 4 --seed 2 recall:pairs=1,keys=4,values=4,lines=400
run "$bin/compare" --by pairs --svg by.svg --markdown linear-2 linear-1 softmax-2 softmax-1
check 'compare --by has a column for each value' \
    [ "$(head -n 1 out)" = '| accuracy, % | pairs 1 | pairs 2 |' ]
check 'compare --by has a line for each kind, with its state' \
    prints '^| linear, [0-9.]*k*B | [0-9.]* | [0-9.]* |$'
accuracy() { awk -F , '$14 != "" { a = $14 } END { printf "%.1f", 100 * a }' "$1/log.csv"; }
check 'its cells are the accuracies' prints \
    "^| softmax, .* | $(accuracy softmax-1) | $(accuracy softmax-2) |\$"
check 'compare --by draws a picture' grep -q '>linear, ' by.svg
run "$bin/compare" --by pairs --markdown linear-1 linear-again
check 'compare --by averages seeds' \
    prints "| $(awk -v a="$(tail -n 1 linear-1/log.csv | cut -d , -f 14)" \
        -v b="$(tail -n 1 linear-again/log.csv | cut -d , -f 14)" \
        'BEGIN { printf "%.1f", 50 * (a + b) }') |\$"
refused 'compare --by needs runs on tasks' 2 'pairs: softmax has no setting of this name' \
    "$bin/compare" --by pairs softmax
refused 'compare --by needs a setting of the task' 2 'by length: linear-1' \
    "$bin/compare" --by length linear-1
run "$bin/compare" --by pairs --json --html page.html linear-2 linear-1
check 'compare --by --json has the accuracies' eval \
    "is_json && prints '\"by\": {\"setting\": \"pairs\"' && prints '\"value\": 2.0, \"mean\": '"
check 'the page has the accuracies as well' grep -q '"measure":"accuracy, %"' page.html
refused 'compare --by has no CSV' 2 'leave --csv' "$bin/compare" --by pairs --csv linear-1

# --- numeric settings ---

# with_loss RUN COPY LR SEED FACTOR: a copy with another rate, seed, and multiple of the losses.
with_loss() {
    cp -r "$1" "$2"
    sed -i "s/^lr = .*/lr = $3/; s/^seed = .*/seed = $4/" "$2/settings.conf"
    awk -F , -v OFS=, -v f="$5" 'NR > 1 && $7 != "" { $7 *= f } { print }' "$1/log.csv" \
        >"$2/log.csv"
}
for seed in 1 2; do
    with_loss softmax "by-softmax-1e-3-$seed" 0.001 $seed 1.2
    with_loss softmax "by-softmax-1e-2-$seed" 0.01 $seed 1
    with_loss softmax "by-softmax-1e-1-$seed" 0.1 $seed 1.1
    with_loss linear "by-linear-1e-3-$seed" 0.001 $seed 1.2
    with_loss linear "by-linear-1e-2-$seed" 0.01 $seed 1.1
    with_loss linear "by-linear-1e-1-$seed" 0.1 $seed 1
done
works 'compare --by lr works' "$bin/compare" --by lr --control softmax --svg by.svg \
    by-linear-* by-softmax-*
check 'compare --by has the losses at each rate' \
    prints '^validation loss  lr 0.001  lr 0.01  lr 0.1 .*best$'
check 'compare --by names the best rate of each kind' eval \
    "prints '^softmax .* 0.01$' && prints '^linear .* 0.1 (edge)$' &&
    prints 'linear: lr 0.1 has the lowest' && prints 'try a larger'"
check 'compare --by compares the best ones alone' eval \
    "prints '^softmax-1e-2 ' && prints '^linear-1e-1 ' && ! prints '1e-3' &&
    prints 'loss against softmax-1e-2'"
check 'compare --by draws a line for each kind, and seeds' eval \
    "[ \"\$(grep -c '<path class=\"line' by.svg)\" -eq 2 ] && [ \"\$(grep -c '<circle' by.svg)\" -eq 18 ]"
run "$bin/compare" --by lr --json --html page.html by-linear-* by-softmax-*
check 'compare --by --json has the chosen rates, and every result' eval "is_json &&
    prints '\"best\": 0.01[0-9]*, \"at_edge\": false' && prints '\"best\": 0.1[0-9]*, \"at_edge\": true' &&
    [ \"\$(grep -o '\"result\"' out | wc -l)\" -eq 12 ]"
check 'compare --by --json compares the best ones alone' \
    [ "$(grep -c '"kind": "[a-z]*", "learning_rate"' out)" -eq 4 ]
check 'the page says what was chosen' grep -q '<li>linear: lr 0.1 has the lowest' page.html
run "$bin/compare" --by lr --markdown by-linear-*
check 'compare --by --markdown names the best as well' \
    prints '^- linear: lr 0.1 has the lowest validation loss'
head -n 1 linear/log.csv >by-linear-1e-1-1/log.csv
run "$bin/compare" --by lr --html page.html by-linear-1e-1-1
check 'compare --by waits for validations' exits 0
rm -r by-linear-1e-1-1
for run in by-*; do
    sed -i "s/^dim = .*/dim = 8/; s/^context = .*/context = ${#run}/" "$run/settings.conf"
done
run "$bin/compare" --within lr --markdown --control softmax by-*
check 'compare --within compares each value by itself' eval \
    "[ \"\$(grep -c '^### .*, lr = 0' out)\" = 3 ] &&
        [ \"\$(grep -c '^| softmax.* | - | [0-9.]*k |' out)\" = 3 ] &&
        [ \"\$(grep -c '^| linear.* | [+-][0-9.]* % |' out)\" = 3 ] && fails says 'different texts'"
refused 'compare --within needs a setting' 2 'no run has a setting of this name' \
    "$bin/compare" --within nothing by-linear-*
run "$bin/compare" --by context by-softmax-*
check 'compare --by has a line for each value of other settings' eval \
    "prints '^softmax, lr 0.001 ' && ! prints 'softmax, .*dim'"
refused 'compare --by needs a number' 2 'attn: by-linear-1e-1-2 has no setting' \
    "$bin/compare" --by attn by-linear-*
rm -r by-*

# --- tables of runs ---

{
    echo 'run,validation,test,parameters,tokens_per_second,machine,command'
    for seed in 1 2 3; do
        echo "a/softmax-$seed,4.3$seed,4.2$seed,1200,900,here,bin/train --lr 2e-3 --seed $seed --no-bias ptb.txt"
        echo "a/linear-$seed,4.5$seed,4.4$seed,1200,,here,bin/train --attn linear --lr 2e-3 --seed $seed --no-bias ptb.txt"
        echo "a/gate-$seed,4.4$seed,,1200,,here,bin/train --attn linear --lr 2e-3 --seed $seed --head-gate ptb.txt"
    done
} >table.csv
run "$bin/compare" --markdown table.csv
check 'compare reads a table of runs: settings from the command make groups' eval \
    "prints '| a/softmax | softmax | 1.20k | 3 | 75.*| 68.*| 900 |' && prints '^| a/linear | .* | worse | - |'"
check 'compare takes an option without a value from a command' grep -q '^| a/gate | .* | 3 | 83' out
check 'compare warns of nothing in a table' [ ! -s err ]
for form in --html=page.html --by=lr --within=lr --forest --csv --json --csv-log; do
    run "$bin/compare" "$form" table.csv
    check "compare $form works with a table" exits 0
done
{
    echo run,validation,validation_tokens,validation_bytes,tokens_per_second,state,command
    echo a-32,3,100,200,1000,64,bin/train --context 32 text.txt
    echo a-64,2,100,200,500,64,bin/train --context 64 text.txt
} >times.csv
cut -d , -f 1-4,6- times.csv >slow.csv
works 'compare --by --x time-per-token works' "$bin/compare" --by context --x time-per-token \
    --y bits-per-byte --markdown --svg times.svg times.csv
check 'compare --by --y bits-per-byte counts the bytes of the table' prints '| 2.1640 | 1.4427 |'
check 'compare --x time-per-token puts the values at the points' eval \
    "grep -q 'class=\"label .*>64<' times.svg && grep -q '1.4427 at 2000' times.svg"
refused 'compare --x time-per-token needs --by' 2 'needs --by' \
    "$bin/compare" --x time-per-token times.csv
refused 'compare --x time-per-token needs speeds' 2 'of a-32 no speed is known' \
    "$bin/compare" --by context --x time-per-token slow.csv
{
    echo run,accuracy,state,command
    echo 'x-1,0.5,1024,bin/train --heads 2 recall:pairs=2,keys=8'
    echo 'x-2,0.75,2048,bin/train --heads 1 recall:pairs=2,keys=8'
} >states.csv
run "$bin/compare" --by state --markdown states.csv
check 'compare --by state has a column for each size of the state' eval \
    "prints '^| accuracy, % | state 1024 | state 2048 |' && prints '^| softmax | 50.0 | 75.0 |'"
printf '%s\n' run,validation,command 'x,1,bin/train recall:pairs=2,keys=8' >commas.csv
run "$bin/compare" --csv commas.csv
check 'compare takes all of a command, with its commas' prints '"recall:pairs=2,keys=8"'
echo 'a,b' >other.csv
run "$bin/compare" other.csv
check 'compare says what a table needs' grep -q 'other.csv: not a table of runs: .* command' err
printf 'run,command\nx\n' >short.csv
run "$bin/compare" short.csv
check 'compare names the row that is too short' grep -q '^compare: short.csv:2: ' err

# --- refusals ---

refused 'compare refuses to start without a run' 2 'run' "$bin/compare"
mkdir -p empty
run "$bin/compare" softmax nowhere
check 'compare shows the other runs if one is missing' eval "exits 0 && prints '^softmax '"
check 'compare warns of a missing run' grep -q 'nowhere' err
refused 'compare refuses an empty directory' 1 'empty' "$bin/compare" empty
reports_full_disk compare softmax

count_cases
