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

# begins FILE OTHER: whether FILE begins with the contents of OTHER.
begins() { head -c "$(wc -c <"$2")" "$1" | cmp -s - "$2"; }

# eventually COMMAND...: repeats it until it succeeds, for at most a minute.
eventually() {
    tries=0
    while [ "$tries" -lt 1200 ] && ! "$@"; do
        sleep 0.05
        tries=$((tries + 1))
    done
}

# Ends a script: prints the counts, and fails if a check failed.
count_cases() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
