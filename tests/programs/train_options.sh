#!/bin/sh
# Tests the options of train: help, lists of values, and everything that it refuses.
. "$(dirname -- "$0")/../commands.sh"

# --- help ---

# On a processor without AVX; only an emulator can show that, and sanitizers need more memory than
# it has.
if command -v qemu-x86_64 >/dev/null && grep -q '^flags.* avx' /proc/cpuinfo 2>/dev/null &&
    ! grep -q __asan_init "$bin/train"; then
    qemu-x86_64 -cpu qemu64 "$bin/train" --version >out 2>err </dev/null
    status=$?
    check 'a program built for another processor says so' \
        eval 'exits 1 && says "train: built for a processor with .*AVX2.*make PORTABLE=1"'
fi
# What people who come from other programs look for first.
for term in 'gradient clipping' 'early stopping' RoPE 'gradient checkpointing' 'batch size' \
    SWA EMA 'weight decay' 'mixed precision' warmup 'gradient accumulation' 'learning rate' \
    'context length' tokenizer 'label smoothing'; do
    run "$bin/train" --help "$term"
    if [ "$term" = 'label smoothing' ]; then
        check "a search for what is missing says so" eval 'exits 2 && says "no option mentions it"'
    else
        check "train --help knows $term" eval 'exits 0 && prints "^  --"'
    fi
done

for pair in rms_norm_eps=norm-eps rope_theta=rope-base rotary_pct=rope-share batch-size=batch block_size=context learning-rate=lr max-iters=steps n-embd=dim \
    d-model=dim hidden-size=dim grad-clip=clip min-lr=lr-floor out-dir=run config=preset \
    ema=average attention=attn num_workers=threads n_layer=layers; do
    refused "train knows --${pair%=*}" 2 "linnet calls it '--${pair#*=}'" \
        "$bin/train" "--${pair%=*}=3" text.txt
done

for option in device=cuda gpu gpus=1 cuda accelerator=gpu mps n_gpu=2 no-cuda; do
    refused "train --$option has no other processor" 2 'linnet runs on the CPU only: leave it out' \
        "$bin/train" "--$option" text.txt
done

mkdir -p installed/bin installed/share/linnet/models
cp "$bin/train" installed/bin
cp "$top"/models/*.conf installed/share/linnet/models
works 'train --preset help works' installed/bin/train --preset help
check 'train --preset help lists the presets' prints '^ *tiny  *[A-Z]'
refused 'train suggests the preset that was mistyped' 2 "did you mean 'tiny'" \
    installed/bin/train --preset tyni text.txt
refused 'train suggests the kind that was mistyped' 2 "did you mean 'softmax'" \
    "$bin/train" --attn sofmax text.txt
refused 'train refuses an option without effect' 2 \
    '--momentum has no effect here: it needs --optimizer muon' \
    "$bin/train" --optimizer adamw --momentum 0.9 text.txt
works 'train --attn help works' "$bin/train" --attn help
check 'train --attn help lists both kinds' eval "prints '^ *softmax ' && prints '^ *linear '"
check 'train --attn help lists gated-delta' prints '^gated-delta '
check 'train --attn help groups the kinds' prints '^Delta rule: '
works 'train --attn help mamba2 works' "$bin/train" --attn help mamba2
check 'it describes the layer of its authors' prints 'queries and keys 2/1 as wide'
works 'train --attn help mamba2 --parts common works' "$bin/train" --attn help mamba2 --parts common
check 'it describes the layer with the common parts' \
    eval "prints 'with --parts common' && prints 'RMSNorm of each head' && ! prints 'as wide as'"

# --- embeddings that share n-grams ---

works 'train --subwords works' "$bin/train" $small --subwords --steps 4 --run subwords text.txt
check 'the checkpoint to resume has what embeddings share' grep -q '"subwords"' subwords/last.safetensors
check 'the best one has not' eval '! grep -q "\"subwords\"" subwords/best.safetensors'
works 'its model generates text' "$bin/sample" --length 20 subwords
works 'a run with --subwords resumes' "$bin/train" --resume subwords --steps 6
works 'a run starts from one with --subwords' "$bin/train" --init subwords --subwords --steps 3 \
    --run from-subwords text.txt
refused 'train refuses --subwords where tokens share nothing' 2 'no two tokens' \
    "$bin/train" $small --tokens byte --subwords --run none text.txt

# --- several kinds, several values ---

works 'train mixes kinds over the layers' "$bin/train" $small --layers 2 --pos auto \
    --attn window+gated-delta --window 4 --steps 3 --run hybrid text.txt
works 'a model of mixed kinds generates text' "$bin/sample" --length 40 hybrid
works 'train repeats a kind over the layers' "$bin/train" $small --layers 4 --pos auto \
    --attn kda+kda+kda+softmax --steps 3 --run repeated text.txt
check 'settings name it once' grep -q '^attn = 3xkda+softmax$' repeated/settings.conf
works 'train resumes a run with a repeated kind' "$bin/train" --resume repeated --steps 4
for attn in 0xkda 17xkda 15xkda+2xgated; do
    refused "train refuses --attn $attn" 2 'from 1 to 16 names can be joined by +' \
        "$bin/train" --attn $attn toy
done
# A block as in Llama.
llama='--rms-norm --no-bias --norm-eps 1e-6 --act swiglu --pos rotary --rope-base 500000'
# shellcheck disable=SC2086
works 'train makes a model with the blocks of Llama' "$bin/train" $small --layers 2 $llama \
    --steps 3 --run llama text.txt
works 'a model with the blocks of Llama generates text' "$bin/sample" --length 40 llama
check 'a model with RMSNorm and without biases has none in its blocks' \
    eval '! grep -q "h[.][0-9][.][a-z_.0-9]*[.]bias" llama/best.safetensors'
works 'train makes a model with the blocks of GPT-NeoX' "$bin/train" $small --layers 2 \
    --parallel --act gelu-erf --pos rotary --rope-share 0.5 --steps 3 --run neox text.txt
works 'a model with the blocks of GPT-NeoX generates text' "$bin/sample" --length 40 neox
works 'train runs a list of kinds one after another' \
    "$bin/train" $small --attn softmax,linear --steps 2 \
    --run series text.txt
check 'a list of kinds ends with a comparison' prints '^linear  *[0-9]'
check 'a list of kinds leaves every run' \
    [ -f series/softmax/best.safetensors -a -f series/linear/last.safetensors ]
refused 'a series checks all its settings before it trains' 2 '--shards 4: more than' \
    "$bin/train" $small --batch 8,2 --shards 4 --steps 2 --run unborn text.txt
check 'a refused series leaves no runs' [ ! -e unborn ]
works 'train runs the values of several options in all combinations' "$bin/train" $small --steps 2 \
    --attn softmax,linear --seed 1,2 --run parents/of/series text.txt
check 'each of these runs has a directory that says what differs' \
    [ -f parents/of/series/linear-seed2/best.safetensors ]
check 'the seeds of these runs are compared as groups' prints 'linear (2 seeds)'
refused 'train refuses a list for a run that it resumes' 2 'continues one run' \
    "$bin/train" --resume softmax --seed 1,2
for list in 'seed 1,1' 'seed 01,1' 'attn softmax,softmax' 'lr 1e-3,0.001' 'dropout 0.0,0.10,0.1' \
    'ffn 0,64'; do
    refused "train refuses --$list, which names one model twice" 2 \
        "--${list% *}: .* would train the same model" "$bin/train" $small --${list} text.txt
done
for list in 'weight-decay 0,1' 'lr 0,003' 'clip 1,5' 'weight-decay 0,1e-2'; do
    refused "train asks what --$list means" 2 \
        "--$list: is it one number? Type $(echo "${list#* }" | tr , .), or for a list" \
        "$bin/train" --${list} text.txt
done
refused 'train says how a list of two numbers is typed' 2 'for a list 0.0,1$' \
    "$bin/train" --embedding-decay 0,1 text.txt
refused 'train takes no comma between thousands' 2 'Type 10000, or for a list 10,0$' \
    "$bin/train" --steps 10,000 text.txt
works 'lists of numbers that can be nothing else are trained' "$bin/train" $small --steps 1 \
    --run lists --lr 0,0.001 --embedding-decay 0.0,1 --seed 001,002 text.txt
check 'with all their combinations' [ "$(echo lists/*/best.safetensors | wc -w)" -eq 8 ]
for list in , softmax, ,linear softmax,,linear; do
    refused "train refuses --attn $list" 2 "--attn $list: a value is missing beside a comma" \
        "$bin/train" --attn "$list" text.txt
done
refused 'train refuses a wrong value in a list before it trains anything' 2 "'x'" \
    "$bin/train" --attn softmax,linear --seed 1,x --run none text.txt

cp "$bin/toy" toy
works 'the built-in corpus wins over a file of its name' \
    "$bin/train" $small --steps 2 --run built-in toy
works 'the built-in corpus wins in eval as well' "$bin/eval" built-in toy
rm toy

# --- wrong input ---

# no NAME STATUS PHRASE OPTIONS: train refuses NAME.
no() {
    # shellcheck disable=SC2086
    refused "train refuses $1" "$2" "$3" "$bin/train" $small --steps 2 --run none $4
}
mkdir empty
: >empty.txt
printf ' \n\n \n' >blank.txt
head -c 3000 "$bin/train" >binary.txt
head -n 5 text.txt >short.txt
gzip -c text.txt >text.copy.gz && head -c 200 text.copy.gz >cut.txt.gz
no 'to start without a corpus' 2 'corpus' ''
no 'two corpora' 2 'one corpus' 'text.txt kept.txt'
no 'a missing corpus' 1 'missing.txt: no such file' missing.txt
no 'an empty corpus' 1 'empty.txt: the corpus is empty' empty.txt
no 'a blank corpus' 1 'blank.txt: the corpus is empty' blank.txt
no 'a binary corpus' 1 'binary.txt' binary.txt
no 'a corpus that is too short' 1 'short.txt' short.txt
no 'a corpus that is a directory' 1 'empty: is a directory' empty
no 'a truncated gzip file' 1 'cut.txt.gz: .*breaks off' cut.txt.gz
no 'a missing validation text' 1 '--valid missing.txt' '--valid missing.txt text.txt'
no 'an unknown option' 2 "did you mean '--layers'" '--layer 3 text.txt'
no 'an option without its value' 2 '--dim needs a value' 'text.txt --dim'
no 'an unknown kind' 2 "'telepathy' is not one of: softmax, " '--attn telepathy text.txt'
no 'an unknown kind at the end of a list' 2 "'telepathy'" '--attn linear,telepathy text.txt'
no 'more kinds than layers' 2 'layers is only 1' '--attn linear+softmax --layers 1 text.txt'
no 'a value residual between layers of unequal widths' 2 'no later layer has values as wide' \
    '--attn softmax+retention --layers 2 --value-residual text.txt'
no 'an option of another attention kind' 2 "'softmax' attention does not use it" \
    '--window 3 text.txt'
no '--pos rotary with a kind that cannot use it' 2 '--pos rotary' \
    '--attn efficient --pos rotary text.txt'
no 'a parallel residual of norms behind the sublayers' 2 '--parallel needs --norm pre' \
    '--norm post --parallel text.txt'
no 'a table of n-grams without n-grams' 2 '--ngram-rows has no effect here: it needs --ngrams' \
    '--ngram-rows 64 text.txt'
no 'dropout of n-grams without n-grams' 2 '--ngram-dropout has no effect here: it needs --ngrams' \
    '--ngram-dropout .2 text.txt'
no 'options of RoPE without RoPE' 2 '--rope-base has no effect here: it needs --pos rotary' \
    '--pos learned --rope-base 5000 text.txt'
no 'QK-norm, which the common parts do not have' 2 '--qk-norm has no effect here: it needs --parts authors' \
    '--parts common --qk-norm text.txt'
no 'RoPE of less than a pair' 2 '--rope-share 0.1 of a head dimension of 8 rotates nothing' \
    '--pos rotary --rope-share 0.1 text.txt'
no 'heads that do not divide --dim' 2 '--heads 3 does not divide --dim 16' '--heads 3 text.txt'
no 'attention dropout with a kind without attention weights' 2 'does not support it' \
    '--attn linear --attn-dropout 0.1 text.txt'
no 'a single head of a kind whose heads alternate' 2 'use at least 2' \
    '--attn strided --heads 1 text.txt'
# Contradictions that only the text shows.
for options in '--tokens byte --vocab-size 300 text.txt' '--special-tokens <|a|> text.txt' \
    '--tokens bpe --vocab-size 5 text.txt' '--tokens bpe --lowercase text.txt' \
    '--noise 0.1 recall' '--min-count 2 recall' '--valid - -'; do
    no "$options" 2 . "$options"
done
no 'a learning rate too close to zero' 2 "--lr: '1e-400'" '--lr 1e-400 text.txt'
no 'a setting of a task that is given twice' 2 'pairs is set twice' 'recall:pairs=1,pairs=2'
no 'a learning rate that is not a number' 2 "--lr: 'nan'" '--lr nan text.txt'
no 'an infinite learning rate' 2 "--lr: '1e999'" '--lr 1e999 text.txt'
no 'a negative learning rate' 2 "--lr: '-1'" '--lr -1 text.txt'
no 'a batch size of zero' 2 "--batch: '0'" '--batch 0 text.txt'
no 'an empty batch size' 2 "--batch: ''" '--batch= text.txt'
no 'a malformed --stop-after' 2 "--stop-after: 'soon'" '--stop-after soon text.txt'
no 'to use more memory than --max-mem' 1 'the limit is 1 MB' '--max-mem 1 --dim 512 text.txt'
no 'a run directory that cannot be made' 1 'cannot make' '--run text.txt/place text.txt'
no 'an unknown preset' 2 '--preset unheard' '--preset unheard text.txt'
run "$bin/train" --run none "no${escape}file.txt"
check 'error messages contain no escape sequences' eval 'exits 1 && is_plain'
if latin=$(printf 'caf\351.txt') && cp text.txt "$latin" 2>/dev/null; then
    refused 'train refuses a corpus name that is not UTF-8' 2 'UTF-8' \
        "$bin/train" --run none "$latin"
fi
printf '# a bird\nlayers = 2\n\nwings = 2\n' >bird.conf
no 'a preset with an unknown option' 2 "bird.conf:4: unknown option 'wings'" \
    '--preset bird.conf text.txt'
printf 'layers = many\n' >bird.conf
no 'a preset with a wrong value' 2 "bird.conf:1: 'many'" '--preset bird.conf text.txt'
for others in '--average ema' '--patience 3'; do
    no "--cycles with $others" 2 "cycles cannot be combined with --.*$(
        echo "${others##*--}" | cut -d ' ' -f 1)" "--cycles 2 $others text.txt"
done
reports_full_disk train --help

count_cases
