#!/bin/sh
# Tests data/get against a server on this machine, with made-up files and their checksums.
# The server has four directories: good/ has the files and supports range requests, whole/ has
# them and does not, bad/ has other bytes under the same names, page/ answers every request with
# an HTML page, like a captive portal. It logs a line "directory/name first-byte" per answer.
set -eu

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
script=$top/data/get
. "$top/tests/cases.sh"
server=

if ! command -v python3 >/dev/null 2>&1; then
    skip 'the test server needs python3'
    count_cases
    exit
fi

# The script must not see the caller's settings, nor use a proxy.
unset PTB_DIR PTB_URL WIKITEXT_2_DIR WIKITEXT_2_URL TEXT8_DIR TEXT8_URL GET_SUMS CDPATH
unset TINYSTORIES_DIR TINYSTORIES_URL TINYSHAKESPEARE_DIR TINYSHAKESPEARE_URL
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
export no_proxy='*'

clean_up() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf -- "$work"
}
trap clean_up EXIT

# --- server ---

names='ptb.train.txt ptb.valid.txt ptb.test.txt'
mkdir "$work/files"
for name in $names; do
    awk -v name="$name" 'BEGIN { for (i = 0; i < 9000; i++) print " made up line", i, name }' \
        >"$work/files/$name"
done
if command -v sha256sum >/dev/null 2>&1; then
    sum='sha256sum'
else
    sum='shasum -a 256'
fi
# Texts that come in archives, or are cut.
mkdir "$work/other" "$work/other/wikitext-2-raw"
for split in train valid test; do
    printf ' = made up =\n\n %s\n' "$split" >"$work/other/wikitext-2-raw/wiki.$split.raw"
done
awk 'BEGIN { for (i = 0; i < 2000; i++) printf "made up " }' >"$work/other/text8"
for i in 1 2 3 4 5; do
    printf 'made up story %s\n\nThe end.\n<|endoftext|>\n' $i
done >"$work/other/TinyStoriesV2-GPT4-valid.txt"
awk 'BEGIN { for (i = 0; i < 40000; i++) print "made up, long story", i "\n<|endoftext|>" }' \
    >"$work/other/TinyStoriesV2-GPT4-train.txt"
(cd "$work/other" && python3 -c 'import zipfile
for name, members in (("text8.zip", ["text8"]),
                      ("wikitext-2-raw-v1.zip", ["wikitext-2-raw/wiki.%s.raw" % split
                                                 for split in ("train", "valid", "test")])):
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in members:
            archive.write(member)')
cp "$work"/other/*.zip "$work"/other/Tiny* "$work/files"
{
    (cd "$work/files" && $sum ./*)
    (cd "$work/other" && $sum text8 wikitext-2-raw/*)
} | sed 's,  .*/,  ,' >"$work/sums"
export GET_SUMS="$work/sums"

cat >"$work/server.py" <<'END'
import http.server, os, re, sys

work = sys.argv[1]

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        folder, _, name = self.path.lstrip("/").partition("/")
        path = os.path.join(work, "files", os.path.basename(name))
        if folder not in ("good", "whole", "bad", "page") or not os.path.isfile(path):
            return self.send_error(404)
        with open(path, "rb") as file:
            body = file.read()
        if folder == "bad":
            tampered = body.replace(b"made up", b"tampered")
            body = tampered if tampered != body else body[::-1]
        if folder == "page":
            body = b"<html>please log in</html>"
        size, first = len(body), 0
        asked = re.match(r"bytes=(\d+)-(\d*)$", self.headers.get("Range", ""))
        if asked and folder in ("good", "bad"):
            first = int(asked.group(1))
            size = min(size, int(asked.group(2)) + 1) if asked.group(2) else size
        if first >= size:
            self.send_response(416)
            self.send_header("Content-Range", "bytes */%d" % size)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        partial = first > 0 or size < len(body)
        self.send_response(206 if partial else 200)
        if partial:
            self.send_header("Content-Range", "bytes %d-%d/%d" % (first, size - 1, len(body)))
        self.send_header("Content-Length", str(size - first))
        with open(os.path.join(work, "log"), "a") as log:
            log.write("%s/%s %d\n" % (folder, name, first))
        self.end_headers()
        self.wfile.write(body[first:size])

    do_HEAD = None

    def log_message(self, *arguments):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(os.path.join(work, "port.part"), "w") as file:
    file.write(str(server.server_address[1]))
os.rename(os.path.join(work, "port.part"), os.path.join(work, "port"))
server.serve_forever()
END
python3 "$work/server.py" "$work" 2>"$work/server.err" &
server=$!
tries=0
while [ ! -f "$work/port" ]; do
    tries=$((tries + 1))
    if [ "$tries" -gt 100 ]; then
        skip 'no server could be started on 127.0.0.1'
        count_cases
        exit
    fi
    sleep 0.1
done
url=http://127.0.0.1:$(cat "$work/port")
dead=http://127.0.0.1:1 # nothing listens on port 1

# --- how to write a check ---

# A check has a title, and several expectations between begin and end.
begin() { # TITLE; makes an empty folder to fetch into
    title=$1
    good=yes
    to=$work/to
    rm -rf -- ptb "$to"
    mkdir "$to"
    : >"$work/log"
}

# Runs data/get with settings NAME=VALUE before the arguments, and checks its exit status.
run() { # STATUS [NAME=VALUE]... -- [ARGUMENT]...
    expected=$1
    shift
    assign=
    while [ "$1" != -- ]; do
        assign="$assign $1" # no value in this test has blanks
        shift
    done
    shift
    status=0
    # shellcheck disable=SC2086
    env $assign "$script" "$@" >"$work/out" 2>&1 || status=$?
    expect "exit status $status, not $expected" test "$status" -eq "$expected"
}

expect() { # COMPLAINT COMMAND...
    complaint=$1
    shift
    if ! "$@"; then
        good=no
        printf 'failed: %s: %s\n' "$title" "$complaint"
        sed 's/^/    /' "$work/out"
    fi
}

says() { expect "does not say '$1'" grep -q -e "$1" "$work/out"; }

served() { expect "'$1' was not served" grep -q -x -e "$1" "$work/log"; }

absent() { expect "$1 is there" test ! -e "$to/$1"; }

all_right() {
    for name in $names; do
        expect "$name is not right" cmp -s "$work/files/$name" "$to/$name"
    done
    expect 'something else was left' test "$(find "$to" -type f | wc -l)" -eq 3
}

end() {
    if [ "$good" = yes ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
}

# A directory with links to the programs that the script needs and to those named, to use as PATH.
only_tools() { # FOLDER TOOL...
    links=$1
    shift
    mkdir "$links"
    for tool in sh env cat rm mv dirname tr wc head tail awk grep "$@"; do
        ln -s "$(command -v "$tool")" "$links/$tool"
    done
}

has() { command -v "$1" >/dev/null 2>&1; }

# --- checks ---

begin 'get prints its help'
run 0 -- --help
says 'Usage: get NAME'
says 'Linguistic'
end

begin 'get lists the texts'
run 0 --
for name in ptb wikitext-2 text8 enwik8 tinyshakespeare tinystories; do
    says "^$name .* [MG]B .*  .*"
done
end

begin 'get refuses wrong usage'
run 2 -- --frobnicate
says "unknown option '--frobnicate'"
run 2 -- pbt "$to"
says "no text 'pbt'; there are: ptb wikitext-2"
run 2 -- ptb "$to" "$to"
run 2 -- --first 5 ptb "$to"
says 'for tinystories'
for size in 0 -1 1x '' 1000000; do
    run 2 -- "--first=$size" tinystories "$to"
done
run 2 -- --first
run 2 -- tinystories --first 1
says 'options come before the name'
run 1 -- ptb "$work/nowhere"
run 1 PTB_DIR="$work/nowhere" -- ptb "$to"
says 'nowhere: no such folder'
end

begin 'get copies the files of PTB_DIR'
run 0 PTB_DIR="$work/files" PTB_URL="$dead" -- ptb "$to"
all_right
expect 'the server was asked' test ! -s "$work/log"
end

begin 'get refuses a PTB_DIR without the files'
run 1 PTB_DIR="$work" PTB_URL="$url/good" -- ptb "$to"
says 'missing or has the wrong'
says 'licenses'
absent ptb.train.txt
end

begin 'get leaves right files alone'
cp "$work"/files/ptb.* "$to"
run 0 PTB_URL="$dead" -- ptb "$to"
says 'ptb.test.txt: already there'
all_right
end

begin 'get fetches into its own folder unless told otherwise'
mkdir "$to/data"
cp "$script" "$to/data/get"
script_kept=$script
script=$to/data/get
run 0 PTB_DIR="$work/files" -- ptb
script=$script_kept
for name in $names; do
    expect "$name is not right" cmp -s "$work/files/$name" "$to/data/$name"
done
end

begin 'get knows the checksums of the real text'
status=0
env -u GET_SUMS PTB_DIR="$work/files" "$script" ptb "$to" >"$work/out" 2>&1 || status=$?
expect 'made-up files pass for the Penn Treebank' test "$status" -eq 1
absent ptb.train.txt
end

only_tools "$work/neither" sha256sum
begin 'get explains that curl and wget are missing'
run 1 PATH="$work/neither" PTB_URL="$url/good" -- ptb "$to"
says 'neither curl nor wget'
end

only_tools "$work/sumless" curl
begin 'get explains that sha256sum and shasum are missing'
run 1 PATH="$work/sumless" PTB_DIR="$work/files" -- ptb "$to"
says 'neither sha256sum nor shasum'
absent ptb.train.txt
end

# --- texts in archives, and texts that are cut ---

joined() { # TEXT FILE...
    text=$1
    shift
    (cd "$to" && cat "$@") >"$work/joined"
    expect "$text is not what $* make" cmp -s "$work/other/$text" "$work/joined"
}

sized() { expect "$1 is not of $2 bytes" test "$(wc -c <"$to/$1")" -eq "$2"; }

alone() { # the files that are there
    expect "something else is left than $*" test "$(cd "$to" && echo ./*)" = "$*"
}

wikitext='./wikitext-2.test.txt ./wikitext-2.train.txt ./wikitext-2.valid.txt'

begin 'get takes all texts out of one archive'
run 0 WIKITEXT_2_URL="$url/good" -- wikitext-2 "$to"
expect 'it was not served once' test "$(grep -c wikitext "$work/log")" -eq 1
for split in train valid test; do
    joined "wikitext-2-raw/wiki.$split.raw" "wikitext-2.$split.txt"
done
# shellcheck disable=SC2086
alone $wikitext
run 0 WIKITEXT_2_URL="$dead" -- wikitext-2 "$to"
says 'wikitext-2.valid.txt: already there, and right'
rm "$to/wikitext-2.valid.txt"
run 0 WIKITEXT_2_DIR="$work/files" -- wikitext-2 "$to"
# shellcheck disable=SC2086
alone $wikitext
end

begin 'get cuts text8 into 90, 5 and 5 hundredths'
run 0 TEXT8_URL="$url/good" -- text8 "$to"
sized text8.train.txt 14400
sized text8.valid.txt 800
sized text8.test.txt 800
joined text8 text8.train.txt text8.valid.txt text8.test.txt
alone ./text8.test.txt ./text8.train.txt ./text8.valid.txt
run 0 TEXT8_URL="$dead" -- text8 "$to"
says 'text8.test.txt: already there, and right'
cp "$to/text8.valid.txt" "$to/text8.test.txt"
printf x >>"$to/text8.train.txt"
run 1 TEXT8_URL="$dead" -- text8 "$to"
says 'to be replaced'
sized text8.train.txt 14401
run 0 TEXT8_DIR="$work/other" -- text8 "$to"
joined text8 text8.train.txt text8.valid.txt text8.test.txt
end

begin 'get copies a text that is cut already'
mkdir "$to/from"
(cd "$to/from" && split -b 8000 ../../other/text8 && mv xaa text8.train.txt &&
    mv xab text8.valid.txt && : >text8.test.txt)
run 0 TEXT8_DIR="$to/from" -- text8 "$to"
sized text8.train.txt 14400
joined text8 text8.train.txt text8.valid.txt text8.test.txt
end

begin 'get leaves nothing of a damaged archive'
run 1 TEXT8_URL="$url/bad" -- text8 "$to"
says 'wrong SHA-256 sum'
says 'Wikipedia'
run 1 TEXT8_DIR="$work" -- text8 "$to"
says 'TEXT8_DIR=/some/folder'
expect 'something was left' test "$(find "$to" -type f | wc -l)" -eq 0
end

begin 'get explains that nothing unpacks archives'
only_tools "$work/packless" sha256sum curl
run 1 PATH="$work/packless" TEXT8_URL="$url/good" -- text8 "$to"
says 'install unzip, python3 or bsdtar'
expect 'the archive was lost' test -s "$to/text8.zip.part"
absent text8.train.txt
for unpacker in unzip python3 bsdtar; do
    has "$unpacker" || continue
    only_tools "$work/with-$unpacker" sha256sum curl
    # The tool that a wrapper script would start.
    real=$(command -v "$unpacker")
    [ "$unpacker" != python3 ] || real=$(python3 -c 'import sys; print(sys.executable)')
    ln -s "$real" "$work/with-$unpacker/$unpacker"
    run 0 PATH="$work/with-$unpacker" TEXT8_URL="$dead" -- text8 "$to"
    sized text8.train.txt 14400
    mv "$to/text8.train.txt" "$to/text8.valid.txt" # wrong again
    cp "$work/files/text8.zip" "$to/text8.zip.part"
done
end

begin 'get gives half of the validation stories to the test'
run 0 TINYSTORIES_URL="$url/good" -- tinystories "$to"
joined TinyStoriesV2-GPT4-train.txt tinystories.train.txt
joined TinyStoriesV2-GPT4-valid.txt tinystories.valid.txt tinystories.test.txt
expect 'the validation text has other stories' test \
    "$(grep -c endoftext "$to/tinystories.valid.txt")" -eq 2
says 'the training text has 2.2 GB'
run 0 TINYSTORIES_URL="$dead" -- --first 1 tinystories "$to"
says 'already there, and whole'
alone ./tinystories.test.txt ./tinystories.train.txt ./tinystories.valid.txt
end

# First megabytes, and how a run is told what is there.
first_stories() { # SETTING
    run 0 "$1" -- --first 1 tinystories "$to"
    says 'no SHA-256 sum of it is known'
    expect 'it is not a beginning' cmp -s -n "$(wc -c <"$to/tinystories.train.txt")" \
        "$work/other/TinyStoriesV2-GPT4-train.txt" "$to/tinystories.train.txt"
    expect 'it does not end with a story' test \
        "$(tail -n 1 "$to/tinystories.train.txt")" = '<|endoftext|>'
    size=$(wc -c <"$to/tinystories.train.txt")
    expect "it has $size bytes" test "$size" -gt 999900
    expect "it has $size bytes" test "$size" -le 1000000
    expect 'its sum was not recorded' sh -c "cd '$to' && $sum -c tinystories.train.txt.sha256 >out.part && rm out.part"
    run 0 TINYSTORIES_URL="$dead" -- --first=1 tinystories "$to"
    says 'as recorded'
    alone ./tinystories.test.txt ./tinystories.train.txt ./tinystories.train.txt.sha256 \
        ./tinystories.valid.txt
}

begin 'get takes the first megabytes of the stories'
first_stories TINYSTORIES_DIR="$work/files"
printf 'more\n' >>"$to/tinystories.train.txt"
run 1 TINYSTORIES_URL="$dead" -- --first 1 tinystories "$to"
says 'no download succeeded'
run 0 TINYSTORIES_URL="$url/good" -- tinystories "$to"
alone ./tinystories.test.txt ./tinystories.train.txt ./tinystories.valid.txt
end

# Downloads, with each of curl and wget.
download_cases() { # TOOL; with $path
    begin "$1 downloads the files"
    run 0 PATH="$path" PTB_URL="$url/good/" -- ptb "$to"
    served 'good/ptb.test.txt 0'
    all_right
    end

    begin "$1 resumes a download"
    head -c 100000 "$work/files/ptb.train.txt" >"$to/ptb.train.txt.part"
    run 0 PATH="$path" PTB_URL="$url/good" -- ptb "$to"
    served 'good/ptb.train.txt 100000'
    all_right
    end

    begin "$1 does not download a complete part again"
    cp "$work/files/ptb.train.txt" "$to/ptb.train.txt.part"
    run 0 PATH="$path" PTB_URL="$url/good" -- ptb "$to"
    expect 'it was served again' test "$(grep -c train "$work/log")" -eq 0
    all_right
    end

    begin "$1 replaces a part of another file"
    head -c 100000 "$work/files/ptb.valid.txt" >"$to/ptb.train.txt.part"
    run 0 PATH="$path" PTB_URL="$url/good" -- ptb "$to"
    all_right
    end

    begin "$1 replaces a part that is too long"
    cat "$work/files/ptb.train.txt" "$work/files/ptb.train.txt" >"$to/ptb.train.txt.part"
    run 0 PATH="$path" PTB_URL="$url/good" -- ptb "$to"
    all_right
    end

    begin "$1 begins again when the server cannot resume"
    head -c 100000 "$work/files/ptb.train.txt" >"$to/ptb.train.txt.part"
    run 0 PATH="$path" PTB_URL="$url/whole" -- ptb "$to"
    all_right
    end

    begin "$1 leaves nothing of corrupted files"
    run 1 PATH="$path" PTB_URL="$url/bad" -- ptb "$to"
    says 'wrong SHA-256 sum'
    says 'licenses'
    expect 'something was left' test "$(find "$to" -type f | wc -l)" -eq 0
    end

    begin "$1 takes no page for a file"
    head -c 100000 "$work/files/ptb.train.txt" >"$to/ptb.train.txt.part"
    run 1 PATH="$path" PTB_URL="$url/page" -- ptb "$to"
    absent ptb.train.txt
    end

    begin "$1 tries the next address after a bad one"
    status=0
    PATH="$path" PTB_URL="$dead $url/nowhere $url/bad $url/good" \
        "$script" ptb "$to" >"$work/out" 2>&1 || status=$?
    expect "exit status $status" test "$status" -eq 0
    all_right
    end

    begin "$1 keeps its part when there is no network"
    head -c 100000 "$work/files/ptb.train.txt" >"$to/ptb.train.txt.part"
    run 1 PATH="$path" PTB_URL="$dead" -- ptb "$to"
    says 'no download succeeded'
    says 'PTB_DIR'
    says 'licenses'
    absent ptb.train.txt
    expect 'the part was lost' test "$(wc -c <"$to/ptb.train.txt.part")" -eq 100000
    end

    begin "$1 fetches the first megabytes"
    first_stories TINYSTORIES_URL="$url/good"
    served 'good/TinyStoriesV2-GPT4-train.txt 0'
    end

    begin "$1 fetches them from a server that sends all"
    first_stories TINYSTORIES_URL="$url/whole"
    end

    begin "$1 replaces a wrong file with a verified one only"
    cp "$work"/files/ptb.* "$to"
    echo 'one line more' >>"$to/ptb.valid.txt"
    cp "$to/ptb.valid.txt" "$work/wrong"
    run 1 PATH="$path" PTB_URL="$url/bad" -- ptb "$to"
    says 'to be replaced'
    expect 'it was replaced unverified' cmp -s "$work/wrong" "$to/ptb.valid.txt"
    run 0 PATH="$path" PTB_URL="$url/good" -- ptb "$to"
    all_right
    end
}

for tool in curl wget; do
    if has "$tool" && has sha256sum; then
        only_tools "$work/$tool" sha256sum "$tool"
        path=$work/$tool
        download_cases "$tool"
    else
        skip "downloads with $tool: it is not installed"
    fi
done

count_cases
