#!/bin/sh
# Tests the public library: library.sh BIN BUILD [COMMAND...], run from the top, where BIN and BUILD
# are the directories of the programs and of the build, and COMMAND, such as valgrind, runs the
# programs that use the library. Installs it, builds models/library/example.c with it, and runs that,
# tests/library/client.c, and check_linnet.py. Prints a line for each failed check, and at the end how many passed and
# failed.
set -u
compiler=${EXAMPLE_CC:-${CC:-cc}} # of the example
. "$(dirname -- "$0")/cases.sh"

bin=$(CDPATH='' cd -- "$1" && pwd) || exit 1
build=$(CDPATH='' cd -- "$2" && pwd) || exit 1
shift 2
unset CDPATH
top=$PWD
library=$bin/lib/liblinnet.so.0
has() { command -v "$1" >/dev/null 2>&1; }
same() { [ "$1" = "$2" ] || { printf '%s\n' "wanted: $2" "got:    $1"; false; }; }
evidence() { head -n 5 "$work/said" 2>/dev/null; }
quietly() { "$@" >"$work/out" 2>"$work/said"; }

# --- what it shows ---

declared=$(sed -n 's/^LINNET_API.*[ *]\(linnet_[a-z_]*\)(.*/\1/p' models/library/linnet.h | sort)
if has nm && has readelf; then
    check 'the library shows the functions of linnet.h and nothing else' same \
        "$(nm -D --defined-only "$library" | awk '{ print $3 }' | grep -v -e '^__[a-z]*san' | sort)" "$declared"
    check 'its soname has the major version' same \
        "$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" liblinnet.so.0
else
    skip 'the names that the library shows, for want of nm and readelf (binutils)'
fi
check 'linnet.py has the functions of linnet.h' same \
    "$(sed -n 's/^    "\(linnet_[a-z_]*\)": .*/\1/p' models/library/linnet.py | sort)" "$declared"
version=$(sed -n 's/^#define LINNET_VERSION  *"\(.*\)"/\1/p' models/library/linnet.h)
number=$(echo "$version" | awk -F . '{ print 10000 * $1 + 100 * $2 + $3 }')
check 'the version and its number agree' grep -q "^#define LINNET_VERSION_NUMBER $number\$" \
    models/library/linnet.h
check 'the programs have the version of the library' eval \
    '"$bin/train" --version | grep -qw -e "$version"'

# --- installed ---

prefix=$work/prefix
check 'make install-library works' eval '"${MAKE:-make}" install-library BIN="$bin" BUILD="$build" \
    PREFIX="$prefix" >"$work/said" 2>&1'
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig" LD_LIBRARY_PATH="$prefix/lib"
config() { "${PKG_CONFIG:-pkg-config}" "$@" linnet; }
check 'pkg-config knows the version' same "$(config --modversion)" "$version"
# compiled COMPILER OPTIONS...: builds the example as the manual page says.
compiled() {
    # shellcheck disable=SC2046
    quietly "$@" $(config --cflags) models/library/example.c $(config --libs) -lm -o "$work/example"
}
if has g++; then
    echo '#include <linnet.h>
        int main() { return linnet_version() == nullptr; }' >"$work/example.cc"
    # shellcheck disable=SC2046
    check 'C++ takes the header' quietly g++ -Wall -Wextra -Werror $(config --cflags) \
        "$work/example.cc" $(config --libs) -o "$work/example-cc"
else
    skip 'the header in C++, for want of g++'
fi
check 'the example builds with the installed library' compiled $compiler -std=c11 -Wall -Wextra -Werror

# --- used ---

cd -- "$work" || exit 1
"$bin/toy" --length 20000 >toy.txt
head -c 500 toy.txt >text
# trained RUN OPTIONS...
trained() {
    run=$1
    shift
    "$bin/train" --layers 1 --dim 16 --heads 2 --context 24 --batch 4 --quiet --run "$run" "$@" toy.txt
}
trained word --attn gated-delta --steps 5
trained byte --attn softmax --tokens byte --pos learned --steps 5
trained bpe --attn softmax+linear --layers 2 --tokens bpe --vocab-size 400 --steps 5

for run in word byte bpe; do
    check "$run: four threads have the results of one" quietly "$@" "$build/library-client" threads $run text
    check "$run: errors are values" quietly "$@" "$build/library-client" errors $run text
    check "$run: every request for memory may fail" quietly "$build/library-memory" $run
done

if has localedef && localedef -i de_DE -f UTF-8 ./de_DE.UTF-8 2>said; then
    check 'decimal commas of a locale do not matter' \
        quietly env LOCPATH="$work" LC_ALL=de_DE.UTF-8 "$build/library-client" errors word text
else
    skip 'a locale with decimal commas: localedef cannot make it'
fi

# same_tokens RUN LENGTH TEMPERATURE TOP_K TOP_P PENALTY UNKNOWN STOP: of linnet_sample and sample.
same_tokens() {
    unk=--unk
    [ "$7" = yes ] || unk=--no-unk
    "$bin/sample" --json --prompt 'the prices' --seed 7 --count 2 --length "$2" --temperature "$3" \
        --top-k "$4" --top-p "$5" --repetition-penalty "$6" $unk --stop "$8" "$1" | tr -d ' \n' |
        grep -o '"token_ids":\[[^]]*' | sed 's/.*\[//' | tr ',' ' ' >wanted
    quietly "$build/library-client" sample "$1" 'the prices' 7 2 "$2" "$3" "$4" "$5" "$6" "$7" "$8" &&
        [ "$(wc -l <wanted)" -eq 2 ] && cmp out wanted >said 2>&1
}
for run in word byte bpe; do
    check "$run: linnet_sample has the tokens of sample" same_tokens $run 40 0.8 0 1 1 yes zebra
    check "$run: and with other settings" same_tokens $run 40 1.5 30 0.9 1.7 no zebra
    check "$run: and with the likeliest tokens" same_tokens $run 40 0 0 1 1.3 yes zebra
    check "$run: and up to a stop text" same_tokens $run 40 0.8 0 1 1 yes ' '
done

# The figures of programs: the text of sample, and the perplexity of eval, which ends the last line.
if [ -x example ]; then
    echo 'the prices' >line
    check 'the example scores a line' quietly ./example bpe 'the prices
'
    check 'its perplexity is that of eval' same "$(sed -n 's/.*perplexity //p' out)" \
        "$("$bin/eval" --split valid --valid line bpe toy.txt 2>said |
            sed -n 's/.*perplexity \([0-9.]*\),.*/\1/p')"
    check 'the example runs' quietly ./example bpe 'the prices'
    check 'its text is that of sample' same "$(sed 1d out)" \
        "$("$bin/sample" --prompt 'the prices' --length 50 bpe)"
    # Not with a sanitizer: emulated, its shadow memory exhausts the machine's memory.
    if has qemu-x86_64 && [ "${compiler#*-fsanitize}" = "$compiler" ] &&
        grep -q '^flags.* avx' /proc/cpuinfo 2>/dev/null; then
        check 'a library for another processor is an error' eval \
            '! qemu-x86_64 -cpu Nehalem ./example bpe x 2>said &&
             grep -q "^example: liblinnet was built for a processor with .*AVX2" said'
    fi
    check 'the example names a run that is missing' eval \
        '! ./example nowhere x 2>said && grep -q "example: nowhere: no such run" said'
else
    skip 'the example: it was not built'
fi

# --- in Python ---

printf '\nthe prices' >prompt
quietly "$bin/export" --plain --example prompt bpe exported
# in_python OPTION...: tests the installed module, which finds the library of its installation.
in_python() {
    quietly env -u LD_LIBRARY_PATH PYTHONPATH="$prefix/share/linnet" "$python" \
        "$top/tests/library/check_linnet.py" "$@" "$bin" exported/example.json "$top/eval/README.md" \
        bpe word byte
}
python=${PYTHON:-python3}
if [ $# -gt 0 ] || [ "${compiler#*-fsanitize}" != "$compiler" ] || ! has "$python"; then
    skip 'the library in Python, for want of python3, or below a sanitizer or valgrind'
else
    check 'the library in Python' in_python
    if "$python" -c 'import numpy' 2>/dev/null; then
        check 'the library in Python without NumPy' in_python --without-numpy
    else
        skip 'arrays of logits in Python, for want of NumPy'
    fi
    check 'without the library, Python says where to look' eval \
        '! LINNET_LIBRARY=nowhere PYTHONPATH=$prefix/share/linnet "$python" -c "import linnet" 2>said &&
         grep -q "cannot use liblinnet: nowhere: .*LINNET_LIBRARY" said'
fi

# --- a run in training ---

trained moving --steps 300 --eval-every 1 --save-every 1 --eval-tokens 48 >/dev/null 2>said &
training=$!
eventually [ -s moving/last.safetensors ]
touch begun
(wait_for_training() { while kill -0 $training 2>/dev/null; do sleep 0.1; done; }
    wait_for_training; touch ended) &
check 'a run in training always opens whole' quietly "$build/library-client" watch moving ended
wait $training
check 'training did not mind' [ -s moving/best.safetensors ]
opened=$(cat out)
check "it was opened at least 20 times: $opened" [ "${opened:-0}" -ge 20 ]

cd "$top" && count_cases
