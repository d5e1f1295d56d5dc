# Shared by the test scripts, which source it: a temporary directory $work, checks, and a count of
# the checks that passed and failed.

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
trap 'exit 1' HUP INT TERM

passed=0
failed=0

# Printed below the name of a failed check; scripts may define more.
evidence() { :; }

# The messages of a program, from the file err.
messages() { printf 'messages: %s\n' "$(head -c 300 err | tr '\n' '|')"; }

# check NAME COMMAND...: passes if the command succeeds.
check() {
    name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $name"
        evidence
    fi
}

fails() { ! "$@"; }
skip() { echo "skipped: $1"; }

# alike FILE OTHER: whether two files are bit-identical; the first difference goes to err.
alike() { cmp "$1" "$2" >difference 2>&1 || { cp difference err && false; }; }

# The columns of a log that do not depend on the clock.
timeless() { cut -d , -f 1,2,3,5,6,7,8,15 "$1/log.csv"; }
same_logs() { timeless "$1" >log.1 && timeless "$2" >log.2 && alike log.1 log.2; }
# same_runs RUN OTHER: whether two runs wrote identical checkpoints and logs.
same_runs() {
    alike "$1/best.safetensors" "$2/best.safetensors" &&
        alike "$1/last.safetensors" "$2/last.safetensors" && same_logs "$1" "$2"
}

# begins FILE OTHER: whether FILE begins with the contents of OTHER.
begins() { head -c "$(wc -c <"$2")" "$1" | cmp -s - "$2"; }

# eventually COMMAND...: repeats it until it succeeds; a failed check after a minute.
eventually() {
    tries=0
    until "$@"; do
        sleep 0.05
        tries=$((tries + 1))
        [ "$tries" -lt 1200 ] || {
            check "a minute was enough for: $*" false
            return
        }
    done
}

# Ends a script: prints the counts, and fails if a check failed.
count_cases() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
