#!/bin/sh
# Tests manual pages, completions and installation: manual.sh BIN BUILD, run from the top, where
# BIN and BUILD are the directories of the programs and of the build. What needs a missing program
# is skipped with a message. Prints a line for each failed check, and at the end how many passed
# and failed.
set -u
. "$(dirname -- "$0")/cases.sh"

bin=${1:-bin}
build=${2:-build}
programs=
for page in "$build"/man/linnet-*.1; do
    page=${page##*/linnet-}
    programs="$programs ${page%.1}"
done
build_path=$(cd "$build" && pwd) || exit 1
unset CDPATH NO_COLOR COLUMNS LINES

mkdir -p "$work/home/runs/finch" "$work/home/runs/empty" "$work/home/lark one"
touch "$work/home/runs/finch/log.csv" "$work/home/text.txt" "$work/home/lark.safetensors"

same() { [ "$1" = "$2" ] || { printf '%s\n' "wanted: $2" "got:    $1"; false; }; }
has() { command -v "$1" >/dev/null 2>&1; }
says_nothing() { "$@" >"$work/said" 2>&1 && [ ! -s "$work/said" ]; }

# --- manual pages ---

# The options that --help lists, and those of a manual page.
helped() { "$bin/$1" --help all | sed -n 's/^  --\(\[no-\]\)\{0,1\}\([a-z0-9-]*\).*/\2/p'; }
explained() {
    sed -n 's/^\\fB\\-\\-\([a-z0-9\\-]*\)\\fR.*/\1/p' "$build/man/linnet-$1.1" | tr -d "\\\\"
}
sections() { grep -c -E "^\.SH ($1)$" "$build/man/linnet-$2.1"; }
read_by_man() {
    (cd "$work" && LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "./${1##*/}" 2>err >shown) &&
        [ ! -s "$work/err" ] && [ -s "$work/shown" ]
}

for program in $programs; do
    page=$build/man/linnet-$program.1
    check "$program: the manual page has every option" same "$(explained "$program")" \
        "$(helped "$program")"
    check "$program: the manual page has its sections" same \
        "$(sections 'NAME|SYNOPSIS|DESCRIPTION|OPTIONS|EXIT STATUS|SEE ALSO' "$program")" 6
    check "$program: the manual page is ASCII" says_nothing sh -c "! LC_ALL=C grep '[^ -~]' '$page'"
    ! has groff || check "$program: groff reads the manual page" says_nothing \
        groff -man -Tascii -ww -z "$page"
    cp "$page" "$work/"
    ! has man || check "$program: man reads the manual page" read_by_man "$page"
done
page=$build/man/linnet.3
check 'the library: the manual page has every function' same \
    "$(sed -n '/^typedef/d; /^\.SH FUNC/,/^\.SH EXAMPLE/s/^[a-z].* \**\(linnet_[a-z_]*\)(.*/\1/p' "$page")" \
    "$(sed -n 's/^LINNET_API.*[ *]\(linnet_[a-z_]*\)(.*/\1/p' models/library/linnet.h)"
check 'the library: the manual page is ASCII' says_nothing sh -c "! LC_ALL=C grep '[^ -~]' '$page'"
! has groff || check 'the library: groff reads the manual page' says_nothing \
    groff -man -Tascii -ww -z "$page"
cp "$page" "$work/"
! has man || check 'the library: man reads the manual page' read_by_man "$page"
has groff || skip 'reading the pages with groff: it is not installed'
has man || skip 'reading the pages with man: it is not installed'

# Who has --period, as it stands under its heading.
whose() { "$bin/train" --help all | sed -n '/single attention kinds/,/^$/s/^  --period N  *\(.*\): .*/\1/p'; }
check 'train --help names the kinds of an option' same "$(whose)" 'strided, fixed'

# --- bash ---

# The completions that bash offers for the last word, in one line.
bash_offers() {
    (cd "$work/home" && HOME=$work/home bash --norc -c '
        . "$1" && shift && program=$1
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        "_linnet_program_${program#linnet-}"
        for word in "${COMPREPLY[@]}"; do echo "$word"; done' \
        bash "$build_path/completion/bash/$1" "$@" 2>&1 | LC_ALL=C sort | tr '\n' ' ')
}
# offers WANTED WORDS...: bash completes the last of the words to WANTED.
offers() {
    wanted=$1
    shift
    check "bash completes: $*" same "$(bash_offers "$@")" "$wanted${wanted:+ }"
}
if has bash; then
    for program in $programs; do
        offered=$(bash_offers "linnet-$program" -- | tr ' ' '\n' | grep -v '^--no-')
        check "$program: bash completes every option" same "$offered" \
            "$(helped "$program" | sed 's/^/--/' | LC_ALL=C sort)"
    done
    offers '--attn --attn-dropout' linnet-train --att
    offers '--no-tied' linnet-train --no-ti
    offers 'retention' linnet-train --attn ret
    offers 'retention' linnet-train --attn = ret
    offers 'char' linnet-train --tokens c
    offers 'bpe byte char word wordpunct' linnet-train --tokens =
    offers 'softmax+gla' linnet-train --attn softmax+gl
    offers 'softmax+gla,window' linnet-train --attn softmax+gla,wi
    offers '' linnet-train --dim 1
    offers 'text.txt' linnet-train --valid t
    offers 'lark one' linnet-train --resume l
    offers 'text.txt' linnet-train --tied --dim 8 te
    offers '' linnet-train text.txt te
    offers 'runs/finch' linnet-eval ''
    offers 'runs/finch' linnet-eval runs/f
    offers 'lark one lark.safetensors' linnet-eval --split test l
    offers 'text.txt' linnet-eval --split = test runs/finch te
    offers 'text.txt' linnet-eval runs/finch runs/other te
    offers 'text.txt' linnet-tokens encode --out te
    offers 'runs/finch' linnet-compare runs/other runs/f
    offers 'attention' linnet-bench att
    offers '' linnet-bench attention att
else
    skip 'completion in bash: it is not installed'
fi

# --- zsh ---

# Runs zsh on a terminal: types each line of standard input and a tab, and prints the result.
cat >"$work/type.zsh" <<'END'
zmodload zsh/zpty
zpty -b shell zsh -f -i
zpty -w shell "fpath=(${(q)1} \$fpath); autoload -U compinit; compinit -u -D; stty columns 200"
zpty -w shell 'tell() { print -r -- "<<$BUFFER>>"; zle kill-buffer }; zle -N tell'
zpty -w shell 'bindkey "^I" expand-or-complete "^T" tell; print -r -- "<<"ready">>"'
zpty -r shell answer '*<<ready>>*'
while IFS= read -r line; do
    zpty -w -n shell "$line"$'\t\x14'
    zpty -r shell answer '*<<*>>*'
    answer=${answer##*<<}
    print -r -- "${answer%%>>*}"
done
zpty -d shell
END
typed() {
    echo "$1" | (cd "$work/home" && HOME=$work/home TERM=dumb timeout 60 \
        zsh -f "$work/type.zsh" "$build_path/completion/zsh" 2>&1)
}
completes() { check "zsh completes: $1" same "$(typed "$1")" "$2"; }
if has zsh && has timeout; then
    for program in $programs; do
        check "$program: zsh reads the completion" says_nothing \
            zsh -n "$build/completion/zsh/_linnet-$program"
        check "$program: zsh completes an option" same "$(typed "linnet-$program --versio")" \
            "linnet-$program --version "
    done
    completes 'linnet-train --sched' 'linnet-train --schedule='
    completes 'linnet-train --no-rec' 'linnet-train --no-recompute '
    completes 'linnet-train --attn=ret' 'linnet-train --attn=retention '
    completes 'linnet-train --attn ret' 'linnet-train --attn retention '
    completes 'linnet-train --attn softmax+gla,wi' 'linnet-train --attn softmax+gla,window '
    completes 'linnet-train --dim 1' 'linnet-train --dim 1'
    completes 'linnet-train --valid t' 'linnet-train --valid text.txt '
    completes 'linnet-train --resume l' 'linnet-train --resume lark\ one/'
    completes 'linnet-train --tied te' 'linnet-train --tied text.txt '
    completes 'linnet-eval ' 'linnet-eval runs/finch '
    completes 'linnet-eval --split test runs/f' 'linnet-eval --split test runs/finch '
    completes 'linnet-eval runs/finch te' 'linnet-eval runs/finch text.txt '
    completes 'linnet-eval runs/finch runs/other te' 'linnet-eval runs/finch runs/other text.txt '
    completes 'linnet-compare runs/other runs/f' 'linnet-compare runs/other runs/finch '
    completes 'linnet-bench att' 'linnet-bench attention '
else
    skip 'completion in zsh: it is not installed'
fi

# --- make install and make uninstall ---

stage="$work/a new stage"
make_stage() {
    "${MAKE:-make}" "$1" BIN="$bin" BUILD="$build" PREFIX=/usr DESTDIR="$stage" \
        >"$work/made" 2>&1 || ! cat "$work/made"
}
staged() { (cd "$stage" && find . ! -type d | LC_ALL=C sort); }
mkdir -p "$work/a" "$stage/usr/bin" "$stage/usr/share/man/man1" "$stage/usr/share/linnet/models"
touch "$work/a/treasure" "$stage/usr/bin/linnet-wren" "$stage/usr/share/man/man1/linnet-wren.1" \
    "$stage/usr/share/linnet/models/wren.conf"
before=$(staged)
check 'make install works' make_stage install
for program in $programs; do
    for place in "bin/linnet-$program" "share/man/man1/linnet-$program.1" \
        "share/bash-completion/completions/linnet-$program" \
        "share/zsh/site-functions/_linnet-$program"; do
        check "$place is installed" [ -s "$stage/usr/$place" ]
    done
done
for place in lib/liblinnet.so lib/liblinnet.so.0 lib/pkgconfig/linnet.pc include/linnet.h share/man/man3/linnet.3 \
    share/linnet/linnet.py; do
    check "$place is installed" [ -s "$stage/usr/$place" ]
done
finds_presets() {
    "$stage/usr/bin/linnet-train" --preset demo nowhere.txt 2>&1 | grep -q 'nowhere.txt'
}
check 'an installed program finds its presets' finds_presets
mkdir "$stage/usr/share/linnet/__pycache__"
touch "$stage/usr/share/linnet/__pycache__/linnet.cpython-311.pyc" # Python compiles what it imports
check 'make uninstall works' make_stage uninstall
check 'make uninstall leaves exactly the files from before' same "$(staged)" "$before"
check 'make uninstall leaves other directories alone' [ -f "$work/a/treasure" ]

count_cases
