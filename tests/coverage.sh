#!/bin/sh
# Reports which lines the tests reached: coverage.sh BUILD, where BUILD holds the objects of a
# build with --coverage after the tests have run. Prints the unreached lines of each source, then
# the coverage of each floor and of all.
set -eu

build=$1
floors='src data models train'

# Prints "SOURCE LINE COUNT" for each executable line.
counted() {
    find "$build/float/src" "$build/float/data" "$build/float/models" "$build/float/train" \
        -name '*.gcno' | sort | while read -r notes; do
        data=${notes%.gcno}.gcda
        [ -f "$data" ] || data=$notes
        gcov -t "$data" 2>/dev/null | awk -F : '
            $3 == "Source" || $2 ~ /^ *0$/ && $3 == "Source" { source = $4 }
            { gsub(/ /, "", $1); gsub(/ /, "", $2) }
            $2 > 0 && $1 != "-" { print source, $2, $1 ~ /^[#=]/ ? 0 : 1 }'
    done
}

# A line compiled into several objects counts as reached if one of them reached it.
counted | awk -v floors="$floors" '
    $1 !~ /^(src|data|models|train)\// { next }
    { line = $1 " " $2 }
    !(line in reached) { order[++lines] = line }
    { reached[line] += $3 }
    END {
        for (i = 1; i <= lines; i++) {
            split(order[i], part, " "); floor = part[1]; sub(/\/.*/, "", floor)
            all[floor]++
            if (reached[order[i]]) hit[floor]++
            else {
                if (!(part[1] in missed)) files[++count] = part[1]
                missed[part[1]] = missed[part[1]] " " part[2]
            }
        }
        for (i = 1; i <= count; i++) print files[i] ":" missed[files[i]]
        total = split(floors, names, " ")
        for (i = 1; i <= total; i++) {
            f = names[i]; sum += all[f]; hits += hit[f]
            printf "%-8s %6d lines, %5.1f %% reached\n", f, all[f], 100 * hit[f] / all[f]
        }
        printf "%-8s %6d lines, %5.1f %% reached\n", "all", sum, 100 * hits / sum
        exit hits < 0.95 * sum
    }'
