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

works 'toy prints a task' "$bin/toy" recall:pairs=2 --length 30
check 'a task has a line for each 7 tokens' lines out 5
check 'answers stand behind the symbols' prints '^k[0-9]* v[0-9]* k[0-9]* v[0-9]* k[0-9]*=v[0-9]* k'
works 'toy lists the tasks' "$bin/toy" --tasks
check 'each task has its settings' prints '^    pairs  *.*(1 to 4096) \[8\]$'
refused 'toy refuses a setting out of range' 2 'pairs must be' "$bin/toy" recall:pairs=0

refused 'toy refuses the entropy of a task' 2 'give one of' "$bin/toy" --entropy parity
refused 'toy refuses an argument that is no task' 2 'text.txt' "$bin/toy" text.txt
reports_full_disk toy

count_cases
