#!/bin/sh
# Tests toy: its text and its entropy.
. "$(dirname -- "$0")/../commands.sh"

explains_itself toy

works 'toy prints a text' "$bin/toy" --length 50
cp out first
run "$bin/toy" --length 50
check 'toy prints the same text each time' same out first
run "$bin/toy" --length 50 --seed 2
check 'toy prints another text for another seed' differ out first
works 'toy prints its entropy' "$bin/toy" --entropy

refused 'toy refuses an argument' 2 'text.txt' "$bin/toy" text.txt
reports_full_disk toy

count_cases
