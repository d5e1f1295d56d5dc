#!/bin/sh
# Reads linnet's files with the Python programs they are made for: run.sh BIN DIRECTORY [light].
# BIN is the directory of the programs; DIRECTORY is for the work, and keeps a virtual environment.
# "light" leaves out the checks that need torch. Prints what was not checked.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
bin=$(CDPATH='' cd -- "$1" && pwd)
mkdir -p "$2"
folder=$(CDPATH='' cd -- "$2" && pwd)
extent=${3:-full}
[ -z "${PTB_DIR:-}" ] || PTB_DIR=$(CDPATH='' cd -- "$PTB_DIR" && pwd)
unset CDPATH PYTHONOPTIMIZE
# The directory of these scripts must not hide a library with the same name.
export PYTHONSAFEPATH=1 HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error

# --- virtual environment ---

environment=$folder/environment
python=$environment/bin/python3
# PYTHON names the interpreter for the environment.
[ -x "$python" ] || "${PYTHON:-python3}" -m venv "$environment" || {
    echo "No Python environment: install python3 with its venv (Debian: python3-venv)." >&2
    exit 1
}

has() { "$python" -c "import $1" 2>/dev/null; }

# want MODULE...: installs missing modules; fails if one cannot be installed.
want() {
    missing=
    for module in "$@"; do
        has "$module" || missing="$missing $module"
    done
    [ -n "$missing" ] || return 0
    echo "Installing$missing"
    # shellcheck disable=SC2086
    timeout "${PIP_TIMEOUT:-1800}" "$python" -m pip install --quiet \
        --disable-pip-version-check $missing
}

skipped=
skip() { skipped="$skipped
  $1"; }

want numpy safetensors tokenizers || {
    echo "The Python packages numpy, safetensors and tokenizers are needed." >&2
    exit 1
}
[ "$extent" = light ] || want torch transformers ||
    echo "torch and transformers cannot be installed."
[ "$extent" = light ] || has fla.layers || "$python" -m pip install --quiet \
    --disable-pip-version-check fla-core==0.6.0 flash-linear-attention==0.6.0 ||
    echo "flash-linear-attention cannot be installed."
want scipy || echo "scipy cannot be installed."
want gguf || echo "gguf cannot be installed."
# Its package is compiled, which takes several minutes.
[ "$extent" = light ] || has llama_cpp || want llama-cpp-python ||
    echo "llama-cpp-python cannot be installed."
[ "$extent" = light ] || want tensorboard || echo "tensorboard cannot be installed."

# --- the models ---

work=$folder/work
rm -rf -- "$work"
mkdir -p "$work"
cd -- "$work"
"$bin/toy" --length 20000 >toy.txt
# Text that is hard to tokenize: unknown words, white space of all kinds, line ends, and words that
# look like special tokens.
# shellcheck disable=SC2059
{
    printf '\357\273\277the  the\t\tprices \n\n \n rose\r\nthe\r\rrose\013the\014rose\n'
    printf 'unheardof <eos> <unk> (<eos>) x<eos>y <unk>. <eos><eos> \357\277\275 '
    printf '\357\273\277the\n'
    printf 'non\302\240breaking\342\200\203em\302\205next\342\200\250line\034file \037\n'
    printf 'na\303\257ve nai\314\210ve \360\237\220\246 \\ \\n " { } \177\001 \304\240\n'
    printf 'Don\047t O\342\200\231Neil\342\200\231s (U.S. e.g.) 1,234.5%% 12:30; 90\047s a.5 5.a, well-known_x\n'
    printf '\344\275\240\345\245\275\357\274\214\343\201\213\302\231 \342\230\272\357\270\217\342\200\215 e\314\201.e \303\206\320\226\316\243\304\260\305\270\304\271\n'
    printf '  the prices of  \t'
} >odd.txt

# train RUN CORPUS OPTIONS...
train() {
    run=$1 corpus=$2
    shift 2
    "$bin/train" --layers 2 --dim 32 --heads 4 --context 24 --batch 4 --lr 0.01 --warmup 5 \
        --quiet --run "$run" "$@" "$corpus"
}
# The shape of GPT-2.
gpt2='--attn softmax --act gelu --no-qk-norm --head-bias no'
cat odd.txt toy.txt >both.txt
# shellcheck disable=SC2086
{
    train word toy.txt --steps 60 $gpt2 --pos learned --min-count 3
    train words both.txt --steps 60 $gpt2 --pos learned --act gelu-erf --no-bias
    train char both.txt --steps 60 $gpt2 --pos sinusoidal --tokens char --act relu --no-tied --ffn 48
    train punct both.txt --steps 60 $gpt2 --pos learned --tokens wordpunct
    train lower both.txt --steps 60 $gpt2 --pos learned --tokens wordpunct --lowercase
    train byte toy.txt --steps 60 $gpt2 --pos none --tokens byte --act relu2
}
"$python" "$here/bpe_texts.py" .
# bpe RUN TEXT TOKENS [SPECIAL]: learns from the whole text.
bpe() {
    "$bin/train" --layers 1 --dim 8 --heads 1 --context 24 --batch 4 --steps 2 --quiet $gpt2 \
        --pos learned --tokens bpe --vocab-size "$3" --special-tokens "${4-}" \
        --valid toy.txt --test odd.txt --run "$1" "$2"
    "$bin/export" --example "$2" "$1" "$1-model"
    "$bin/export" --example "$2" --plain "$1" "$1-model.plain"
    exported="$exported $1-model"
    "$python" "$here/check_bpe.py" "$2" "$3" "$1-model" ${4+"$4"}
}
train linear toy.txt --steps 20 --attn linear --head-bias yes

# export_both RUN TEXT NAME: exports NAME for transformers and NAME.plain, both with an example.
export_both() {
    "$bin/export" --example "$2" "$1" "$3"
    "$bin/export" --example "$2" --plain "$1" "$3.plain"
    exported="$exported $3"
}
exported=
for run in word words punct lower char byte; do
    export_both "$run" odd.txt "$run-odd"
    export_both "$run" toy.txt "$run-toy"
done
"$bin/export" --plain linear linear-plain
for text in ties mixed; do
    for size in 512 8192 50257; do
        bpe "$text-$size" "$text.txt" "$size"
    done
done

bpe special-700 mixed.txt 700 '<|endoftext|>'

# The Penn Treebank is not part of linnet; PTB_DIR names its directory.
for ptb in "${PTB_DIR:-}" "$here/../../data" ''; do
    [ -z "$ptb" ] || [ ! -f "$ptb/ptb.train.txt" ] || break
done
if [ -n "$ptb" ]; then
    # shellcheck disable=SC2086
    train ptb "$ptb/ptb.txt" --steps 10 $gpt2 --pos learned
    export_both ptb "$ptb/ptb.test.txt" ptb-test
    for size in 512 8192 50257; do
        bpe "ptb-$size" "$ptb/ptb.train.txt" "$size"
    done
else
    skip 'the tokens of the Penn Treebank: set PTB_DIR'
fi

# --- checks ---

"$python" "$here/check_bpe.py" classes "$here/../../data/tokenizers/unicode.c"

"$python" "$here/check_tensors.py" ./*/*.safetensors
for name in $exported; do
    "$python" "$here/check_tokens.py" "$name" "$name.plain"
done
# The library in Python, with NumPy.
printf '\nthe prices' >prompt.txt
"$bin/export" --plain --example prompt.txt linear linear-example
LINNET_LIBRARY=$bin/lib/liblinnet.so.0 PYTHONPATH=$here/../../models/library "$python" \
    "$here/../library/check_linnet.py" "$bin" linear-example/example.json "$here/../../eval/README.md" \
    linear byte special-700

if has scipy; then
    "$python" "$here/check_statistics.py" "$bin"
else
    skip 'statistics of compare: scipy is missing'
fi
if has gguf; then
    mkdir gguf
    cp toy.txt odd.txt gguf
    (cd gguf && sh "$here/gguf.sh" "$bin" "$python")
    has llama_cpp || skip 'logits in llama.cpp: llama-cpp-python is missing'
else
    skip 'GGUF files: the package gguf is missing'
fi
if [ "$extent" = light ]; then
    skip 'logits in transformers, modeling_linnet.py, and event files: make interop'
else
    if has torch && has transformers; then
        # shellcheck disable=SC2086
        "$python" "$here/check_logits.py" $exported
        "$bin/tokens" train --vocab-size 300 --special-tokens '<|endoftext|>' --out tokenizer toy.txt
        mkdir imports
        (cd imports && "$python" "$here/check_import.py" "$bin" ../odd.txt ../tokenizer)
        mkdir modeling
        cp toy.txt modeling
        (cd modeling && sh "$here/modeling.sh" "$bin" "$python")
    else
        skip 'logits in transformers, modeling_linnet.py: torch or transformers is missing'
    fi
    if has fla.layers; then
        mkdir kinds
        "$folder/../interop-cases" kinds
        "$python" "$here/check_kinds.py" kinds
        "$python" "$here/check_layers.py" kinds
    else
        skip 'attention kinds against those of their names: flash-linear-attention is missing'
    fi
    if has tensorboard; then
        train events toy.txt --steps 40 --log-every 5 --eval-every 10 --tensorboard
        "$python" "$here/tensorboard.py" events
    else
        skip 'event files: tensorboard is missing'
    fi
fi
[ -z "$skipped" ] || echo "Not checked:$skipped"
