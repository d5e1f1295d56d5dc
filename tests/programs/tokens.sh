#!/bin/sh
# Tests tokens, and training on the files that it writes.
. "$(dirname -- "$0")/../commands.sh"

explains_itself tokens

# Five megabytes, so that encode takes several pieces.
"$bin/toy" --length 1000000 >text.txt
head -n 4000 text.txt >short.txt
tail -n 1000 text.txt >held.txt

# --- train ---

works 'tokens train learns a tokenizer' "$bin/tokens" train --vocab-size 400 --out bpe short.txt
check 'train says what it made' prints '^bpe: 400 entries (bpe)'
for file in tokenizer.json vocab.json merges.txt; do
    check "train writes $file" [ -s "bpe/$file" ]
done
for kind in word char byte; do
    works "tokens train learns $kind" "$bin/tokens" train --tokens "$kind" --out "$kind" short.txt
    check "train writes vocabulary.txt for $kind" \
        eval "head -n 1 $kind/vocabulary.txt | grep -q '^# linnet tokenizer $kind$'"
done
works 'tokens train lower-cases' "$bin/tokens" train --tokens wordpunct --lowercase --out small short.txt
check 'vocabulary.txt says that it lower-cases' \
    [ "$(head -n 1 small/vocabulary.txt)" = '# linnet tokenizer wordpunct lowercase' ]
printf 'The DOG sees the dog.\n' >capitals.txt
works 'a text is encoded in small letters' \
    "$bin/tokens" encode --tokenizer-file small --out small/train.bin capitals.txt
tr '[:upper:]' '[:lower:]' <capitals.txt >small.txt
works 'so is one that has none' \
    "$bin/tokens" encode --tokenizer-file small --out small/val.bin small.txt
check 'their ids are the same' same small/train.bin small/val.bin
refused 'training cannot ask a tokenizer that keeps capitals to lower-case' 2 'drop --lowercase' \
    "$bin/train" --run refused --lowercase --tokenizer-file word short.txt
refused 'nor one of another kind to be the one that --tokens names' 2 'is bpe; drop --tokens word' \
    "$bin/train" --run refused --tokens word --tokenizer-file bpe short.txt
printf '# linnet tokenizer word lowercase\nThe\n<eos>\n<unk>\n' >tall.txt
refused 'a tokenizer that lower-cases has no capitals' 1 'vocabulary:1: a capital letter' \
    "$bin/tokens" count --tokenizer-file tall.txt short.txt
refused 'special tokens count in the size of a vocabulary' 2 'are 258 already' \
    "$bin/tokens" train --vocab-size 256 --special-tokens '<|a|>,<|b|>' --out none short.txt
printf 'ab ab ab cd\n' >few.txt
works 'a tokenizer in a directory with an odd name' \
    "$bin/tokens" train --vocab-size 300 --out "$rude" few.txt
check 'tokens prints no control characters of a name' is_plain
works 'train learns all there is' "$bin/tokens" train --vocab-size 300 --out few few.txt
check 'train says that there is no more to learn' says 'fewer entries than --vocab-size 300'
printf '# linnet tokenizer word\r\ndog\r\n<eos>\r\n<unk>\r\n' >windows.txt
refused 'a vocabulary with the line ends of Windows is refused' 1 'windows.txt:1: .*CR LF' \
    "$bin/tokens" count --tokenizer-file windows.txt short.txt
refused 'train refuses a directory that has a tokenizer' 1 'has a tokenizer already' \
    "$bin/tokens" train --out bpe short.txt
refused 'train needs a directory' 2 'missing: --out DIR' "$bin/tokens" train short.txt
refused 'train refuses a missing text' 1 'no.txt: cannot open' "$bin/tokens" train --out none no.txt
: >empty.txt
refused 'train refuses an empty text' 1 'the text is empty' "$bin/tokens" train --out none empty.txt
refused 'train refuses a text above the limit' 1 'raise --max-input-mb' "$bin/tokens" train \
    --tokens word --out none --max-input-mb 1 text.txt
works 'train learns merges from a text of any size' "$bin/tokens" train --out large \
    --vocab-size 300 --max-input-mb 1 text.txt
refused 'an unknown command is refused' 2 "'enc' is not a command" "$bin/tokens" enc text.txt
refused 'a command is needed' 2 'a command is needed' "$bin/tokens"
refused 'a file is needed' 2 'one file is needed' "$bin/tokens" count

# --- encode and decode ---

for kind in bpe word char byte; do
    works "tokens encode writes ids of $kind" \
        "$bin/tokens" encode --tokenizer-file "$kind" --out "$kind/train.bin" text.txt
    cp out "facts.$kind"
    run "$bin/tokens" decode "$kind/train.bin"
    check "decode gives the text back from $kind" same out text.txt
    run "$bin/tokens" count "$kind/train.bin"
    check "count agrees with encode about $kind" same out "facts.$kind"
    run "$bin/tokens" count --tokenizer-file "$kind" text.txt
    check "count of the text agrees, too ($kind)" same out "facts.$kind"
    check "encode leaves no other files ($kind)" eval "! ls $kind | grep -q -e part -e progress"
done
refused 'encode refuses token ids as a text' 2 'holds token ids' \
    "$bin/tokens" encode --tokenizer-file bpe --out bpe/again.bin bpe/train.bin
refused 'encode needs the text' 1 'no.txt: cannot open' \
    "$bin/tokens" encode --tokenizer-file bpe --out fresh/train.bin no.txt
check 'encode makes no directory for nothing' [ ! -e fresh ]
refused 'encode refuses what only train has' 2 'leave out --vocab-size' \
    "$bin/tokens" encode --vocab-size 300 --tokenizer-file bpe --out fresh/train.bin text.txt
gzip -c text.txt >text.gz
works 'encode reads gzip' "$bin/tokens" encode --tokenizer-file bpe --out new/packed.bin text.gz
check 'gzip gives the same ids' same new/packed.bin bpe/train.bin
"$bin/tokens" encode --tokenizer-file bpe --out new/piped.bin - <text.txt >out 2>err
check 'encode reads standard input' same new/piped.bin bpe/train.bin
check 'encode puts the tokenizer beside the ids' same new/tokenizer.json bpe/tokenizer.json
refused 'encode refuses a directory with another tokenizer' 1 'has another tokenizer' \
    "$bin/tokens" encode --tokenizer-file word --out bpe/x.bin text.txt
refused 'encode needs a tokenizer' 2 'a tokenizer is missing' "$bin/tokens" encode --out none.bin text.txt
refused 'encode needs a file that ends in .bin' 2 'ends in .bin' "$bin/tokens" encode \
    --tokenizer-file bpe --out none text.txt
refused 'encode refuses an empty text' 1 'the text is empty' "$bin/tokens" encode \
    --tokenizer-file bpe --out fresh/none.bin empty.txt
check 'a failed encode leaves nothing' eval '[ -z "$(ls -A fresh 2>/dev/null)" ]'
{ cat text.txt; printf 'b\377d\n'; } >broken.txt
refused 'encode says where a text is broken' 1 \
    "broken.txt:$(($(grep -c '' text.txt) + 1)): invalid UTF-8 at byte $(($(wc -c <text.txt) + 1))" \
    "$bin/tokens" encode --tokenizer-file word --out fresh/none.bin broken.txt
check 'a failed encode leaves nothing behind' eval '[ -z "$(ls -A fresh 2>/dev/null)" ]'
printf 'a\0b\377\r\n \342\200\212\n' >bytes
"$bin/tokens" encode --tokenizer-file byte --out byte/any.bin bytes >out 2>err
run "$bin/tokens" decode byte/any.bin
check 'any bytes come back from byte' same out bytes
refused 'bpe refuses binary data' 1 'bytes:1: binary data at byte 1' \
    "$bin/tokens" encode --tokenizer-file bpe --out bpe/any.bin bytes
printf 'a caf\351\r\n' >latin.txt
refused 'bpe refuses Latin-1, and says how to convert it' 1 \
    'latin.txt:1: invalid UTF-8 at byte 5.*iconv -f LATIN1 -t UTF-8' \
    "$bin/tokens" train --out none latin.txt

# Files of other systems: the same ids.
head -n 200 text.txt >unix.txt
sed 's/$/\r/' unix.txt >windows
{ printf '\357\273\277'; cat windows; } >marked
{ printf '\377\376'; iconv -f UTF-8 -t UTF-16LE windows; } >wide
{ printf '\376\377'; iconv -f UTF-8 -t UTF-16BE unix.txt; } | gzip >wide.gz
for kind in bpe word char; do
    "$bin/tokens" encode --tokenizer-file "$kind" --out "other-$kind/unix.bin" unix.txt >out 2>err
    for file in windows marked wide wide.gz; do
        works "encode reads $file ($kind)" "$bin/tokens" encode --tokenizer-file "$kind" \
            --out "other-$kind/$file.bin" "$file"
        check "encode says so in one line ($file)" eval \
            "[ \$(grep -c '' err) = 1 ] && says '^tokens: $file: UTF-.* read as plain UTF-8'"
        check "$file gives the same ids ($kind)" same "other-$kind/$file.bin" "other-$kind/unix.bin"
    done
done
works 'train learns from UTF-16' "$bin/tokens" train --vocab-size 300 --out wide-bpe wide
works 'train learns from plain text' "$bin/tokens" train --vocab-size 300 --out unix-bpe unix.txt
check 'both give the same tokenizer' same wide-bpe/tokenizer.json unix-bpe/tokenizer.json
works 'count reads UTF-16 twice' "$bin/tokens" count --tokens word wide
check 'count says once that it converts' [ "$(grep -c '' err)" = 1 ]
refused 'decode takes ids only' 2 'NAME.bin' "$bin/tokens" decode text.txt
cp bpe/train.bin alone.bin
refused 'decode needs a tokenizer' 1 'no tokenizer.json or vocabulary.txt beside it' \
    "$bin/tokens" decode alone.bin
refused 'decode refuses ids that the tokenizer has not' 1 'only ids below 256' \
    "$bin/tokens" decode --tokenizer-file byte alone.bin
refused 'count of standard input needs a tokenizer' 2 'only once' "$bin/tokens" count -
refused 'count of a pipe needs a tokenizer' 2 'only once' \
    sh -c 'cat short.txt | "$1" count --tokens word /dev/stdin' sh "$bin/tokens"
refused 'count has no --out' 2 'leave out --out' "$bin/tokens" count --out x.bin short.txt
refused 'train refuses a file as --out' 1 'not a directory' \
    "$bin/tokens" train --tokens word --out short.txt short.txt
refused 'train refuses an empty --out' 2 '--out DIR' "$bin/tokens" train --out '' short.txt
printf '# linnet tokenizer byte' >unended.txt
works 'a tokenizer of one line needs no line end' \
    "$bin/tokens" count --tokenizer-file unended.txt short.txt
works 'count learns a tokenizer' "$bin/tokens" count --tokens char short.txt
check 'count learned characters' prints ', 0 of them unknown.*(char)$'
(exec "$bin/tokens" decode bpe/train.bin >/dev/full) 2>err
check 'decode notices a full disk' grep -q 'cannot write to standard output' err

# --- interruptions ---

# The text comes through a pipe, and stops in the middle until there is a file "go".
feed() {
    head -c 2500000 text.txt
    until [ -e go ]; do sleep 0.1; done
    tail -c +2500001 text.txt
}
encode() { exec "$bin/tokens" encode --tokenizer-file bpe --out kill/train.bin "$@"; }
# interrupt SIGNAL WHETHER: encodes anew or goes on, and sends the signal in the middle.
interrupt() {
    rm -f go err
    feed >pipe 2>/dev/null &
    (encode - <pipe >out 2>err) &
    child=$!
    eventually [ -s kill/train.bin.part ]
    [ "$2" = anew ] || eventually grep -q -s 'then continues' err
    sleep 1
    kill -s "$1" "$child"
    touch go
    wait "$child"
    status=$?
    child=
    wait
}

mkdir kill
mkfifo pipe
interrupt TERM anew
check 'a signal stops encode' eval "exits 143 && says 'the same command continues'"
check 'a stopped encode notes how far it came' [ -s kill/train.bin.progress ]
check 'a stopped encode has no file' [ ! -e kill/train.bin ]
cp -r kill stale && rm stale/train.bin.part
run "$bin/tokens" encode --tokenizer-file bpe --out stale/train.bin empty.txt
check 'notes without their ids are removed' eval \
    "exits 1 && [ ! -e stale/train.bin.progress ]"
(encode held.txt) >out 2>err
status=$?
check 'encode does not go on with another text' eval \
    "exits 1 && says 'was begun with another text'"
rm kill/*.json kill/merges.txt 2>err
run "$bin/tokens" encode --tokenizer-file word --out kill/train.bin text.txt
check 'encode does not go on with another tokenizer' says 'was begun with another tokenizer'
interrupt KILL further
check 'a killed encode had gone on' says 'train.bin.part: has the ids of [1-9].* then continues'
check 'a killed encode has no file' [ ! -e kill/train.bin ]
(encode text.gz) >out 2>err
status=$?
check 'encode goes on to the end' exits 0
check 'an encode in three parts writes the same file' same kill/train.bin bpe/train.bin
check 'an encode in three parts counts all' same out facts.bpe
check 'an encode in three parts leaves no other files' \
    eval '! ls kill | grep -q -e part -e progress'
feed() { # ends in the middle, as if the signal had ended it, too
    head -c 2500000 text.txt
    until [ -e go ]; do sleep 0.1; done
}
rm kill/train.bin
interrupt TERM anew
check 'after a signal the end of a pipe is not that of the text' eval \
    "exits 143 && [ ! -e kill/train.bin ]"

# --- training on ids ---

# The same text as text and as ids: the same model.
"$bin/tokens" encode --tokenizer-file bpe --out ids/train.bin short.txt >out 2>err
"$bin/tokens" encode --tokenizer-file bpe --out ids/val.bin held.txt >out 2>err
cp ids/val.bin ids/test.bin
train texts --tokenizer-file bpe --valid held.txt --test held.txt short.txt
check 'train takes a tokenizer from a file' exits 0
train mapped ids
check 'train takes a directory of ids' exits 0
check 'ids and text give the same model' same_numbers mapped/best.safetensors texts/best.safetensors
check 'ids and text have the same checksum' [ "$(recorded mapped/last.safetensors corpus_crc32)" = \
    "$(recorded texts/last.safetensors corpus_crc32)" ]
check 'the tokenizer is that of the file' grep -q '^tokens = bpe$' mapped/settings.conf
train cut --stop-after 20 ids/train.bin
resume cut
check 'a run on ids goes on' exits 0
check 'a run on ids in two parts is that in one' same_numbers cut/last.safetensors \
    mapped/last.safetensors
works 'eval reads ids' "$bin/eval" mapped ids
cp out expected
works 'eval reads the text of the ids' "$bin/eval" mapped --valid held.txt --test held.txt short.txt
check 'both have the same score' same out expected
check "the text of the ids is the run's own" eval 'lines mapped/scores.csv 2 && fails says "mapped: "'
works 'eval reads other ids' "$bin/eval" mapped ids --valid ids/train.bin
check "other ids are not the run's own" says 'mapped: its own valid text is another one'
rm ids/test.bin
refused 'eval says that there is no test text' 1 'there is no test text; name a file with --test' \
    sh -c '"$1" mapped ids --split test 2>all; status=$?; tail -n 1 all >&2; exit $status' sh "$bin/eval"
"$bin/tokens" encode --tokenizer-file char --out other/val.bin held.txt >out 2>err
run "$bin/eval" mapped other/val.bin
check 'eval refuses the ids of another tokenizer' eval "exits 1 && says 'not that of the run'"
head -c 1001 ids/train.bin >odd.bin
refused 'train refuses an odd number of bytes' 1 'an odd number of bytes, 1001' \
    "$bin/train" --tokenizer-file bpe --run none odd.bin
refused 'train refuses ids without a tokenizer' 1 'name it with --tokenizer-file' \
    "$bin/train" --run none odd.bin
refused 'train refuses ids that the tokenizer has not' 1 'only ids below 256' \
    "$bin/train" --tokenizer-file byte --run none alone.bin

# A file that another program changes while it trains: the state before is saved.
# changing NAME PHRASE COMMAND: the command changes changing/train.bin.
changing() {
    rm -rf changed changing
    cp -r ids changing
    # shellcheck disable=SC2086
    "$bin/train" $small --steps 100000000 --eval-every 0 --save-every 0 --log-every 1 \
        --stop-after 90s --run changed changing >out 2>err &
    child=$!
    eventually grep -q '^1,' changed/log.csv 2>/dev/null
    eval "$3"
    wait "$child"
    status=$?
    child=
    check "a file that $1 ends training with status 1" exits 1
    check "a file that $1 is named" says "changing/train.bin: $2 while it was being read"
    check "a file that $1 leaves a checkpoint" [ -s changed/last.safetensors ]
    check "a file that $1 leaves no lock" [ ! -e changed/lock ]
    check "a file that $1: train says how to go on" says 'is intact; to continue.*--resume changed'
    step=$(recorded changed/last.safetensors step)
    cp ids/train.bin changing/train.bin
    resume changed --stop-after 3
    check "a file that $1 and comes back: the run goes on" exits 0
    # shellcheck disable=SC2086
    run "$bin/train" $small --steps 100000000 --eval-every 0 --save-every 0 --log-every 1 \
        --run unchanged --stop-after "$((step + 3))" ids
    check "a file that $1 leaves a run that is as if nothing had happened" \
        same_numbers changed/last.safetensors unchanged/last.safetensors
    rm -rf unchanged
}
changing 'shrinks' 'became shorter' 'truncate -s 3 changing/train.bin'
changing 'is overwritten with other valid ids' changed \
    'tail -c 4000 ids/train.bin | dd of=changing/train.bin conv=notrunc status=none'
cp -r ids touched
# shellcheck disable=SC2086
"$bin/train" $small --steps 100000000 --eval-every 0 --log-every 1 --run touching touched >out 2>err &
child=$!
eventually [ -s touching/log.csv ]
touch touched/train.bin
sleep 1
check 'a file that is only touched does not end training' kill -0 "$child"
kill "$child"
wait "$child"
child=

count_cases
