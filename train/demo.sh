#!/bin/sh
# Two models, one minute each: softmax against linear attention on the same text, their curves,
# a sample of what each has learned to write, and a page of all that. "make demo" runs it.
set -eu
cd "$(dirname "$0")/.."

if [ -f data/ptb.train.txt ] || [ -f data/ptb.train.txt.gz ]; then
    corpus=ptb.txt steps=500
else
    echo "The Penn Treebank is not in data/ (data/get-ptb puts it there);"
    echo "the demo takes the toy language instead."
    corpus=toy steps=1200
fi

folder=runs/demo number=2
while [ -e "$folder" ]; do
    folder=runs/demo-$number number=$((number + 1))
done
mkdir -p "$folder"

for kind in softmax linear; do
    printf '\n== %s attention\n' "$kind"
    bin/train --preset demo --attn "$kind" --steps "$steps" --run "$folder/$kind" "$corpus"
done
printf '\n== Both\n'
bin/compare "$folder/softmax" "$folder/linear" --html "$folder/report.html"
for kind in softmax linear; do
    printf '\n== What the %s model writes\n' "$kind"
    bin/sample --no-interactive --length 100 --no-unk --seed 3 "$folder/$kind"
done
printf '\nCurves, settings and samples, for a browser: %s/report.html\n' "$folder"
printf 'Talk to a model: bin/sample %s/linear\n' "$folder"
printf 'See where it looks: bin/inspect %s/softmax --text "the prices of"\n' "$folder"
