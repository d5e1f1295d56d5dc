#!/bin/sh
# Tests what a run does: the files it writes, what it prints, samples, event files, --watch, the
# texts and presets that it takes.
. "$(dirname -- "$0")/../commands.sh"

explains_itself train

# --- training ---

for kind in softmax linear; do
    train "$kind" --attn "$kind" text.txt
    check "$kind: a run trains" exits 0
    check "$kind: --quiet prints nothing" silent
    for file in settings.conf log.csv curves.svg best.safetensors last.safetensors \
        previous.safetensors; do
        check "$kind: training writes $file" [ -s "$kind/$file" ]
    done
    check "$kind: training writes no other files" eval "[ \"\$(ls -A $kind | wc -l)\" -eq 6 ]"
    check "$kind: the log has its header" [ "$(head -n 1 "$kind/log.csv")" = \
        'step,epoch,tokens,seconds,lr,train_loss,val_loss,grad_norm,tokens_per_second,peak_mb,val_bits_per_byte,val_tokens,final_val_loss,val_accuracy,match_loss' ]
    check "$kind: the log has a row every 5 steps" \
        [ "$(cut -d , -f 1 "$kind/log.csv" | tr '\n' ' ')" = \
        'step 5 10 15 20 25 30 35 40 ' ]
    check "$kind: settings.conf records the kind" \
        grep -q "^attn = $kind\$" "$kind/settings.conf"
    for threads in 1 2 3; do
        train "$kind.$threads" --attn "$kind" --threads "$threads" text.txt
        check "$kind: a run with $threads threads is bit-identical" \
            same_runs "$kind" "$kind.$threads"
    done
    check "$kind: the training loss falls" awk -F , 'NR == 2 { first = $6 } { last = $6 }
        END { exit !(last < 0.9 * first) }' "$kind/log.csv"
done

cksum softmax/* >sums.before
refused 'train refuses to overwrite a run directory' 1 'this directory exists' \
    "$bin/train" --run softmax text.txt
cksum softmax/* >sums.after
mkdir empty
refused 'train refuses to make a run of another directory' 1 'not a run to continue' \
    "$bin/train" --run empty text.txt
check 'a refused run changes nothing in that directory' same sums.before sums.after
refused 'train refuses an empty name of a run' 1 'cannot make this directory' \
    "$bin/train" --run= text.txt
run "$bin/train" $small --steps 1 --layers 2 --attn hgrn2+softmax --attn-dropout .1 --run nested/run/ text.txt
check 'the name of a run may end with a slash' eval 'exits 0 && [ -s nested/run/last.safetensors ]'
check 'kinds join that want different position encodings' \
    grep -q '^pos = learned$' nested/run/settings.conf

train seed --seed 2 text.txt
check 'another seed gives another checkpoint' \
    differ seed/last.safetensors softmax/last.safetensors
check 'another seed gives other weights' \
    fails same_numbers seed/last.safetensors softmax/last.safetensors
train eval-every --eval-every 3 text.txt
check '--eval-every changes no weights' \
    same_numbers eval-every/last.safetensors softmax/last.safetensors
train log-every --log-every 1 text.txt
check '--log-every changes no weights' \
    same_numbers log-every/last.safetensors softmax/last.safetensors
train save-every --save-every 3 text.txt
check '--save-every changes no weights' \
    same_numbers save-every/last.safetensors softmax/last.safetensors
train save-minutes --save-minutes 0.000001 text.txt
check '--save-minutes changes nothing' same_runs softmax save-minutes
check '--save-minutes saves between validations' \
    [ "$(recorded save-minutes/previous.safetensors step)" = 39 ]
train no-minutes --save-minutes 0 text.txt
check '--save-minutes 0 saves at validations only' \
    [ "$(recorded no-minutes/previous.safetensors step)" -lt 39 ]
train patience --lr 0 --steps 400 --eval-every 2 --patience 3 text.txt
check '--patience stops a run that does not improve' \
    [ "$(tail -n 1 patience/log.csv | cut -d , -f 1)" -lt 40 ]
cksum patience/* >sums.before
run "$bin/train" --resume patience
check 'a run stopped early has nothing to do' prints 'Nothing to do: the run stopped early'
cksum patience/* >sums.after
check 'resuming a run stopped early changes nothing' same sums.before sums.after

# --- validation on a part of the text ---

train part --eval-every 7 --eval-tokens 20 text.txt
check '--eval-tokens changes no weights' \
    same_numbers part/last.safetensors softmax/last.safetensors
check 'the log has the tokens of each validation' \
    [ "$(awk -F , 'NR > 1 && $7 != "" { print $12 }' part/log.csv | sort -u)" = 32 ]
whole=$(tail -n 1 part/log.csv | cut -d , -f 13)
check 'the whole text is validated at the end' \
    near "$whole" "$(tail -n 1 softmax/log.csv | cut -d , -f 7)" 1e-6
check 'and only there' [ "$(awk -F , 'NR > 1 && $13 != ""' part/log.csv | wc -l)" -eq 1 ]
check 'settings.conf records the part' grep -q '^# validation part: 32 tokens$' part/settings.conf
check 'and the bytes of the text' grep -q \
    "^# validation text: [0-9]* tokens, $(sed -n '181,190p' text.txt | wc -c) bytes, 0 unknown$" \
    part/settings.conf
check 'curves.svg says that it shows a part' grep -q 'validation on a part' part/curves.svg
train part.1 --eval-every 7 --eval-tokens 20 --threads 1 text.txt
check 'validation on a part is bit-identical with one thread' same_runs part part.1
for first in 6 17 39; do
    rm -rf part.2
    train part.2 --eval-every 7 --eval-tokens 20 --stop-after $first text.txt
    resume part.2
    check "validation on a part is bit-identical after a stop at $first" same_runs part part.2
done
refused '--eval-tokens stays as it is in a resumed run' 2 'this run was started with 20' \
    "$bin/train" --resume part.2 --eval-tokens 40
# shellcheck disable=SC2086
run "$bin/train" $small --steps 20 --eval-every 5 --eval-tokens 20 --run shown text.txt
check 'the screen marks losses of a part' \
    eval "prints 'validation on a part of the text, 32 of [0-9]* tokens' &&
    prints ' validation (part) [0-9.]*  perplexity [0-9.]*  bits/byte [0-9.]* '"
check 'the end tells the loss of the part from that of the whole' \
    eval "prints '^Best validation loss on a part of the text (32 of [0-9]* tokens): ' &&
    prints '^Validation loss on the whole text: '"
rm -rf part.1 part.2 shown

# --- a text that takes a while to load ---

awk 'BEGIN { for (i = 0; i < 420000; i++) print "a line of fifty bytes, which is repeated many times" }' \
    >large.txt
# shellcheck disable=SC2086
run "$bin/train" $small --steps 2 --stop-after 1 --run large large.txt
check 'loading a large text says so in one plain line' \
    eval "exits 0 && [ \"\$(head -n 1 err)\" = 'tokenizing large.txt (22 MB)' ] && is_plain"
check 'standard output has nothing of it' fails prints tokenizing
# shellcheck disable=SC2086
run "$bin/train" $small --quiet --steps 2 --stop-after 1 --run large.quiet large.txt
check 'with --quiet it says nothing' silent
rm -rf large.txt large large.quiet

# --- samples, event files and --watch ---

events() { ls "$1" | grep -c '^events.out.tfevents.'; }
train watched --eval-every 7 --sample-every 2 --tensorboard --dropout 0.1 text.txt
check 'a run with samples and event files trains' exits 0
check '--quiet prints no samples' silent
train unwatched --eval-every 7 --dropout 0.1 text.txt
check 'samples and event files do not change the run' same_runs watched unwatched
check 'a sample is written at every other validation' \
    [ "$(sed -n 's/^# step \([0-9]*\), epoch .*/\1/p' watched/samples.txt | tr '\n' ' ')" = \
    '14 21 30 40 ' ]
check 'a run writes one event file' [ "$(events watched)" -eq 1 ]
check 'the event file names its scalars' \
    grep -a -q 'val/perplexity' watched/events.out.tfevents.*
check 'the event file has bits per byte' grep -a -q 'val/bits_per_byte' \
    watched/events.out.tfevents.*
check 'the event file holds the samples' grep -a -q -F "$(sed -n 2p watched/samples.txt)" \
    watched/events.out.tfevents.*
check 'curves.svg is a complete picture' grep -q '</svg>' watched/curves.svg
train parts --eval-every 7 --sample-every 2 --tensorboard --dropout 0.1 --stop-after 17 text.txt
resume parts --sample-every 2 --tensorboard
check 'in two sessions, the run is bit-identical' same_runs watched parts
check 'in two sessions, the samples are the same' same watched/samples.txt parts/samples.txt
check 'in two sessions, there are two event files' [ "$(events parts)" -eq 2 ]
rm -rf parts
train parts --eval-every 7 --sample-every 2 --dropout 0.1 --average tail --average-from 0 text.txt
check 'samples come from the averaged weights' \
    [ "$(sed -n '/^# step 40/,$p' parts/samples.txt)" != \
    "$(sed -n '/^# step 40/,$p' watched/samples.txt)" ]
rm -rf parts
# shellcheck disable=SC2086
run "$bin/train" $small --steps 10 --sample-every 1 --run samples text.txt
check 'train prints samples' prints "$(sed -n 2p samples/samples.txt)"
check 'train keeps samples in samples.txt' grep -q '^# step 10, ' samples/samples.txt
refused 'train refuses --watch without a terminal' 1 '--watch needs a terminal' \
    "$bin/train" --watch --run none text.txt
refused 'train refuses --watch without a terminal for several models' 1 '--watch needs a terminal' \
    "$bin/train" --watch --attn softmax,linear --run none text.txt
refused 'train refuses --watch with --quiet' 2 '--watch and --quiet' \
    "$bin/train" --watch --quiet --run none text.txt
if command -v script >/dev/null 2>&1 && script -qec true /dev/null >/dev/null 2>&1; then
    script -qec "stty rows 24 cols 80; TERM=xterm LANG=C NO_COLOR=1 \
        '$bin/train' $small --steps 2000 --eval-every 500 --sample-every 1 \
        --watch --run view text.txt" /dev/null >out 2>err </dev/null
    status=$?
    check '--watch works on a terminal' exits 0
    tr "$escape" '\n' <out | tr -d '\r' >sequences
    check '--watch switches to the alternate screen' grep -q '^\[?1049h' sequences
    check '--watch leaves that screen and prints the result' \
        eval "sed -n '/^\[?1049l/,\$p' sequences | grep -q 'Best validation loss'"
    check '--watch fits the width of the terminal' fails grep -q '^\[[0-9]*;1H.\{80\}' sequences
    check '--watch uses no colours with NO_COLOR' fails grep -q '^\[[1-9][0-9;]*m' sequences
    check '--watch prints ASCII only in the C locale' \
        fails env LC_ALL=C grep -q '[^ -~]' sequences
    for size in 'cols 0 rows 0' 'cols 1 rows 1' 'cols 65535 rows 65535'; do
        rm -rf view
        script -qec "stty $size; TERM=xterm '$bin/train' $small --steps 40 --sample-every 1 \
            --watch --run view text.txt" /dev/null >out 2>err </dev/null
        status=$?
        check "--watch ends no training on a terminal of $size" \
            eval '[ "$(recorded view/last.safetensors step)" = 40 ] && exits 0'
    done
fi

# --- names of runs, and terminals ---

# shellcheck disable=SC2086
run "$bin/train" $small --steps 10 text.txt
check 'a run without a name gets one' [ -s runs/softmax-text/last.safetensors ]
check 'train prints no control characters to a file' is_plain
check 'train prints where the run is' prints 'runs/softmax-text'
check 'train prints what it trains on' prints 'text.txt'
check 'train prints how much memory it needs' prints '  [0-9]* MB of memory'
check 'train prints the losses of every validation' \
    prints '^epoch [0-9.]*  step [0-9]*  train [0-9.]*  validation '
check 'train shows progress on standard error alone' \
    eval "says 'tokens/s' && fails prints 'tokens/s'"
check 'the warmup is a tenth of a short training' prints '  warmup 1$'
# shellcheck disable=SC2086
run "$bin/train" $small --steps 10 --warmup 5 --quiet text.txt
check 'train warns if the warmup is half of the run' \
    says '--warmup 5 takes half of the training of 10 .* try --warmup 1'
check 'the next run without a name gets another name' \
    [ -s runs/softmax-text-2/last.safetensors ]
rm -r runs
if command -v script >/dev/null 2>&1 && script -qec true /dev/null >/dev/null 2>&1; then
    script -qec "TERM=dumb '$bin/train' $small --steps 10 --run dumb text.txt" /dev/null \
        >out 2>err </dev/null
    check 'a dumb terminal gets no escape sequences' fails grep -q "$escape" out
    script -qec "TERM=xterm NO_COLOR=1 '$bin/compare' softmax linear" /dev/null >out 2>err \
        </dev/null
    check 'compare uses no colours with NO_COLOR' fails grep -q "$escape" out
fi

# --- sources of text ---

same_as_text() { same_numbers "$1/last.safetensors" softmax/last.safetensors; }
# shellcheck disable=SC2086
"$bin/train" $usual --run stdin - <text.txt >out 2>err
status=$?
check 'train reads standard input' eval 'exits 0 && same_as_text stdin'
gzip -c text.txt >packed.txt.gz
train packed packed.txt.gz
check 'train reads a gzip file' eval 'exits 0 && same_as_text packed'
head -n 180 text.txt >three.train.txt
sed -n '181,190p' text.txt >three.valid.txt
tail -n 10 text.txt >three.test.txt
train three three.txt
check 'train reads .train, .valid and .test files' \
    eval 'exits 0 && same_as_text three && same_logs three softmax'
train given --valid three.valid.txt --test three.test.txt three.train.txt
check 'train reads files given by --valid and --test' \
    eval 'exits 0 && same_as_text given && same_logs given softmax'
train toy --steps 2 toy
check 'train reads the toy language' exits 0
check 'a run on the toy language records its entropy' grep -q 'entropy floor' toy/settings.conf

for kind in char byte; do
    train "$kind" --tokens "$kind" text.txt
    check "train reads ${kind}s" exits 0
    works "sample generates ${kind}s" "$bin/sample" --length 20 "$kind"
    refused "sample refuses --detok for ${kind}s" 2 "tokenizer of this one is '$kind'" \
        "$bin/sample" --detok "$kind"
    works "eval scores ${kind}s" "$bin/eval" "$kind" text.txt
done

# --- synthetic tasks ---

task=recall:pairs=2,keys=8,values=8,lines=300
train task --attn gated-delta --conv yes --context 7 --eval-every 20 "$task"
check 'train takes a task' exits 0
check 'the task is recorded' grep -q "^corpus = $task\$" task/settings.conf
check 'the lowest loss of a task is known' grep -q '^# entropy floor: 0 nats$' task/settings.conf
check 'losses of a task are of its answers' grep -q '^# validation text: 2000 tokens' \
    task/settings.conf
check 'the log has the accuracy of each validation' [ \
    "$(awk -F , 'NR > 1 && ($7 != "") != ($14 != "")' task/log.csv | wc -l)" -eq 0 ]
check 'the accuracy is a share' \
    awk -F , '$14 != "" && NR > 1 { n++; if (!($14 > 0 && $14 <= 1)) exit 1 } END { exit n < 2 }' \
    task/log.csv
train stopped --attn gated-delta --conv yes --context 7 --eval-every 20 --stop-after 27 \
    "$task"
resume stopped
check 'a run on a task resumes bit for bit' same_runs task stopped
run "$bin/train" --attn linear --run loud --steps 9 "$task"
check 'the screen shows the accuracy' prints '^epoch .* validation [0-9.]* *accuracy [0-9.]* %'
check 'the last line has the accuracy' prints '^Best validation loss .*(accuracy [0-9.]* %)'
run "$bin/train" --attn linear --run of-part --steps 9 --eval-every 3 --eval-tokens 70 "$task"
check 'so has the loss on the whole text' \
    prints '^Validation loss on the whole text: [0-9.]* (accuracy [0-9.]* %)'
run "$bin/train" --attn linear --quiet --steps 1 "$task"
check 'a run directory is named after the task' \
    [ -d runs/linear-recall-pairs2-keys8-values8-lines300 ]
rm -r runs
refused 'a task has the context of its lines' 2 'a line of recall has 25 tokens' \
    "$bin/train" --context 64 recall
refused 'a task carries no state' 2 'carry-state: each line of recall' \
    "$bin/train" --attn linear --pos none --carry-state recall
refused 'a task has tokens of its own' 2 'tokens: recall is a synthetic task' \
    "$bin/train" --tokens char recall
refused 'settings of a task are checked' 2 "no setting 'pear'" "$bin/train" recall:pear=2

# --- presets ---

preset=article
[ -f "$bin/../models/article.conf" ] || preset=$top/models/article.conf
train preset --preset "$preset" text.txt
check 'train takes a preset' exits 0
check 'a preset sets options' grep -q '^beta2 = 0.95$' preset/settings.conf
check 'the command line overrides a preset' grep -q '^dim = 16$' preset/settings.conf
for preset in "$top"/models/*.conf; do
    train each --preset "$preset" --layers 5 text.txt # as many as any preset names kinds
    check "${preset##*/} trains" exits 0
    rm -rf each
done
shape='--layers 1 --dim 16 --heads 2 --context 16 --batch 4 --steps 3 --warmup 0'
# shellcheck disable=SC2086
{
    works 'the preset llama trains' "$bin/train" --preset "$top/models/llama.conf" $shape \
        --vocab-size 300 --run llama text.txt
    check 'train says that it can be exported as GGUF' prints '^Export  *Hugging Face and GGUF'
    works 'it can' "$bin/export" --gguf llama llama.gguf
    run "$bin/train" $shape --run other text.txt
    check 'train says what llama.cpp lacks of another model' \
        prints '^Export  *Hugging Face; GGUF lacks .*(--qk-norm)$'
    refused 'export refuses that one for the same reason' 1 'llama.cpp has no .*(--qk-norm)$' \
        "$bin/export" --gguf other other.gguf
}

count_cases
