#!/bin/sh
# "make demo": trains softmax and linear attention on the same text, for less than a minute each,
# then shows their loss curves, a sample from each, and a page with both.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."

# Less than a million tokens: 45 seconds per model on a machine with 20,000 tokens per second. A
# step on the Penn Treebank takes longer, because of its larger vocabulary.
if [ -f data/ptb.train.txt ] || [ -f data/ptb.train.txt.gz ]; then
    corpus=ptb.txt steps=250
else
    echo "The demo trains on linnet's built-in toy language."
    echo "To train on the Penn Treebank, run data/get ptb first."
    corpus=toy steps=400
fi

folder=runs/demo number=2
while [ -e "$folder" ]; do
    folder=runs/demo-$number number=$((number + 1))
done
mkdir -p "$folder"

for kind in softmax linear; do
    printf '\n== Training with %s attention\n' "$kind"
    bin/train --preset demo --attn "$kind" --steps "$steps" --run "$folder/$kind" "$corpus"
done
printf '\n== Comparison\n'
bin/compare "$folder/softmax" "$folder/linear" --html "$folder/report.html"
for kind in softmax linear; do
    printf '\n== A sample from the model with %s attention\n' "$kind"
    bin/sample --length 100 --no-unk --seed 3 "$folder/$kind" </dev/null
done
printf '\nOpen %s/report.html in a browser: curves, settings and samples of both runs.\n' "$folder"
printf 'Generate more text:  bin/sample %s/linear\n' "$folder"
printf 'See the attention:   bin/inspect %s/softmax --text "the prices of"\n' "$folder"
