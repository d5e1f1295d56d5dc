#!/bin/sh
# Checks the documents: what those for readers of the code name exists (any `long_name` must occur in
# the sources, any `folder/file` must exist, and in "`name` in `file.c`" or "`file.c`: `name`, `name`"
# the names must occur in that file); links lead somewhere; marked figures are those of results.csv.
set -u
cd -- "$(dirname -- "$0")/.." || exit 1
. tests/cases.sh
floors='src data models eval train tests'

# The text of a document in one line, without blocks of code.
prose() { sed '/^ *```/,/^ *```/d' "$1" | tr '\n' ' ' | tr -s ' '; }

is_there() {
    [ -e "$1" ] || find $floors -path "*/${1%/}" | grep -q .
}

is_named() { grep -rqw --include='*.[ch]' -e "$1" $floors; }

# Prints what a document names in vain, and fails if there is anything.
names_what_exists() {
    names='(`[A-Za-z]\w*`(, | and )?)+'
    {
        prose "$1" | grep -oE '`[^` ]+`' | tr -d '`' | sort -u |
            grep -v -e 'NAME' -e '^bin/' -e '^build/' -e '^runs/' | while read -r name; do
            case $name in
            */ | */*.* | *.[ch] | *.sh) is_there "$name" || echo "  no file $name" ;;
            _* | *[!A-Za-z0-9_]*) ;;
            *_*) is_named "$name" || echo "  nothing is called $name" ;;
            esac
        done
        prose "$1" | grep -oE "$names in \`[^\`]+\.[ch]\`|\`[^\`]+\.[ch]\`: $names" |
            while read -r said; do
                file=$(echo "$said" | grep -oE '`[^`]+\.[ch]`' | tr -d '`')
                echo "$said" | grep -oE '`\w+`' | tr -d '`' | while read -r name; do
                    grep -qw -e "$name" "$file" || echo "  no $name in $file"
                done
            done
    } >"$work/missing" 2>&1
    cat "$work/missing"
    [ ! -s "$work/missing" ]
}

# The anchors of a document's headings.
anchors() {
    sed '/^ *```/,/^ *```/d' "$1" | sed -n 's/^##* //p' | tr '[:upper:]' '[:lower:]' |
        sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# Prints the links of a document that lead nowhere, and fails if there is one.
links_lead() {
    prose "$1" | grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//' | grep -v '^https*:' | while read -r link; do
        file=$(dirname "$1")/${link%%#*}
        case $link in
        '#'*) file=$1 ;;
        esac
        if [ ! -e "$file" ]; then
            echo "  no file for $link"
        else
            case $link in
            *'#'*) anchors "$file" | grep -qx -e "${link#*#}" || echo "  no heading for $link" ;;
            esac
        fi
    done >"$work/astray"
    cat "$work/astray"
    [ ! -s "$work/astray" ]
}

# Prints the figures of a document that are not those of results.csv, and fails if there is one. Marks
# follow the figures: <!-- ppl GROUP --> is a test perplexity, bpb bits per byte of the test text,
# accuracy a percentage, each the mean of the seeds of GROUP-SEED or, at the best learning rate, of
# GROUP-RATE-SEED; <!-- gap GROUP OTHER --> is the difference of test perplexity from OTHER in per cent.
figures_agree() {
    prose "$1" | grep -oE '[0-9][0-9.]*( %)?<!-- [a-z]+ [^>]*-->' |
        sed 's/ %</</; s/<!-- / /; s/ *-->//' >"$work/figures"
    awk '
        FNR == NR {
            if (FNR == 1) next
            split($0, cell, ",")
            group = cell[1]; sub(/-[0-9]$/, "", group)
            n[group]++; valid[group] += cell[8] == "" ? cell[2] : 1 - cell[8]
            test[group] += cell[5]; right[group] += cell[8]
            if (cell[7]) bits[group] += cell[5] * cell[6] / (cell[7] * log(2))
            next
        }
        FNR == 1 {
            for (group in n) {
                name = group
                if (!sub(/-[0-9.]+e-[0-9]+$/, "", name)) { chosen[name] = group; continue }
                mean = valid[group] / n[group]
                if (n[group] >= 3 && (!(name in low) || mean < low[name])) { low[name] = mean; chosen[name] = group }
            }
        }
        {
            at = chosen[$3]; other = chosen[$4]
            if (at == "" || $2 == "gap" && other == "") { print "  no rows for " $0; next }
            if ($2 == "ppl") is = exp(test[at] / n[at])
            else if ($2 == "bpb") is = bits[at] / n[at]
            else if ($2 == "accuracy") is = 100 * right[at] / n[at]
            else if ($2 == "gap") { is = 100 * (exp(test[at] / n[at] - test[other] / n[other]) - 1); if (is < 0) is = -is }
            else { print "  no such mark: " $0; next }
            digits = index($1, ".") ? length($1) - index($1, ".") : 0
            if (sprintf("%.*f", digits, is) != $1) print "  " $0 ": it is " is
        }' eval/results.csv "$work/figures" >"$work/wrong"
    cat "$work/wrong"
    [ ! -s "$work/wrong" ]
}

for document in models/README.md CONTRIBUTING.md tests/README.md; do
    check "$document names what exists" names_what_exists "$document"
done

for document in *.md $(find $floors -name "*.md"); do
    check "the links of $document lead somewhere" links_lead "$document"
    check "marked figures in $document are those of results.csv" figures_agree "$document"
done

# Each check sees what it is there for.
refuses() { ! names_what_exists "$1" >/dev/null; }
echo 'See `pass_forward` and `models/pass.c`: `forward`, `backward`. `mask` in `src/math/team.c`.' >"$work/moved"
echo 'See `pass_forwards`.' >"$work/name"
echo 'See `models/passes.c`.' >"$work/file"
echo 'See `models/pass.h`, and `gather_scored` in `models/pass.c`.' >"$work/good"
check 'a function in another file is found' refuses "$work/moved"
check 'an unknown function is found' refuses "$work/name"
check 'an unknown file is found' refuses "$work/file"
check 'a good document passes' names_what_exists "$work/good"
astray() { ! links_lead "$1" >/dev/null && [ "$(wc -l <"$work/astray")" -eq "$2" ]; }
check 'a link to no file is found' eval 'echo "[a](b.md)" >"$work/l.md" && astray "$work/l.md" 1'
check 'a link to no heading is found' eval 'echo "[a](#b)" >"$work/l.md" && astray "$work/l.md" 1'
wrong() { ! figures_agree "$1" >/dev/null && [ "$(wc -l <"$work/wrong")" -eq "$2" ]; }
{
    echo '75.3<!-- ppl tiny/softmax -->, 75.4<!-- ppl tiny/softmax -->, 10.5 %<!-- gap tiny/linear'
    echo 'tiny/softmax -->, 11 %<!-- gap tiny/linear tiny/none -->'
} >"$work/f.md"
check 'a figure that differs, and one without rows, are found' wrong "$work/f.md" 2
count_cases
