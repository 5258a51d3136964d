#!/bin/sh
test_description='a worker that the kernel kills for lack of memory is reported as out of memory

The run is in a control group of its own, and one worker exceeds its limit.'
. "$(dirname "$0")/setup.sh"

train=$modules/train_model.so
limit=$((192 * 1024 * 1024))

# Create the group with cgroup v1 or v2, whichever the system allows.
group=
for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
	dir=$root/raytrain-test-$$
	mkdir "$dir" 2>/dev/null || continue
	if { echo $limit >"$dir/memory.limit_in_bytes" ||
		{ echo $limit >"$dir/memory.max" && echo 0 >"$dir/memory.swap.max"; }; } 2>/dev/null
	then
		group=$dir
		break
	fi
	rmdir "$dir"
done
if test -z "$group"; then
	skip_all='no control group with a memory limit can be created here'
	test_done
fi
cleanup 'rmdir "$group" 2>/dev/null || :'

# in_group COMMAND...: execute it in the control group.
in_group () {
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"
}

test_expect_success 'out of memory is reported with the rank, and the run continues' '
	in_group raytrain-run --launcher local --storage runs --name small -n 2 \
		--max-failures 1 --set train_loop_config.fail=memory \
		--set "train_loop_config.fail_once=$PWD/once" \
		--set train_loop_config.fail_rank=1 "$train" 2>err &&
	grep "attempt 0 failed: rank 1 on .*: out of memory: the kernel killed it" err &&
	json_is runs/small/logs/attempt-0/attempt.json .cause oom .signal 9 &&
	raytrain-inspect runs/small >shown && grep "0 *failed (out of memory), 2 workers" shown
'
test_expect_success 'a kill for another reason is not reported as out of memory' '
	expect_status 1 in_group raytrain-run --launcher local --storage runs \
		--name killed -n 2 --set train_loop_config.fail=kill "$train" 2>err &&
	grep "killed by signal 9" err && ! grep "out of memory" err
'
test_done
