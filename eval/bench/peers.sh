#!/bin/sh
# Training speed of linnet and of PyTorch on this machine, in turns: peers.sh BIN FOLDER. BIN has
# linnet's programs; FOLDER keeps a Python environment with PyTorch from one time to the next.
# Prints a Markdown table: medians of ROUNDS measurements (3), in tokens per second.
set -eu
export LC_ALL=C

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
bin=$1 folder=$2 rounds=${ROUNDS:-3}
python=$folder/environment/bin/python3
mkdir -p "$folder"
if ! "$python" -c 'import torch' 2>/dev/null; then
    echo "Installing PyTorch in $folder/environment" >&2
    "${PYTHON:-python3}" -m venv "$folder/environment"
    "$python" -m pip install --quiet --disable-pip-version-check "${TORCH:-torch==2.11.0}" numpy
fi

median() { sort -g | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }
linnet_speed() {
    "$bin/bench" train --preset article --ffn 0 --dropout 0 --input-dropout 0 \
        --repeats 10 --json "$@" |
        sed -n 's/.*"tokens_per_second": *\([0-9.]*\).*/\1/p'
}

# row LAYERS DIM ATTN PRECISION
row() {
    shape="--layers $1 --dim $2 --heads 4 --context 128 --batch 16 --attn $3 --precision $4"
    rm -f "$folder"/*.times
    for _ in $(seq "$rounds"); do
        # shellcheck disable=SC2086
        {
            linnet_speed $shape >>"$folder/linnet.times"
            "$python" "$here/peer.py" $shape >>"$folder/eager.times"
            "$python" "$here/peer.py" --compile $shape >>"$folder/compiled.times"
        }
    done
    printf '| %s layers of %s | %s | %s |' "$@"
    echo "$(median <"$folder/linnet.times")" "$(median <"$folder/eager.times")" \
        "$(median <"$folder/compiled.times")" | awk '{
            best = $2 > $3 ? $2 : $3
            printf " %.0f | %.0f | %.0f | %.1f |\n", $1, $2, $3, $1 / best }'
}

echo '| model | attention | precision | linnet | PyTorch | with torch.compile | linnet against the faster |'
echo '|---|---|---|---:|---:|---:|---:|'
for model in '4 256' '2 128'; do
    for attention in softmax linear; do
        for precision in ${PRECISIONS:-single bf16}; do
            # shellcheck disable=SC2086
            row $model "$attention" "$precision"
        done
    done
done
