#!/bin/sh
# Holds GGUF files against linnet: gguf.sh BIN PYTHON. Works in the current directory, which has
# toy.txt, and odd.txt, which is hard to tokenize.
#
# Trains models of each of llama.cpp's architectures that linnet writes, for a few steps that move all
# weights, exports them and lets sample continue a text with them. check_gguf.py does the rest.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
bin=$1 python=$2
models=

# A text whose tokens fit into the context, and one to continue.
head -n 1 toy.txt >text.txt
prompt='every baker'

# model NAME OPTIONS...
model() {
    name=$1
    shift
    "$bin/train" --layers 2 --dim 32 --heads 4 --ffn 80 --context 192 --batch 4 --steps 60 --lr 0.01 \
        --warmup 5 --no-zero-init --no-qk-norm --head-bias no --quiet --run "run-$name" "$@" toy.txt
    "$bin/export" --gguf "run-$name" "$name.gguf" >export.log
    "$bin/export" --plain --example text.txt "run-$name" "$name" >>export.log
    "$bin/sample" --json --greedy --length 24 --prompt "$prompt" "run-$name" >"$name/greedy.json"
    "$bin/export" --plain --example odd.txt "run-$name" "$name-odd" >>export.log
    models="$models $name"
}
bpe='--tokens bpe --vocab-size 400 --special-tokens <|endoftext|>'
rope='--pos rotary'
llama="$rope --rms-norm --act swiglu"
# shellcheck disable=SC2086
{
    model gpt2 --pos learned --act gelu $bpe
    model gpt2-sinusoidal --pos sinusoidal --act gelu --no-bias --no-tied $bpe
    model gpt2-none --pos none --act gelu --norm-eps 0.001 --tokens byte
    model neox $rope --act gelu $bpe
    model neox-parallel $rope --act gelu --parallel --rope-share 0.5 --no-tied $bpe
    model neox-plain $rope --act gelu --rope-share 0.25 --rope-base 500 --no-bias --tokens word
    model llama $llama --no-bias --norm-eps 1e-6 --rope-base 500000 $bpe
    model llama-biased $llama --no-tied --tokens byte
    model llama-chars $llama --tokens char
}
# shellcheck disable=SC2086
exec "$python" "$here/check_gguf.py" "$prompt" $models
