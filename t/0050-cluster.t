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

test_expect_success 'tasks get fake GPUs of their own' '
	srun -n4 --gpus-per-task=1 sh -c "echo \$CUDA_VISIBLE_DEVICES" >gpus &&
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
