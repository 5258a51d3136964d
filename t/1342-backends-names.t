#!/bin/sh
test_description='PyTorch on nodes whose host names do not resolve, and with several interfaces'
CLUSTER_NODES=2
export CLUSTER_NODES
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

OMP_NUM_THREADS=1
export OMP_NUM_THREADS
cd "$CLUSTER_SHARED" || exit 1
run="raytrain-run --launcher slurm --storage runs --progress none --backend torch -n 2
	--placement STRICT_SPREAD"
cases=$srcdir/t/check/ddp_cases.py

if ! "$PYTHON" -c "import torch" 2>/dev/null; then
	skip_all="no torch (python3-torch)"
	test_done
fi

# On each node: no host name has an address, and nothing is asked for one.
: >empty && echo "hosts: files" >nsswitch.conf
for node in n1 n2; do
	cluster on $node mount --bind "$PWD/empty" /etc/hosts &&
	cluster on $node mount --bind "$PWD/nsswitch.conf" /etc/nsswitch.conf || exit 1
done

# trained NAME: both ranks have got the right gradients, by the reducer and by gloo.
trained () {
	test 4 -eq "$(cat runs/$1/logs/attempt-0/rank-*.out | grep -c "^ok ")"
}
test_expect_success 'DDP trains on nodes whose names do not resolve' '
	test_must_fail cluster on n1 getent hosts n1 &&
	test_must_fail cluster on n1 getent hosts n2 &&
	$run --name names -- "$PYTHON" "$cases" plain two_types 2>err && trained names
'

# A second interface on each node, with an IPv6 address alone.
for node in 1 2; do
	cluster on n$node ip link add link eth0 name six0 type macvlan mode bridge &&
	cluster on n$node ip -6 address add fd00:5::$node/64 dev six0 nodad &&
	cluster on n$node ip link set six0 up || break
done 2>link.err && cluster on n1 ip -6 address show dev six0 | grep fd00:5::1 >/dev/null &&
	test_set_prereq SIX
test_expect_success SIX 'DDP trains over the interface that the user prefers, which has IPv6 alone' '
	GLOO_SOCKET_IFNAME=six0 $run --name six -- sh -c "
		echo address \$MASTER_ADDR; exec \"$PYTHON\" \"$cases\" plain two_types" 2>err &&
	trained six &&
	test 2 -eq "$(cat runs/six/logs/attempt-0/rank-*.out | grep -c "^address fd00:5::1")"
'
test_expect_success 'nothing is left on the nodes' 'cluster clean 60'
test_done
