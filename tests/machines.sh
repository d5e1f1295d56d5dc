# Three emulated machines, for scripts that have sourced cases.sh: network namespaces with addresses
# and host names of their own, on a bridge. mpirun reaches them with a script instead of ssh. They
# need root, iproute2 and Open MPI; without these the sourcing script is skipped with a message.
#
#   together HOSTS RANKS COMMAND...     runs on hosts among 10.77.0.1 to .3; writes out and err
#   slowed RATE                         sets the speed of every cable, such as 10mbit
#   cable up, cable down                connects and disconnects the third machine

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

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
    skip "emulated machines: $(head -n 1 err)"
    exit 0
fi

# on MACHINE COMMAND...
on() {
    machine=$1
    shift
    ip netns exec "$lan-$machine" unshare --uts sh -c 'hostname "$0"; exec "$@"' \
        "$lan-$machine" "$@"
}
# Called by mpirun instead of ssh: agent ADDRESS COMMAND...
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
    # A lost machine sends no message: Open MPI probes each one every second, and gives it up
    # after three probes without an answer.
    on 1 timeout -k 5 120 mpirun --oversubscribe --bind-to none -H "$hosts" -n "$ranks" \
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
cable() { ip link set "v3-$$" "$1"; }
