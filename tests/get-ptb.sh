#!/bin/sh
# Tests data/get-ptb against a server on this machine, with made-up files and their checksums.
# The server has four directories: good/ has the files and supports range requests, whole/ has
# them and does not, bad/ has other bytes under the same names, page/ answers every request with
# an HTML page, like a captive portal. It logs a line "directory/name first-byte" per answer.
set -eu

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
script=$top/data/get-ptb
. "$top/tests/cases.sh"
server=

if ! command -v python3 >/dev/null 2>&1; then
    skip 'the test server needs python3'
    count_cases
    exit
fi

# The script must not see the caller's settings, nor use a proxy.
unset PTB_DIR PTB_URL PTB_SUMS CDPATH
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
(cd "$work/files" && $sum ptb.train.txt ptb.valid.txt ptb.test.txt) >"$work/sums"
export PTB_SUMS="$work/sums"

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
            body = body.replace(b"made up", b"tampered")
        if folder == "page":
            body = b"<html>please log in</html>"
        size, first = len(body), 0
        asked = re.match(r"bytes=(\d+)-$", self.headers.get("Range", ""))
        if asked and folder in ("good", "bad"):
            first = int(asked.group(1))
        if first >= size:
            self.send_response(416)
            self.send_header("Content-Range", "bytes */%d" % size)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        self.send_response(206 if first else 200)
        if first:
            self.send_header("Content-Range", "bytes %d-%d/%d" % (first, size - 1, size))
        self.send_header("Content-Length", str(size - first))
        self.end_headers()
        self.wfile.write(body[first:])
        with open(os.path.join(work, "log"), "a") as log:
            log.write("%s/%s %d\n" % (folder, name, first))

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
    rm -rf -- "$to"
    mkdir "$to"
    : >"$work/log"
}

# Runs get-ptb with settings NAME=VALUE before the arguments, and checks its exit status.
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
    for tool in sh env cat rm mv dirname "$@"; do
        ln -s "$(command -v "$tool")" "$links/$tool"
    done
}

has() { command -v "$1" >/dev/null 2>&1; }

# --- checks ---

begin 'get-ptb prints its help'
run 0 -- --help
says 'Usage: get-ptb'
says 'Linguistic'
end

begin 'get-ptb refuses wrong usage'
run 2 -- --frobnicate
says "unknown option '--frobnicate'"
run 2 -- "$to" "$to"
run 1 -- "$work/nowhere"
end

begin 'get-ptb copies the files of PTB_DIR'
run 0 PTB_DIR="$work/files" PTB_URL="$dead" -- "$to"
all_right
expect 'the server was asked' test ! -s "$work/log"
end

begin 'get-ptb refuses a PTB_DIR without the files'
run 1 PTB_DIR="$work" PTB_URL="$url/good" -- "$to"
says 'missing or has the wrong'
says 'licenses'
absent ptb.train.txt
end

begin 'get-ptb leaves right files alone'
cp "$work"/files/* "$to"
run 0 PTB_URL="$dead" -- "$to"
says 'ptb.test.txt: already there'
all_right
end

begin 'get-ptb fetches into its own folder unless told otherwise'
mkdir "$to/data"
cp "$script" "$to/data/get-ptb"
script_kept=$script
script=$to/data/get-ptb
run 0 PTB_DIR="$work/files" --
script=$script_kept
for name in $names; do
    expect "$name is not right" cmp -s "$work/files/$name" "$to/data/$name"
done
end

begin 'get-ptb knows the checksums of the real text'
status=0
env -u PTB_SUMS PTB_DIR="$work/files" "$script" "$to" >"$work/out" 2>&1 || status=$?
expect 'made-up files pass for the Penn Treebank' test "$status" -eq 1
absent ptb.train.txt
end

only_tools "$work/neither" sha256sum
begin 'get-ptb explains that curl and wget are missing'
run 1 PATH="$work/neither" PTB_URL="$url/good" -- "$to"
says 'neither curl nor wget'
end

only_tools "$work/sumless" curl
begin 'get-ptb explains that sha256sum and shasum are missing'
run 1 PATH="$work/sumless" PTB_DIR="$work/files" -- "$to"
says 'neither sha256sum nor shasum'
absent ptb.train.txt
end

# Downloads, with each of curl and wget.
download_cases() { # TOOL; with $path
    begin "$1 downloads the files"
    run 0 PATH="$path" PTB_URL="$url/good/" -- "$to"
    served 'good/ptb.test.txt 0'
    all_right
    end

    begin "$1 resumes a download"
    head -c 100000 "$work/files/ptb.train.txt" >"$to/ptb.train.txt.part"
    run 0 PATH="$path" PTB_URL="$url/good" -- "$to"
    served 'good/ptb.train.txt 100000'
    all_right
    end

    begin "$1 does not download a complete part again"
    cp "$work/files/ptb.train.txt" "$to/ptb.train.txt.part"
    run 0 PATH="$path" PTB_URL="$url/good" -- "$to"
    expect 'it was served again' test "$(grep -c train "$work/log")" -eq 0
    all_right
    end

    begin "$1 replaces a part of another file"
    head -c 100000 "$work/files/ptb.valid.txt" >"$to/ptb.train.txt.part"
    run 0 PATH="$path" PTB_URL="$url/good" -- "$to"
    all_right
    end

    begin "$1 replaces a part that is too long"
    cat "$work/files/ptb.train.txt" "$work/files/ptb.train.txt" >"$to/ptb.train.txt.part"
    run 0 PATH="$path" PTB_URL="$url/good" -- "$to"
    all_right
    end

    begin "$1 begins again when the server cannot resume"
    head -c 100000 "$work/files/ptb.train.txt" >"$to/ptb.train.txt.part"
    run 0 PATH="$path" PTB_URL="$url/whole" -- "$to"
    all_right
    end

    begin "$1 leaves nothing of corrupted files"
    run 1 PATH="$path" PTB_URL="$url/bad" -- "$to"
    says 'wrong SHA-256 sum'
    says 'licenses'
    expect 'something was left' test "$(find "$to" -type f | wc -l)" -eq 0
    end

    begin "$1 takes no page for a file"
    head -c 100000 "$work/files/ptb.train.txt" >"$to/ptb.train.txt.part"
    run 1 PATH="$path" PTB_URL="$url/page" -- "$to"
    absent ptb.train.txt
    end

    begin "$1 tries the next address after a bad one"
    status=0
    PATH="$path" PTB_URL="$dead $url/nowhere $url/bad $url/good" \
        "$script" "$to" >"$work/out" 2>&1 || status=$?
    expect "exit status $status" test "$status" -eq 0
    all_right
    end

    begin "$1 keeps its part when there is no network"
    head -c 100000 "$work/files/ptb.train.txt" >"$to/ptb.train.txt.part"
    run 1 PATH="$path" PTB_URL="$dead" -- "$to"
    says 'no download succeeded'
    says 'PTB_DIR'
    says 'licenses'
    absent ptb.train.txt
    expect 'the part was lost' test "$(wc -c <"$to/ptb.train.txt.part")" -eq 100000
    end

    begin "$1 replaces a wrong file with a verified one only"
    cp "$work"/files/* "$to"
    echo 'one line more' >>"$to/ptb.valid.txt"
    cp "$to/ptb.valid.txt" "$work/wrong"
    run 1 PATH="$path" PTB_URL="$url/bad" -- "$to"
    says 'to be replaced'
    expect 'it was replaced unverified' cmp -s "$work/wrong" "$to/ptb.valid.txt"
    run 0 PATH="$path" PTB_URL="$url/good" -- "$to"
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
