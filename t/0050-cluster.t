#!/bin/sh

test_description='The Slurm test cluster: its nodes, their failures, and its end'

SETUP_WITHOUT_STAGE=1
CLUSTER_SLURMD_TIMEOUT=10
export CLUSTER_SLURMD_TIMEOUT
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

test_expect_success 'a cluster has four idle nodes' '
	cluster status >nodes &&
	test $(wc -l <nodes) -eq 4 &&
	test 4 = $(grep -c " idle gpu:fake:4 " nodes)
'

test_expect_success 'each node has its own host name, /tmp, /run, /dev/shm and processes' '
	cat >own.sh <<-\EOF &&
	name=$(hostname) &&
	for dir in /tmp /run /dev/shm /var/spool; do
		echo "$name" >$dir/mine || exit 1
	done &&
	while ! test -e "$1/go"; do sleep 0.02; done &&
	cat /tmp/mine /run/mine /dev/shm/mine /var/spool/mine | uniq &&
	ps ax | grep -c "[s]lurmd -D"
	EOF
	{ srun -N4 -l sh own.sh "$PWD" >own.out & } &&
	for node in n1 n2 n3 n4; do
		eventually cluster on $node test -e /var/spool/mine || return 1
	done &&
	>go && wait &&
	sort own.out >own.sorted &&
	printf "%s: n%s\n" 0 1 1 2 2 3 3 4 >expected &&
	printf "%s: 1\n" 0 1 2 3 >>expected &&
	sort expected >expected.sorted &&
	test_cmp expected.sorted own.sorted
'

test_expect_success 'no process on a node ignores SIGINT, SIGQUIT or SIGTERM' '
	for where in "" "cluster on n1" "srun -w n1"; do
		$where sed -n "s/SigIgn:[[:space:]]*/0x/p" /proc/self/status >ignored &&
		test 0 -eq $(($(cat ignored) & 0x4006)) || return 1
	done
'

test_expect_success 'all nodes see the shared directory and the working directory' '
	srun -N4 sh -c "echo x >$CLUSTER_SHARED/\$(hostname); echo x >\$(hostname)" &&
	(cd "$CLUSTER_SHARED" && cat n1 n2 n3 n4) && cat n1 n2 n3 n4
'

test_expect_success 'cluster hide hides a directory from a node' '
	mkdir hidden && >hidden/file &&
	cluster hide n2 "$PWD/hidden" &&
	test_must_fail cluster on n2 test -e "$PWD/hidden/file" &&
	cluster on n1 test -e "$PWD/hidden/file"
'

# two_bytes DIR: two nodes each write a byte to the same page; print how many bytes survive.
two_bytes () {
	printf "%4096s" "" | tr " " . >"$1/page" &&
	cluster on n1 python3 hold.py "$1" 0 & first=$! &&
	cluster on n3 python3 hold.py "$1" 1 & second=$! &&
	eventually test -e "$1/open0" && eventually test -e "$1/open1" && >"$1/go" &&
	wait $first && wait $second &&
	tr -dc x <"$1/page" | wc -c
}

test_expect_success 'cluster cache gives a node its own page cache over a directory' '
	cat >hold.py <<-\EOF &&
	import os, sys, time
	dir, at = sys.argv[1], int(sys.argv[2])
	fd = os.open(dir + "/page", os.O_WRONLY)
	os.pwrite(fd, b"x", at)
	open(dir + "/open%d" % at, "w").close()
	while not os.path.exists(dir + "/go"):
	    time.sleep(0.01)
	os.close(fd)
	EOF
	mkdir plain cached && echo seen >cached/file &&
	cluster cache n1 cached && cluster cache n3 "$PWD/cached" &&
	test seen = "$(cluster on n1 cat "$PWD/cached/file")" &&
	test 2 -eq "$(two_bytes "$PWD/plain")" &&
	test 1 -eq "$(two_bytes "$PWD/cached")" &&
	srun -w n1,n3 -N2 stat -f -c %T "$PWD/cached" >types && test 2 -eq "$(grep -c fuse types)" &&
	cluster ps >left && test_must_be_empty left
'

test_expect_success 'a cache of the login node is not shared with other nodes' '
	mkdir mine && cluster cache login mine timeout=5.0 &&
	stat -f -c %T mine | grep fuse &&
	cluster on n2 stat -f -c %T "$PWD/mine" >type && ! grep fuse type &&
	cluster kill n2 && cluster revive n2 &&
	cluster on n2 stat -f -c %T "$PWD/mine" >type && ! grep fuse type &&
	umount mine
'

test_expect_success 'tasks get separate fake GPUs' '
	srun -n4 --gpus-per-task=1 --gpu-bind=single:1 sh -c "echo \$CUDA_VISIBLE_DEVICES" >gpus &&
	sort -u gpus >gpus.sorted &&
	test $(wc -l <gpus.sorted) -eq 4
'

test_expect_success 'cluster clean and cluster ps find a process that outlives its job' '
	cluster clean &&
	cluster on n3 setsid --fork sleep 1000 &&
	test_must_fail cluster clean 0 &&
	cluster ps >left &&
	grep "^n3: .*sleep 1000" left
'

test_expect_success 'a killed node loses its processes and can be revived' '
	cluster kill n3 &&
	cluster ps >left && test_must_be_empty left &&
	test_must_fail cluster on n3 true &&
	cluster revive n3 &&
	srun -w n3 hostname
'

# stray NODE NAME: leave a process of this name on a node.
stray () {
	cluster on "$1" setsid --fork bash -c "exec -a \"$2\" sleep 1000" &&
	eventually sh -c "\"$top_srcdir/t/cluster/cluster\" ps | grep \"^$1: [0-9]* $2\""
}
clean_soon () {
	env CLUSTER_STEPD_WAIT=1 "$top_srcdir/t/cluster/cluster" clean 3 2>err
}

test_expect_success 'cluster clean does not kill a slurmstepd beside another process' '
	stray n1 "slurmstepd: task" && stray n2 task &&
	test_must_fail clean_soon && ! grep killed err &&
	kill -KILL $(cluster ps | sed -n "s/^n2: \([0-9]*\) .*/\1/p")
'
test_expect_success 'cluster clean kills a slurmstepd that hangs alone after its job' '
	clean_soon && grep "on n1 hangs after the end of its job: killed" err &&
	test -z "$(cluster ps)"
'

test_expect_success 'a powered-off node can be revived' '
	cluster poweroff n4 &&
	cluster revive n4 &&
	srun -w n4 hostname
'

test_expect_success 'a node that is cut off does not respond, but its processes live' '
	cluster on n4 setsid --fork sleep 1001 &&
	cluster cut n4 &&
	test_must_fail timeout 1 bash -c ": </dev/tcp/n4/6818" &&
	cluster ps >left && grep "^n4: .*sleep 1001" left &&
	bash -c ": </dev/tcp/n3/6818"
'

test_expect_success 'a mended node responds again, with its processes' '
	cluster mend n4 &&
	eventually timeout 1 bash -c ": </dev/tcp/n4/6818" &&
	srun -w n4 hostname &&
	cluster ps >left && grep "^n4: .*sleep 1001" left
'

test_expect_success 'several clusters can run at the same time' '
	cluster run 1 -- sinfo -h -N -o %N >inner &&
	echo n1 >expected &&
	test_cmp expected inner &&
	cluster status >nodes && test $(wc -l <nodes) -eq 4
'

test_expect_success 'cluster run exits with the status of its command' '
	expect_status 7 cluster run 1 -- sh -c "exit 7"
'

# This script runs on a login node itself, and sees the processes of inner clusters.
slurm_daemons () {
	ps -e -o comm= | grep -c '^slurm[cd]'
}
only_ours () {
	test $(slurm_daemons) -eq 5
}

test_expect_success 'a cluster can be started, used and stopped with up, exec and down' '
	mkdir state &&
	CLUSTER_STATE=$PWD/state &&
	export CLUSTER_STATE &&
	CLUSTER_OWNER=$$ cluster up 1 &&
	cluster exec true &&
	test $(slurm_daemons) -eq 7 &&
	cluster down &&
	only_ours
'

test_expect_success 'a background cluster ends with its owner' '
	sleep 1000 & owner=$! &&
	CLUSTER_OWNER=$owner cluster up 1 &&
	kill $owner &&
	eventually only_ours
'

test_expect_success 'a cluster ends when cluster run is killed with SIGKILL' '
	"$top_srcdir/t/cluster/cluster" run 1 -- sh -c ">up; sleep 1000" & pid=$! &&
	eventually test -e up &&
	kill -9 $pid &&
	eventually only_ours
'

test_done
