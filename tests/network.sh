#!/bin/sh
# Training on several machines: network.sh BIN PLAIN, with programs built with MPI=1, and without.
# The machines are network namespaces of this one, each with an address and a host name of its
# own, on a bridge; mpirun reaches them by a script in place of ssh. The network is slowed, and
# cut. It takes root, iproute2 and Open MPI. Prints a line for each case that failed and, last,
# how many passed and failed.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$top/tests/cases.sh"
bin=$(CDPATH='' cd -- "${1:?}" && pwd) || exit 1
plain=$(CDPATH='' cd -- "${2:?}" && pwd) || exit 1
export LC_ALL=C OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

cd -- "$work" || exit 1
evidence() { messages; }

# --- three machines ---

machines='1 2 3'
lan=linnet$$
bridge=br$$
take_down() {
    for i in $machines; do
        ip netns pids "$lan-$i" 2>/dev/null | xargs -r kill -9 2>/dev/null
        ip netns del "$lan-$i" 2>/dev/null
    done
    ip link del "$bridge" 2>/dev/null
    rm -rf -- "$work"
}
trap take_down EXIT
set_up() {
    ip link add "$bridge" type bridge && ip link set "$bridge" up || return 1
    for i in $machines; do
        ip netns add "$lan-$i" &&
            ip link add "v$i-$$" type veth peer name eth0 netns "$lan-$i" &&
            ip link set "v$i-$$" master "$bridge" up &&
            ip -n "$lan-$i" addr add "10.77.0.$i/24" dev eth0 &&
            ip -n "$lan-$i" link set eth0 up &&
            ip -n "$lan-$i" link set lo up || return 1
    done
}
if ! set_up 2>err; then
    echo "skipped: machines of our own: $(head -n 1 err)"
    exit 0
fi

# on MACHINE COMMAND...
on() {
    machine=$1
    shift
    ip netns exec "$lan-$machine" unshare --uts sh -c 'hostname "$0"; exec "$@"' \
        "$lan-$machine" "$@"
}
# What mpirun calls in place of ssh: AGENT ADDRESS COMMAND...
cat >agent <<EOF
#!/bin/sh
machine=\${1##*.}
shift
exec ip netns exec "$lan-\$machine" unshare --uts sh -c 'hostname "\$0"; eval "\$*"' \
    "$lan-\$machine" "\$@"
EOF
chmod +x agent
together() {
    hosts=$1 ranks=$2
    shift 2
    # A machine that is gone does not say so: it is asked every second, and believed lost when
    # it has not answered three times.
    on 1 timeout -k 5 120 mpirun --oversubscribe -H "$hosts" -n "$ranks" \
        --mca plm_rsh_agent "$work/agent" --mca btl self,tcp \
        --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 \
        --mca oob_tcp_keepalive_time 1 --mca oob_tcp_keepalive_intvl 1 \
        --mca oob_tcp_keepalive_probes 3 "$@" \
        >out 2>err </dev/null
}
slowed() {
    for i in $machines; do
        tc -n "$lan-$i" qdisc replace dev eth0 root tbf rate "$1" burst 64kbit latency 500ms ||
            return 1
    done
}

# --- what they do ---

settings='--layers 2 --dim 48 --heads 3 --context 40 --lr 0.003 --warmup 10 --dropout 0.1
    --batch 8 --shards 4 --log-every 20 --eval-every 30 --threads 1 --quiet'
same_runs() {
    cmp "$1/best.safetensors" "$2/best.safetensors" >err 2>&1 &&
        cmp "$1/last.safetensors" "$2/last.safetensors" >err 2>&1
}
# shellcheck disable=SC2086
{
    "$plain/train" $settings --steps 60 --run alone toy >out 2>err
    check 'machines are reached by their addresses' together 10.77.0.1,10.77.0.2,10.77.0.3 3 hostname
    check 'each is one of its own' [ "$(sort -u out | wc -l)" -eq 3 ]
    together 10.77.0.1,10.77.0.2,10.77.0.3 3 "$bin/train" $settings --steps 60 --run three toy
    check 'three machines make the run of one' same_runs alone three
    check 'a slow network is made' slowed 10mbit
    together 10.77.0.1,10.77.0.2 2 "$bin/train" $settings --steps 60 --run slow toy
    check 'a slow network makes it, too' same_runs alone slow
    slowed 1gbit
}

# pull_cable RUN: the third machine's cable is pulled once the run has saved something.
pull_cable() {
    tries=0
    while [ ! -e "$1/previous.safetensors" ] && [ "$tries" -lt 600 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    ip link set "v3-$$" down
    date +%s >cut-at
}
# shellcheck disable=SC2086
{
    "$plain/train" $settings --steps 400 --save-every 10 --run whole toy >out 2>err
    pull_cable lost &
    together 10.77.0.1,10.77.0.2,10.77.0.3 3 "$bin/train" $settings --steps 400 --save-every 10 \
        --run lost toy
    status=$?
    ended=$(date +%s)
    wait
    check 'a lost machine ends the run' [ "$status" -ne 0 ]
    check 'before long' [ $((ended - $(cat cut-at))) -le 30 ]
    check 'nobody is left' eval 'sleep 1; ! pgrep -f -- "--run lost" >/dev/null'
    check 'there is a checkpoint' [ -s lost/last.safetensors ]
    ip link set "v3-$$" up
    together 10.77.0.1,10.77.0.2 2 "$bin/train" --resume lost --quiet
    check 'from which two machines go on exactly' same_runs whole lost
}

count_cases
