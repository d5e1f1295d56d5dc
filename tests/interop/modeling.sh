#!/bin/sh
# Holds modeling_linnet.py against linnet: modeling.sh BIN PYTHON [NAME...]. Works in the current
# directory, which has toy.txt.
#
# Trains models of each attention kind and of each option that changes what a model computes, for a
# few steps that move all weights, and exports them. The kinds and their options are those that
# train lists, so that none is left out. With names, only those models.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
bin=$1 python=$2
shift 2
only=$*
models=

# Several windows of 24 tokens, the last one not full.
head -n 5 toy.txt >text.txt

chosen() { [ -z "$only" ] || case " $only " in *" $1 "*) ;; *) false ;; esac; }

# model NAME OPTIONS...: trains it, exports it, and lets eval and sample read and write texts with it.
model() {
    name=$1
    shift
    chosen "$name" || return 0
    "$bin/train" --layers 2 --dim 32 --heads 4 --context 24 --batch 4 --steps 30 --lr 0.02 \
        --warmup 5 --no-zero-init --quiet --run "run-$name" "$@" toy.txt
    "$bin/export" --example text.txt "run-$name" "$name" >export.log
    "$bin/eval" --json --split test --test text.txt "run-$name" toy.txt >"$name/eval.json" 2>eval.log
    "$bin/sample" --json --show-probs --temperature 1 --length 40 "run-$name" \
        >"$name/sampled.json" </dev/null
    "$bin/sample" --json --greedy --length 30 "run-$name" >"$name/greedy.json" </dev/null
    models="$models $name"
}

# --- each kind ---

# Values of the kinds' own options that matter in windows of 24 positions.
value_of() {
    case $1 in
        window) echo 5 ;;
        period) echo 4 ;;
        summary) echo 2 ;;
        segment) echo 6 ;;
        rank) echo 3 ;;
        features) echo 12 ;;
        hashes) echo 3 ;;
        buckets) echo 4 ;;
        near) echo 2 ;;
        tau) echo 0.6 ;;
        sink | negative-eigenvalues) echo yes ;;
        steps-per-token) echo 3 ;;
        *) echo "modeling.sh: no value to test --$1 with" >&2 && return 1 ;;
    esac
}

# Lines "KIND OPTION..." from the list of kinds.
"$bin/train" --attn help | awk '
    /^[a-z]/ { if (kind) print kind; kind = $1 }
    /^ +--/ { sub(/:$/, "", $1); sub(/^--/, "", $1); kind = kind " " $1 }
    /^Kinds/ { exit }
    END { print kind }' >kinds.txt

while read -r kind options; do
    model "$kind" --attn "$kind"
    given=
    for option in $options; do
        value=$(value_of "$option")
        [ "$value" = yes ] && given="$given --$option" || given="$given --$option $value"
    done
    # Most kinds have RoPE by default, and the others can do with it; one says that it cannot.
    pos=rotary
    "$bin/train" --attn "$kind" --pos rotary --steps 1 --quiet --run refused toy.txt 2>refusal.txt ||
        { grep -q 'does not work with rotated' refusal.txt && pos=sinusoidal; }
    rm -rf refused
    # shellcheck disable=SC2086
    model "$kind-own" --attn "$kind" --pos "$pos" --no-qk-norm $given
done <kinds.txt

# --- what surrounds the kind ---

model no-parts --attn gated-delta --conv no --head-norm no --out-gate no --no-qk-norm
model all-parts --attn softmax --conv yes --head-norm yes --out-gate yes
model head-gates --attn softmax+kda --head-gate
model residual --attn linear --conv residual --out-gate yes
model values --attn softmax+linear+kda --layers 4 --value-residual
model hybrid --attn window+gated-delta --layers 3 --value-residual
model common --attn retention+rwkv7+mamba2 --layers 3 --parts common
model mixed --attn window+softmax1 --window 7 --layers 3 --sink
model wide --attn taylor2+performer --dim 48 --heads 2
model wider --attn taylor2+nystrom --dim 80 --heads 2 --segment 8
model long --attn hedgehog+gated-delta+kda --layers 3 --context 80 # longer than a chunk
model carried --attn gated-delta --carry-state
model carried-window --attn window --window 9 --carry-state

# --- the model ---

model post --attn softmax --norm post --act gelu --pos sinusoidal
model learned --attn softmax --pos learned --no-tied --head-bias no --act relu
model swiglu --attn softmax --pos none --act swiglu --ffn 40 --head-bias yes
model capped --attn softmax --logit-cap 3
model exact --attn softmax --norm post --act gelu-erf
model rope --attn softmax1+linear+nystrom --layers 3 --segment 8 --rope-base 500 --rope-share 0.6
model rms --attn gla --rms-norm --norm-eps 1e-3
model unbiased --attn delta --no-bias --out-gate yes
model parallel --attn window+softmax --window 7 --parallel
model ngrams --attn softmax+linear --ngrams 4 --ngram-rows 50
model odd --attn strided --dim 30 --heads 3 --layers 1 --context 17 --norm post --no-tied

# --- tokenizers ---

model char --attn linear --tokens char
model byte --attn softmax --tokens byte
model bpe --attn softmax --tokens bpe --vocab-size 300
model wordpunct --attn linear --tokens wordpunct
model lowercase --attn linear --tokens wordpunct --lowercase

"$bin/train" --help all >options.txt
# shellcheck disable=SC2086
"$python" "$here/check_modeling.py" kinds.txt options.txt ${only:+--some} $models </dev/null
