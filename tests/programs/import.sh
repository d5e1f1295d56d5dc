#!/bin/sh
# Tests import: round trips of linnet's own exports, and directories that are refused.
# tests/interop imports models of other programs.
. "$(dirname -- "$0")/../commands.sh"

explains_itself import

# --- round trips ---

scores() { "$bin/eval" "$1" text.txt --split test 2>/dev/null; }

# returns RUN [OPTION]: an export of the run is imported; the weights, the scores and a second
# export are the same.
returns() {
    rm -rf exported imported again
    run "$bin/export" ${2:+"$2"} "$1" exported
    check "$1${2:+ }${2-} is exported" exits 0
    works "$1${2:+ }${2-} is imported" "$bin/import" exported imported
    check "$1${2:+ }${2-}: import names the model" prints '^imported: .* parameters'
    check "$1${2:+ }${2-}: the weights are the same" \
        same_numbers "$1/best.safetensors" imported/best.safetensors
    check "$1${2:+ }${2-}: the scores are the same" [ "$(scores "$1")" = "$(scores imported)" ]
    run "$bin/export" ${2:+"$2"} imported again
    check "$1${2:+ }${2-}: the weights are exported again" \
        same exported/model.safetensors again/model.safetensors
    ! [ -e exported/tokenizer.json ] ||
        check "$1${2:+ }${2-}: the tokenizer is the same" \
            same exported/tokenizer.json again/tokenizer.json
}

gpt2='--act gelu --no-qk-norm --head-bias no'
# shellcheck disable=SC2086
{
    train word $gpt2 text.txt
    train char $gpt2 --tokens char --pos sinusoidal --no-tied text.txt
    train byte $gpt2 --tokens byte --pos none --no-bias text.txt
    train bpe $gpt2 --tokens bpe --vocab-size 300 --special-tokens '<|endoftext|>' text.txt
}
train punct --tokens wordpunct --lowercase --norm post text.txt
train linear --attn linear --tokens bpe --vocab-size 280 text.txt
train mixed --attn performer+gated-delta --layers 2 --pos rotary --act swiglu text.txt
train rms --rms-norm --norm-eps 1e-6 --no-tied --value-residual --layers 2 text.txt
llama='--rms-norm --act swiglu --no-qk-norm --head-bias no --no-tied --heads 2 --layers 2'
# shellcheck disable=SC2086
{
    train llama $llama --pos rotary --rope-base 500 --no-bias text.txt
    train llama-bias $llama --pos rotary text.txt
    train neox $gpt2 --pos rotary --rope-share 0.5 --parallel text.txt
    train neox-bare $gpt2 --pos rotary --no-bias --no-tied text.txt
}
# The parts of GPT-2, GPT-NeoX or Llama, with gates that these lack.
# shellcheck disable=SC2086
{
    train gates $gpt2 --head-gate text.txt
    train neox-gates $gpt2 --pos rotary --parallel --head-gate text.txt
    train llama-gates $llama --pos rotary --no-bias --head-gate text.txt
}
train kinds-gates --attn softmax+kda --layers 2 --head-gate text.txt
# All kinds, up to eleven in one model.
"$bin/train" --attn help | sed -n 's/^\([a-z][a-z0-9-]*\)  .*/\1/p' >kinds
check 'train lists its kinds' [ "$(wc -l <kinds)" -ge 32 ]
split -l 11 kinds kinds-
all=$(echo kinds-a?)
for kinds in $all; do
    train "all-$kinds" --attn "$(paste -s -d + "$kinds")" --layers "$(wc -l <"$kinds")" text.txt
done
run "$bin/export" llama llamas
check 'a model with the parts of Llama is exported as one' grep -q LlamaForCausalLM llamas/config.json
run "$bin/export" neox neoxes
check 'a model with the parts of GPT-NeoX is exported as one' \
    grep -q GPTNeoXForCausalLM neoxes/config.json
for model in linear mixed rms llama llama-bias neox neox-bare kinds-gates; do
    returns "$model"
done
for model in $all; do
    returns "all-$model"
done
for tokens in word char byte bpe punct; do
    returns "$tokens"
    returns "$tokens" --plain
done
for kind in gates neox-gates llama-gates; do
    returns "$kind"
    check "$kind: the export is no model of a family" \
        grep -q '"model_type": "linnet"' exported/config.json
    refused "$kind: no GGUF file" 1 '--head-gate' "$bin/export" --gguf "$kind" none
done

returns llama-gates --plain
# That export is still there.
rm -rf imported
works 'sample writes text of an imported run' "$bin/import" exported imported
run "$bin/sample" --seed 1 --length 5 imported
check 'sample works on an imported run' exits 0
run "$bin/inspect" imported --text "the linnet sings"
check 'inspect works on an imported run' exits 0
refused 'train --resume says what to do with an imported run' 1 '--init' \
    "$bin/train" --resume imported
works 'train --init trains on from an imported run' "$bin/train" --quiet --init imported \
    --steps 3 --batch 2 --warmup 0 --run tuned text.txt
works 'and another kind of attention' "$bin/train" --quiet --init imported --attn linear \
    --steps 3 --batch 2 --warmup 0 --run converted text.txt
refused 'import does not replace a run' 1 'something in it' "$bin/import" exported imported
works 'import names the run after the directory' "$bin/import" exported/
check 'it is in runs/' [ -s runs/exported/best.safetensors ]
(cd exported && exec "$bin/import" .) >out 2>err </dev/null
status=$?
check 'a run of "." has the name of the directory' eval 'exits 0 && [ -s exported/runs/exported/best.safetensors ]'
rm -rf exported/runs
(mkdir exported/inner && cd exported/inner && exec "$bin/import" ../) >out 2>err </dev/null
status=$?
check 'and so has a run of ".."' eval 'exits 0 && [ -s exported/inner/runs/exported/best.safetensors ]'
rm -rf exported/inner
check 'import leaves no other files' [ "$(ls runs/exported)" = 'best.safetensors
settings.conf' ]
rm -rf runs
broken=$(printf 'e\nlayers = 9')
cp -r exported "$broken"
works 'import takes a directory with a line end in its name' "$bin/import" "$broken" lined
check 'the name adds no setting' [ "$(grep -c '^layers = ' lined/settings.conf)" = 1 ]
check 'the name is recorded on one line' \
    grep -q '^# imported from e\\x0alayers = 9$' lined/settings.conf

run "$bin/import" exported "$rude"
check 'import prints no control characters of a name' \
    eval 'exits 0 && prints "^rude.x1b.31m: exported by linnet" && is_plain'

# --- what is refused ---

# copy: a good directory to spoil.
"$bin/export" bpe good >/dev/null 2>&1
copy() {
    rm -rf spoilt
    cp -r good spoilt
}
# spoilt NAME PHRASE: the directory is refused, and nothing is left.
spoilt() {
    refused "import refuses $1" 1 "$2" "$bin/import" spoilt none
    check "import refuses $1: nothing is left" eval '! ls | grep -q none'
}
# foreign MODEL: the directory MODEL-foreign, a model of another program, without linnet's settings.
foreign() {
    rm -rf "$1-foreign"
    cp -r "$1" "$1-foreign"
    sed 's/"settings"/"sittings"/; s/"crc32"/"crc33"/; s/"header_crc32"/"header_crc33"/' \
        "$1/model.safetensors" >"$1-foreign/model.safetensors"
}
# copy_foreign: such a GPT-2 to spoil.
copy_foreign() {
    rm -rf spoilt
    cp -r good-foreign spoilt
}
# changed MODEL NAME FROM TO PHRASE: the directory with this change of its config is refused.
changed() {
    rm -rf spoilt
    cp -r "$1" spoilt
    sed "s/$3/$4/" "$1/config.json" >spoilt/config.json
    spoilt "$2" "$5"
}
for model in good llamas neoxes; do
    foreign "$model"
done

refused 'import refuses to start without a directory' 2 'a directory with a model' "$bin/import"
refused 'import refuses a missing directory' 1 'nowhere: no such directory' \
    "$bin/import" nowhere none
refused 'import refuses a file' 1 'text.txt: not a directory' "$bin/import" text.txt none
copy
rm spoilt/model.safetensors
spoilt 'a directory without weights' 'no model.safetensors'
printf 'PK\003\004' >spoilt/pytorch_model.bin
spoilt 'a pickle' 'pytorch_model.bin: a pickle, .*safe_serialization'
cp spoilt/pytorch_model.bin spoilt/model.safetensors
spoilt 'a pickle that is called safetensors' 'not a safetensors file'
copy
head -c 3000 good/model.safetensors >spoilt/model.safetensors
spoilt 'truncated weights' 'truncated'
ln -sf model.safetensors spoilt/model.safetensors
spoilt 'a link to itself' 'symbolic links'
copy
ln -sf config.json spoilt/config.json
spoilt 'a config that is a link to itself' 'symbolic links'
copy
rm spoilt/config.json
mkfifo spoilt/config.json
spoilt 'a pipe' 'not a regular file'
copy
rm spoilt/tokenizer.json spoilt/vocab.json
spoilt 'a directory without a tokenizer' 'tokenizer.json'
echo >spoilt/tokenizer.model
spoilt 'a SentencePiece model' 'SentencePiece'
copy
awk 'BEGIN { for (i = 0; i < 5000; i++) printf "[" }' >spoilt/config.json
spoilt 'deep JSON' 'not valid JSON'
head -c 2000000 /dev/zero | tr '\0' ' ' >spoilt/config.json
spoilt 'a large config' 'more than the limit'
echo '[]' >spoilt/config.json
spoilt 'a config that is no object' 'not a JSON object'
echo '{}' >spoilt/config.json
spoilt 'a config without a type' 'config.json: model_type is missing; .*gpt2, gpt_neox, llama'
echo '{"model_type": 7}' >spoilt/config.json
spoilt 'a type that is a number' 'model_type is not a word'
echo '{"model_type": "mamba"}' >spoilt/config.json
spoilt 'an unknown type' "model_type 'mamba' is none .*gpt2, gpt_neox, llama"

# Models of other programs have no settings of linnet's.
copy_foreign
works 'import reads a GPT-2 without settings' "$bin/import" spoilt none
check 'the weights are the same' same_numbers bpe/best.safetensors none/best.safetensors
rm -rf none
sed 's/"bos_token_id": [0-9]*/"bos_token_id": 0/' good/config.json >spoilt/config.json
sed 's/"normalizer": null/"normalizer": {"type": "NFC"}/' good/tokenizer.json >spoilt/tokenizer.json
works 'import reads a GPT-2 with a token before texts' "$bin/import" spoilt none
check 'import says that characters are not composed' prints 'NFC'
run "$bin/inspect" none --text the
check 'texts begin after that token' prints '1  <|endoftext|>'
rm -rf again
run "$bin/export" none again
check 'an export keeps that token' grep -q '"bos_token_id": 0' again/config.json
rm -rf plainly started
run "$bin/export" --plain none plainly
run "$bin/import" plainly started
run "$bin/inspect" started --text the
check 'a plain export keeps it too' prints '1  <|endoftext|>'
rm -rf plainly started
run "$bin/export" --gguf none again.gguf
# number KEY: its value in again.gguf, behind its type.
number() {
    place=$(grep -a -b -o "$1" again.gguf | cut -d : -f 1)
    od -A n -t u4 -j "$((place + ${#1}))" -N 8 again.gguf | tr -s ' '
}
for token in bos eos; do
    check "a GGUF file keeps it as $token" [ "$(number "tokenizer.ggml.${token}_token_id")" = ' 4 0' ]
done
rm -rf none
copy_foreign
rm spoilt/config.json
spoilt 'a directory without a config' '^import: spoilt: no config.json in this directory'
copy_foreign
for command in 'eval spoilt text.txt' 'sample spoilt' 'train --init spoilt text.txt'; do
    # shellcheck disable=SC2086
    refused "$command: it says how to use a directory of Hugging Face" 1 \
        'spoilt: no checkpoint .*linnet-import makes a run' "$bin/"$command
done
changed good-foreign 'a missing layer' '"n_layer": 1' '"n_layer": 2' 'transformer.h.1.ln_1.weight is missing'
changed good-foreign 'very many layers' '"n_layer": 1' '"n_layer": 99999999999' 'n_layer'
changed good-foreign 'another dimension' '"n_embd": 16' '"n_embd": 65536' 'the settings require \[300, 65536\]'
changed good-foreign 'a dimension that is no whole number' '"n_embd": 16' '"n_embd": 1e300' 'n_embd'
changed good-foreign 'no heads' '"n_head": 2' '"n_head": 0' 'n_head'
changed good-foreign 'a word for a number' '"n_head": 2' '"n_head": "two"' 'n_head'
changed good-foreign 'another vocabulary' '"vocab_size": 300' '"vocab_size": 301' \
    'vocab_size 301, but the file has 300'
changed good-foreign 'a missing head' '"tie_word_embeddings": true' '"tie_word_embeddings": false' \
    'lm_head.weight is missing'
changed good-foreign 'an unknown activation' '"gelu_new"' '"mish"' 'mish: linnet does not have'
changed good-foreign 'scores that are not scaled' '"scale_attn_weights": true' '"scale_attn_weights": false' \
    'scale_attn_weights: linnet always scales attention scores by 1/sqrt(head size)'
changed good-foreign 'a classifier' '"GPT2LMHeadModel"' '"GPT2ForSequenceClassification"' \
    'GPT2ForSequenceClassification'
copy_foreign
sed 's/transformer.h.0.ln_1.bias/transformer.h.0.ln_9.bias/' spoilt/model.safetensors >odd
mv odd spoilt/model.safetensors
spoilt 'an unknown tensor' 'ln_1.bias is missing'

copy_foreign
printf '\000\000\300\177' | dd of=spoilt/model.safetensors bs=1 conv=notrunc status=none \
    seek="$(($(wc -c <spoilt/model.safetensors) - 4))"
spoilt 'a weight that is NaN' 'NaN or infinity'
copy_foreign
truncate -s 10000000000 spoilt/model.safetensors
spoilt 'a file of 10 GB' 'more than the limit'
copy_foreign
truncate -s 100000000 spoilt/tokenizer.json
spoilt 'a tokenizer of 100 MB' 'more than the limit'
copy_foreign
changed good-foreign 'quantised weights' '"gelu_new"' '"gelu_new", "quantization_config": {"bits": 4}' \
    'quantization_config'

# A Llama and a GPT-NeoX: the parts that linnet does not have.
changed llamas-foreign 'RoPE for longer contexts' '"rope_type": "default"' '"rope_type": "llama3"' \
    'rope_type llama3: linnet does not support RoPE scaling'
changed llamas-foreign 'RoPE for longer contexts beside RoPE without' '"mlp_bias"' \
    '"rope_scaling": {"rope_type": "llama3", "factor": 8}, "mlp_bias"' 'rope_scaling: rope_type llama3'
changed llamas-foreign 'RoPE for longer contexts, as written earlier' '"mlp_bias"' \
    '"rope_scaling": {"type": "linear", "factor": 8}, "mlp_bias"' 'rope_scaling: rope_type linear'
changed llamas-foreign 'a rope_type that is no word' '"rope_type": "default"' '"rope_type": 3' \
    'rope_type is not a word'
changed llamas-foreign 'RoPE of a share of the features' '"partial_rotary_factor": 1.0' \
    '"partial_rotary_factor": 0.5' 'partial_rotary_factor 0.5: .* rotates all features'
changed llamas-foreign 'rope_scaling that is a word' '"mlp_bias"' '"rope_scaling": "linear", "mlp_bias"' \
    'rope_scaling is not an object'
changed neoxes-foreign 'rope_parameters that are a number' '"rope_parameters"' \
    '"rope_parameters": 5, "ignored"' 'rope_parameters is not an object'
changed llamas-foreign 'a gate that is not SiLU' '"silu"' '"gelu"' 'hidden_act gelu'
changed llamas-foreign 'heads of another width' '"mlp_bias"' '"head_dim": 64, "mlp_bias"' 'head_dim'
changed llamas-foreign 'key heads that do not divide' '"num_key_value_heads": 2' \
    '"num_key_value_heads": 3' 'num_key_value_heads does not divide'
changed llamas-foreign 'half of the key heads' '"num_key_value_heads": 2' '"num_key_value_heads": 1' \
    'k_proj.weight has shape \[16, 16\], the settings require \[8, 16\]'
changed llamas-foreign 'words of linnet in a Llama' nothing nothing 'tokenizer.json'
changed neoxes-foreign 'an odd number of rotating features' '\(rotary_pct\|partial_rotary_factor\)": 0.5' \
    '\1": 0.4' 'which is odd'
changed neoxes-foreign 'two shares of RoPE' '"rotary_pct": 0.5' '"rotary_pct": 0.25' \
    'rotary_pct is 0.25, but rope_parameters.partial_rotary_factor is 0.5'
changed neoxes-foreign 'two bases of RoPE' '"rotary_emb_base": 10000' '"rotary_emb_base": 500' \
    'rotary_emb_base is 500.0, but rope_parameters.rope_theta is 10000'
changed neoxes-foreign 'the base of RoPE under the name of another family' '"rotary_emb_base"' \
    '"rope_theta": 400, "rotary_emb_base"' 'rope_theta is 400, but rope_parameters.rope_theta is 1'
changed llamas-foreign 'a base of RoPE beside rope_parameters' '^  "rope_theta": 500.0' '  "rope_theta": 300' \
    'rope_theta is 300, but rope_parameters.rope_theta is 500'
changed llamas-foreign 'rope_scaling and rope_parameters that differ' '"mlp_bias"' \
    '"rope_scaling": {"rope_type": "default", "rope_theta": 7}, "mlp_bias"' \
    'rope_theta is 500.0, but rope_scaling.rope_theta is 7'
changed llamas-foreign 'rope_scaling that hides rope_parameters' '^  "rope_theta": 500.0' \
    '  "rope_scaling": {"rope_type": "default"}' \
    'rope_parameters.rope_theta is 500.0, but the default is 10000'
changed neoxes-foreign 'a token that is no number' '"bos_token_id": [0-9]*' '"bos_token_id": "x"' \
    'bos_token_id is "x", which is no id'
changed neoxes-foreign 'a negative token' '"eos_token_id": [0-9]*' '"eos_token_id": -1' \
    'eos_token_id is -1, which is no id'
changed neoxes-foreign 'a token beyond 31 bits' '"eos_token_id": [0-9]*' '"eos_token_id": [0, 2147483648]' \
    'eos_token_id is \[0, 2147483648\], which is no id'
changed neoxes-foreign 'a padding token that is none' '"eos_token_id"' '"pad_token_id": 0.5, "eos_token_id"' \
    'pad_token_id is 0.5, which is no id'
changed neoxes-foreign 'biases that the config denies' '"attention_bias": true' \
    '"attention_bias": false' 'unexpected tensor .*bias: .* has none'
changed neoxes-foreign 'a switch that is a word' '"attention_bias": true' '"attention_bias": "yes"' \
    'neither true nor false'

# What linnet exported has its own settings, which config.json must not contradict.
# contradicts MODEL FROM TO PHRASE
contradicts() { changed "$1" "$4" "$2" "$3" "spoilt/config.json: $4"; }
rm -rf own
"$bin/export" mixed own >/dev/null 2>&1
contradicts own '"num_hidden_layers": 2' '"num_hidden_layers": -1' \
    'num_hidden_layers is -1, but the exported model has 2'
contradicts own '"hidden_size": 16' '"hidden_size": "wide"' \
    'hidden_size is "wide", but the exported model has 16'
contradicts own '"attn": "gated-delta"' '"attn": "delta"' \
    'layers\[1\].attn is "delta", but the exported model has "gated-delta"'
contradicts own '"rope-base": 10000' '"rope-base": 500' \
    'linnet.rope-base is 500.*, but the exported model has 10000'
contradicts own '"bos_token_id": [0-9]*' '"bos_token_id": 1000' \
    'bos_token_id is 1000, but the exported model has [0-9]*;'
contradicts own '"bos_token_id": [0-9]*' '"bos_token_id": -1' 'bos_token_id is -1, which is no id'
contradicts good '"n_layer": 1' '"n_layer": 2' 'n_layer is 2, but the exported model has 1'
contradicts good '"tie_word_embeddings": true' '"tie_word_embeddings": false' \
    'tie_word_embeddings is false, but the exported model has true'
contradicts llamas '^  "rope_theta": 500.0' '  "rope_theta": 300' \
    'rope_theta is 300, but the exported model has 500'
contradicts llamas '"rope_type": "default"' '"rope_type": "llama3"' \
    'rope_parameters.rope_type is "llama3", but the exported model has "default"'
contradicts llamas '"mlp_bias"' '"rope_scaling": {"rope_type": "llama3", "factor": 8}, "mlp_bias"' \
    'rope_scaling: rope_type llama3'
rm -rf spoilt none
cp -r own spoilt
sed 's/"num_hidden_layers": 2,/"num_hidden_layers": 2.0, "pad_token_id": null,/; /"bos_token_id"/d' \
    own/config.json >spoilt/config.json
works 'import takes numbers written otherwise, null and missing tokens' "$bin/import" spoilt none
rm -rf none

# Shards. The index must name files in the directory that have its tensors.
index() {
    rm -rf spoilt
    cp -r good spoilt
    mv spoilt/model.safetensors spoilt/part.safetensors
    printf '%s' "$1" >spoilt/model.safetensors.index.json
}
index '{"weight_map": {"transformer.wte.weight": "part.safetensors"}}'
works 'import reads shards' "$bin/import" spoilt none
check 'the weights of shards are the same' same_numbers bpe/best.safetensors none/best.safetensors
rm -rf none
cp good/model.safetensors spoilt/
spoilt 'weights and shards' 'has both'
index '{"weight_map": {"transformer.wte.weight": "..\/good\/model.safetensors"}}'
spoilt 'a path out of the directory' 'no name of a .safetensors file'
index '{"weight_map": {"transformer.wte.weight": "/etc/passwd"}}'
spoilt 'an absolute path' 'no name of a .safetensors file'
index '{"weight_map": {"transformer.wte.weight": "model.safetensors.index.json"}}'
spoilt 'an index that names itself' 'no name of a .safetensors file'
index '{"weight_map": {"transformer.wte.weight": 7}}'
spoilt 'a shard that is a number' 'no name of a .safetensors file'
index '{"weight_map": {"transformer.nothing": "part.safetensors"}}'
spoilt 'a shard without its tensor' 'it has no tensor transformer.nothing'
index '{"weight_map": {}}'
spoilt 'an index of nothing' 'weight_map'
index '{"weight_map": {"a": "part.safetensors", "b": "gone.safetensors"}}'
spoilt 'a missing shard' 'gone.safetensors: No such file'
index '{"weight_map": {"a": "part.safetensors", "b": "copy.safetensors"}}'
cp good/model.safetensors spoilt/copy.safetensors
spoilt 'a tensor in two shards' 'both have the tensor'

# --- failures ---

(trap '' XFSZ && ulimit -f 4 && exec "$bin/import" good none) >out 2>err </dev/null
status=$?
check 'a full disk ends an import' eval "exits 1 && says 'safetensors: cannot write'"
check 'an import that fails leaves nothing' eval '! ls | grep -q none'
reports_full_disk import good full

count_cases
