#!/bin/sh
# Speed of linnet and of PyTorch on this machine, in turns: peers.sh BIN FOLDER. BIN has linnet's
# programs; FOLDER keeps a Python environment with PyTorch from one time to the next. Prints two
# Markdown tables, medians of ROUNDS measurements (3): training in tokens per second, and attention
# alone in milliseconds. Each of linnet's runs measures the processor's peak first. PRECISIONS and
# LENGTHS choose rows.
set -eu
export LC_ALL=C

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
bin=$1 folder=$2 rounds=${ROUNDS:-3}
lengths=${LENGTHS:-128 256 512 1024 2048 6000}
python=$folder/environment/bin/python3
mkdir -p "$folder"
if ! "$python" -c 'import torch' 2>/dev/null; then
    echo "Installing PyTorch in $folder/environment" >&2
    "${PYTHON:-python3}" -m venv "$folder/environment"
    "$python" -m pip install --quiet --disable-pip-version-check "${TORCH:-torch==2.11.0}" numpy
fi
if [ -z "${PRECISIONS:-}" ]; then
    PRECISIONS=single
    ! "$bin/bench" gemm --precision bf16 --dim 32 --repeats 1 >/dev/null 2>&1 || PRECISIONS='single bf16'
fi

# The median of a column of a file.
median() { cut -d ' ' -f "$2" "$1" | sort -g | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'; }
# The numbers of JSON members on standard input, side by side.
members() {
    "$python" -c 'import json, sys; o = json.load(sys.stdin); print(*(o[m] for m in sys.argv[1:]))' "$@"
}

# train LAYERS DIM ATTN PRECISION
train() {
    shape="--layers $1 --dim $2 --heads 4 --context 128 --batch 16 --attn $3 --precision $4 --repeats 10"
    rm -f "$folder"/*.times
    for _ in $(seq "$rounds"); do
        # shellcheck disable=SC2086
        {
            "$bin/bench" train --preset article --ffn 0 --dropout 0 --input-dropout 0 --json $shape |
                members tokens_per_second utilisation peak_gflops peak_rss_mb >>"$folder/linnet.times"
            "$python" "$here/peer.py" $shape >>"$folder/eager.times"
            "$python" "$here/peer.py" --compile $shape >>"$folder/compiled.times"
        }
    done
    printf '| %s layers of %s | %s | %s |' "$@"
    echo "$(median "$folder/linnet.times" 1)" "$(median "$folder/linnet.times" 2)" \
        "$(median "$folder/linnet.times" 3)" "$(median "$folder/eager.times" 1)" \
        "$(median "$folder/compiled.times" 1)" | awk '{
            best = $4 > $5 ? $4 : $5
            printf " %.0f | %.0f %% of %.0f | %.0f | %.0f | %.2f |\n", $1, 100 * $2, $3, $4, $5, $1 / best }'
}

# attention LENGTH: batch 32, one head of 64
attention() {
    rm -f "$folder"/*.times
    for _ in $(seq "$rounds"); do
        for kind in softmax linear; do
            "$bin/bench" attention --dim 64 --heads 1 --batch 32 --repeats 5 --csv --n "$1" \
                --kinds "$kind" >"$folder/linnet.csv"
            awk -F, 'NR == 2 { print $4, $5, $7 }' "$folder/linnet.csv" >>"$folder/linnet-$kind.times"
            "$python" "$here/peer.py" --attention-alone --attn "$kind" --dim 64 --heads 1 --batch 32 \
                --context "$1" --repeats 5 >>"$folder/torch-$kind.times"
        done
    done
    printf '| %s |' "$1"
    for kind in softmax linear; do
        ours=$folder/linnet-$kind.times theirs=$folder/torch-$kind.times
        # the backward pass of softmax has 2.5 times the products of the forward pass
        echo "$kind" "$(median "$ours" 1)" "$(median "$ours" 2)" "$(median "$ours" 3)" \
            "$(median "$theirs" 1)" "$(median "$theirs" 2)" | awk '{
                printf " %.2f + %.2f |", $2, $3
                if ($1 == "softmax") printf " %.0f %% |", 100 * 3.5 * $4 * $2 / ($2 + $3)
                printf " %.2f + %.2f | %.1f, %.1f |", $5, $6, $5 / $2, $6 / $3 }'
    done
    echo
}

echo '| model | attention | precision | linnet, tokens/s | of the peak, GFLOP/s | PyTorch | with torch.compile | linnet / the faster |'
echo '|---|---|---|---:|---:|---:|---:|---:|'
for model in '4 256' '2 128'; do
    for kind in softmax linear; do
        for precision in $PRECISIONS; do
            # shellcheck disable=SC2086
            train $model "$kind" "$precision"
        done
    done
done
echo
echo 'Causal attention alone, 32 sequences, one head of 64: forward + backward in ms, and the ratio of each.'
echo
echo '| length | softmax: linnet | of the peak | PyTorch | ratio | linear: linnet | PyTorch | ratio |'
echo '|---:|---:|---:|---:|---:|---:|---:|---:|'
for length in $lengths; do
    attention "$length"
done
