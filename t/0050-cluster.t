#!/bin/sh

test_description='The Slurm test cluster itself: nodes, their failures, and its own end'

SETUP_WITHOUT_STAGE=1
. "$(dirname "$0")/cluster/cluster.sh"
. "$(dirname "$0")/setup.sh"

test_expect_success 'four nodes are idle' '
	cluster status >nodes &&
	test $(wc -l <nodes) -eq 4 &&
	test 4 = $(grep -c " idle gpu:fake:4 " nodes)
'

test_expect_success 'each has a name, /tmp, /run, /dev/shm and processes of its own' '
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

test_expect_success 'nothing that runs here ignores SIGINT, SIGQUIT or SIGTERM' '
	for where in "" "cluster on n1" "srun -w n1"; do
		$where sed -n "s/SigIgn:[[:space:]]*/0x/p" /proc/self/status >ignored &&
		test 0 -eq $(($(cat ignored) & 0x4006)) || return 1
	done
'

test_expect_success 'all see the shared directory and this one' '
	srun -N4 sh -c "echo x >$CLUSTER_SHARED/\$(hostname); echo x >\$(hostname)" &&
	(cd "$CLUSTER_SHARED" && cat n1 n2 n3 n4) && cat n1 n2 n3 n4
'

test_expect_success 'a node may be kept from seeing a directory' '
	mkdir hidden && >hidden/file &&
	cluster hide n2 "$PWD/hidden" &&
	test_must_fail cluster on n2 test -e "$PWD/hidden/file" &&
	cluster on n1 test -e "$PWD/hidden/file"
'

# two_bytes DIR: two nodes write a byte each to one page at the same time; how many stay.
two_bytes () {
	printf "%4096s" "" | tr " " . >"$1/page" &&
	cluster on n1 python3 hold.py "$1" 0 & first=$! &&
	cluster on n3 python3 hold.py "$1" 1 & second=$! &&
	eventually test -e "$1/open0" && eventually test -e "$1/open1" && >"$1/go" &&
	wait $first && wait $second &&
	tr -dc x <"$1/page" | wc -c
}

test_expect_success 'a node may have a page cache of its own over a directory' '
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

test_expect_success 'the login node too, and other nodes do not share it' '
	mkdir mine && cluster cache login mine timeout=5.0 &&
	stat -f -c %T mine | grep fuse &&
	cluster on n2 stat -f -c %T "$PWD/mine" >type && ! grep fuse type &&
	cluster kill n2 && cluster revive n2 &&
	cluster on n2 stat -f -c %T "$PWD/mine" >type && ! grep fuse type &&
	umount mine
'

test_expect_success 'tasks get fake GPUs of their own' '
	srun -n4 --gpus-per-task=1 --gpu-bind=single:1 sh -c "echo \$CUDA_VISIBLE_DEVICES" >gpus &&
	sort -u gpus >gpus.sorted &&
	test $(wc -l <gpus.sorted) -eq 4
'

test_expect_success 'a process that outlives its job is found' '
	cluster clean &&
	cluster on n3 setsid --fork sleep 1000 &&
	test_must_fail cluster clean 0 &&
	cluster ps >left &&
	grep "^n3: .*sleep 1000" left
'

test_expect_success 'a killed node comes back without its processes' '
	cluster kill n3 &&
	cluster ps >left && test_must_be_empty left &&
	test_must_fail cluster on n3 true &&
	cluster revive n3 &&
	srun -w n3 hostname
'

test_expect_success 'so does one that lost its power' '
	cluster poweroff n4 &&
	cluster revive n4 &&
	srun -w n4 hostname
'

test_expect_success 'one that is cut off does not answer, but its processes live' '
	cluster on n4 setsid --fork sleep 1001 &&
	cluster cut n4 &&
	test_must_fail timeout 1 bash -c ": </dev/tcp/n4/6818" &&
	cluster ps >left && grep "^n4: .*sleep 1001" left &&
	bash -c ": </dev/tcp/n3/6818"
'

test_expect_success 'until it is mended' '
	cluster mend n4 &&
	eventually timeout 1 bash -c ": </dev/tcp/n4/6818" &&
	srun -w n4 hostname &&
	cluster ps >left && grep "^n4: .*sleep 1001" left
'

test_expect_success 'clusters live side by side' '
	cluster run 1 -- sinfo -h -N -o %N >inner &&
	echo n1 >expected &&
	test_cmp expected inner &&
	cluster status >nodes && test $(wc -l <nodes) -eq 4
'

test_expect_success 'the status of the command is the status of the run' '
	expect_status 7 cluster run 1 -- sh -c "exit 7"
'

# This script is on a login node itself: inner clusters' processes are in its view.
slurm_daemons () {
	ps -e -o comm= | grep -c '^slurm[cd]'
}
only_ours () {
	test $(slurm_daemons) -eq 5
}

test_expect_success 'up, exec and down' '
	mkdir state &&
	CLUSTER_STATE=$PWD/state &&
	export CLUSTER_STATE &&
	CLUSTER_OWNER=$$ cluster up 1 &&
	cluster exec true &&
	test $(slurm_daemons) -eq 7 &&
	cluster down &&
	only_ours
'

test_expect_success 'a cluster in the background ends with its owner' '
	sleep 1000 & owner=$! &&
	CLUSTER_OWNER=$owner cluster up 1 &&
	kill $owner &&
	eventually only_ours
'

test_expect_success 'a cluster ends with the one who runs it, also by SIGKILL' '
	"$top_srcdir/t/cluster/cluster" run 1 -- sh -c ">up; sleep 1000" & pid=$! &&
	eventually test -e up &&
	kill -9 $pid &&
	eventually only_ours
'

test_done
