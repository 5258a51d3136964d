#!/bin/sh
# The script runs in a private mount namespace: the small disks are not visible outside, and
# they disappear with its last process.
if test -z "$own_mounts" && unshare -m true 2>/dev/null; then
	own_mounts=yes
	export own_mounts
	exec unshare -m sh "$0" "$@"
fi
test_description='raytrain-run --check on this machine: what it finds, and what it leaves

Slurm is left out, see 1481.'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/faults.sh"
has_fault_points && test_set_prereq FAULTS

check="raytrain-run --check --launcher local"
ulimit -c 0

if test -n "$own_mounts" && mkdir probe && mount -t tmpfs -o size=64k none "$PWD/probe" 2>/dev/null
then
	umount "$PWD/probe"
	test_set_prereq DISK
else
	say 'tests that need a mount are skipped: mounting requires root'
fi
case $(ldd "$stage/bin/raytrain-run") in
*asan*) ;; # its library must be the first one
*) test_set_prereq PRELOAD ;;
esac

test "$(id -u)" -eq 0 && test_set_prereq ROOT
command -v sinfo >/dev/null && command -v salloc >/dev/null && test_set_prereq SLURM
# As test machines are, and most others: no cluster on this one.
sinfo 2>&1 | grep -q "configuration source" && test_set_prereq UNCONFIGURED

# verdict FILE TOPIC NAME: the verdict of this finding in the output of --json.
verdict () {
	jq -r --arg topic "$2" --arg name "$3" \
		'.findings[] | select(.topic == $topic and .name == $name) | .verdict' "$1"
}
# found FILE VERDICT TOPIC NAME: there is such a finding; with a remedy unless it is ok.
found () {
	test "$(verdict "$1" "$3" "$4")" = "$2" ||
	{ echo >&2 "$3, $4: '$(verdict "$1" "$3" "$4")', expected '$2'"; return 1; }
	test "$2" = ok || test "$(jq -r --arg topic "$3" --arg name "$4" '.findings[] |
		select(.topic == $topic and .name == $name) | .remedy' "$1")" != null
}

test_expect_success 'nothing is wrong with this machine' '
	$check --storage runs >out 2>err && test_must_be_empty err && ! grep wrong out
'
test_expect_success 'the check leaves no file, no directory and no process' '
	test_path_is_missing runs && no_process_left &&
	mkdir -p kept && $check --storage kept/a/b >out && is_empty kept
'
test_expect_success '--json has the same findings: topic, name, verdict, detail, remedy' '
	$check --storage runs --json >json && json_is json .launcher local &&
	jq -e ".findings | length > 25" json && ! json_is json .verdict wrong &&
	jq -e ".findings | all(has(\"topic\") and has(\"name\") and has(\"verdict\") and
		has(\"detail\") and has(\"remedy\"))" json &&
	for finding in "workers|run" "workers|sum of all" "workers|checkpoint" \
		"MPI|library" "MPI|transport" "MPI|PMIx" "MPI|between workers" "HDF5|version" \
		"HDF5|file" "storage|sync" "storage|fcntl" "storage|flock" "nodes|/dev/shm" \
		"nodes|memlock" "nodes|nofile" "nodes|kernel" "GPUs|devices" \
		"installation|raytrain-worker" "installation|Python"; do
		verdict json "${finding%|*}" "${finding#*|}" | grep -E "ok|warning" ||
		{ echo "$finding"; return 1; }
	done
'
# skipped FILE TOPIC NAME TEXT: this was skipped, for this reason, with a way to try it.
skipped () {
	found "$1" skipped "$2" "$3" && jq -e --arg name "$3" --arg text "$4" ".findings |
		any(.name == \$name and (.detail | contains(\$text)))" "$1" >/dev/null
}
test_expect_success 'what could not be tried is named, with the reason and how to try it' '
	for name in "page of two nodes" coherence "fcntl of nodes"; do
		skipped json storage "$name" "one node" || return 1
	done && skipped json MPI "between nodes" "one node" && skipped json nodes clocks "one node" &&
	skipped json GPUs binding "without GPUs" && json_is json .verdict "$(jq -r "[.findings[].verdict] |
		if any(. == \"wrong\") then \"wrong\" elif any(. == \"warning\") then \"warning\" else \"ok\" end" json)" &&
	skipped json "batch system" configuration "launcher local" &&
	$check --storage runs >out && grep "skipped  binding, driver of workers, .*: workers were" out &&
	$check -q --storage runs >out && ! grep skipped out
'
test_expect_success 'commands that the check needs and that are not there are named' '
	mkdir -p few-commands && ln -sf $(command -v sh) few-commands/ &&
	PATH=few-commands "$stage/bin/raytrain-run" --check --json --storage runs >json &&
	skipped json slurm commands PATH && skipped json installation Python "python3 is missing" &&
	skipped json nodes "temporary files" "stat is not in PATH"
'
test_expect_success '-q prints only what is not ok' '
	(ulimit -n 512 && $check -q --storage runs >out) &&
	grep "^  warning  nofile  *512" out && grep "ulimit -n" out && ! grep "^  ok" out
'
test_expect_success 'as many workers are started as were asked for' '
	$check -n 3 --storage runs >out && grep "run  *3 on 1 node" out
'
test_expect_success DISK 'storage that is read-only is wrong, and the workers are tried elsewhere' '
	mkdir ro && mount -t tmpfs -o ro none "$PWD/ro" &&
	expect_status 4 $check --json --storage ro >json 2>err &&
	json_is json .verdict wrong && found json wrong storage create &&
	found json ok workers run && found json ok MPI library && test_must_be_empty err &&
	skipped json storage rename "earlier step"
'
test_expect_success DISK 'storage that does not exist and cannot be made is wrong' '
	expect_status 4 $check --json --storage ro/runs >json && found json wrong storage directory &&
	skipped json storage sync "does not exist" && skipped json storage owner "does not exist"
'
test_expect_success DISK 'storage that is full is wrong' '
	mkdir full && mount -t tmpfs -o size=64k none "$PWD/full" &&
	expect_status 4 $check --json --storage full >json && found json wrong storage write &&
	found json warning storage space && is_empty full
'
test_expect_success DISK 'storage with room for few files is a warning' '
	mkdir few && mount -t tmpfs -o size=100m,nr_inodes=300 none "$PWD/few" &&
	$check --storage few >out && grep "warning  space.*room for 29. files" out && is_empty few
'
test_expect_success 'storage where others may replace a run is a warning' '
	mkdir -p open/sticky open/shared shown && chmod 777 open && chmod 1777 open/sticky &&
	chmod 2770 shown && $check --json --storage open >json && found json warning storage owner &&
	$check --json --storage open/sticky >json && found json warning storage owner &&
	jq -e ".findings | any(.name == \"owner\" and (.detail | contains(\"open\")))" json &&
	chmod 755 open && $check --json --storage open/sticky >json && found json ok storage owner &&
	$check --storage shown >out && grep "owner .*its group" out
'
test_expect_success ROOT 'storage, or a directory above it, of another user is a warning' '
	mkdir -p theirs/mine && chown 65533:65533 theirs && $check --json --storage theirs >json &&
	found json warning storage owner && $check --storage theirs/mine >out &&
	grep "warning  owner .*theirs. belongs to another user (uid 65533)" out &&
	mkdir -p really && ln -s "$PWD/really" lead && chown -h 65533 lead &&
	$check --storage lead >out && grep "warning  owner .*lead. is a link" out
'
test_expect_success PRELOAD 'storage without locks is a warning, and says what that means for a run' '
	LD_PRELOAD=$modules/no_locks.so $check --storage runs >out &&
	grep "warning  fcntl  *No locks available" out && grep "warning  flock" out &&
	grep -e "-> .*watches for a minute" out && test_path_is_missing runs
'
test_expect_success 'a missing raytrain-worker is wrong' '
	mkdir -p part/bin && cp "$stage/bin/raytrain-run" part/bin/ &&
	expect_status 4 part/bin/raytrain-run --check --launcher local --json --storage runs \
		>json && found json wrong installation raytrain-worker && found json wrong workers start &&
	skipped json workers "sum of all" "failed before" && skipped json MPI library "workers" &&
	skipped json HDF5 file workers && skipped json installation xgboost workers
'
test_expect_success DISK 'a small /dev/shm is wrong, and so is none' '
	unshare -m sh -c "mount -t tmpfs -o size=1m none /dev/shm && exec \"\$@\"" sh \
		$check --json --storage runs >json
	test $? -eq 4 && found json wrong nodes /dev/shm
'
test_expect_success 'a low limit on open files is wrong' '
	(ulimit -n 100 && expect_status 4 $check --json --storage runs >json) &&
	found json wrong nodes nofile
'
test_expect_success 'GPUs that workers do not see are wrong' '
	CUDA_VISIBLE_DEVICES=0 expect_status 4 $check --json --gpu -n 2 --storage runs >json &&
	found json wrong workers start
'
test_expect_success 'on a machine with one GPU a check tries one worker' '
	CUDA_VISIBLE_DEVICES=0 $check --json --gpu --storage runs >json 2>err &&
	found json ok workers run && found json ok GPUs binding &&
	CUDA_VISIBLE_DEVICES=0 $check --json --gpu -n 1 --storage runs >json 2>err &&
	found json ok workers run
'
test_expect_success 'each worker that sees a GPU of its own is ok' '
	CUDA_VISIBLE_DEVICES=0,1 $check --json --gpu -n 2 --storage runs >json &&
	found json ok GPUs binding
'
test_expect_success 'a python3 that cannot import the module is a warning' '
	mkdir bin && cat >bin/python3 <<-\EOT && chmod +x bin/python3 &&
	#!/bin/sh
	echo no such module
	exit 1
	EOT
	PATH=$PWD/bin:$PATH $check --json --storage runs >json && found json warning installation Python
'
test_expect_success 'what an earlier check that was killed has left is removed' '
	host=$(hostname) && mkdir -p runs/.raytrain-check-$host-4194305/logs \
		runs/.raytrain-check-other-4194305 runs/.raytrain-check-$host-1 &&
	$check --storage runs >out && test_path_is_missing runs/.raytrain-check-$host-4194305 &&
	test -d runs/.raytrain-check-other-4194305 && test -d runs/.raytrain-check-$host-1 &&
	rm -r runs
'
# In a container a check has the same id each time. A run that was killed has begun an attempt.
test_expect_success 'what an earlier check with the same process id has left is removed' '
	raytrain-run --launcher local --storage runs --name begun -n 1 "$modules/train_model.so" 2>err &&
	expect_status 0 sh -c "mv runs/begun runs/.raytrain-check-$(hostname)-\$\$ && exec \"\$@\"" sh \
		$check --storage runs >out 2>err && test -z "$(ls -A runs)" && rm -r runs
'
has_begun () {
	ls -d runs/.raytrain-check-*/logs/attempt-0 >/dev/null 2>&1
}
test_expect_success FAULTS 'a check that is stopped exits with 75 and leaves nothing' '
	{ RAYTRAIN_FAULT=save.data:1:stop $check --storage runs >out 2>err & } && pid=$! &&
	eventually has_begun &&
	kill -INT $pid && eventually grep "a second SIGINT" err && kill -INT $pid &&
	expect_status 75 wait $pid && grep "warning  run  *stopped on request" out &&
	test_path_is_missing runs && no_process_left &&
	grep "skipped  library, .*: the check was stopped" out
'
test_expect_success SLURM 'a Slurm that is not configured is a finding at once' '
	SLURM_CONF=$PWD/no.conf expect_status 4 timeout 120 raytrain-run --check --json \
		--launcher slurm --storage runs >json 2>err &&
	found json wrong slurm allocation && ! grep retrying err
'
test_expect_success SLURM '--launcher slurm without a configuration of Slurm is refused at once' '
	SLURM_CONF=$PWD/no.conf expect_status 3 timeout 60 raytrain-run --launcher slurm \
		--storage runs -- true 2>err && grep "no.conf.*no such file" err &&
	! grep retrying err
'
test_expect_success UNCONFIGURED '--launcher slurm on a machine of no cluster is refused at once' '
	expect_status 3 timeout 60 raytrain-run --launcher slurm --storage runs -- true 2>err &&
	grep "Set SLURM_CONF" err && ! grep retrying err
'
test_expect_success 'what a check has no use for is refused' '
	expect_status 2 $check train.so 2>err && grep "takes no training function" err &&
	for flag in --resume --fresh --submit --dry-run; do
		expect_status 2 raytrain-run --check $flag 2>err && grep -e "leave out $flag" err ||
		return 1
	done
'
test_expect_success 'a configuration file can name the storage and the workers' '
	cat >site.cfg <<-\EOT &&
	scaling_config = { num_workers = 3; };
	run_config = { storage_path = "elsewhere"; };
	EOT
	$check -c site.cfg >out && grep "/elsewhere (" out && grep "3 on 1 node" out
'
if test_have_prereq DISK; then
	umount "$PWD/ro" "$PWD/full" "$PWD/few"
fi
test_done
