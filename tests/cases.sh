# What the scripts that test from outside share; they source it. A folder of their own in $work,
# which goes when they end; cases that hold or do not; and the count of both as the last line.

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
trap 'exit 1' HUP INT TERM

passed=0
failed=0

# What to tell of a case that failed, besides its name; scripts that know more say more.
evidence() { :; }

# Of the program that wrote its messages into err.
messages() { printf 'messages: %s\n' "$(head -c 300 err | tr '\n' '|')"; }

# check NAME COMMAND...: the case holds if the command succeeds.
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

# Whether a file begins with all of another.
begins() { head -c "$(wc -c <"$2")" "$1" | cmp -s - "$2"; }

# eventually COMMAND...: waits until it succeeds, for a minute at most.
eventually() {
    tries=0
    while [ "$tries" -lt 1200 ] && ! "$@"; do
        sleep 0.05
        tries=$((tries + 1))
    done
}

# The last line of a script.
count_cases() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
