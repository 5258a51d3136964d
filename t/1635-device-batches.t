#!/bin/sh
test_description='batches of a dataset are copied ahead to a GPU, with a stand-in for the library of the driver'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/devices.sh"

# The stand-in is no CUDA (t/device/standin_cuda.c). Its streams run as late as they may: a
# kernel that is not ordered after the copy of its batch, or before the copy of another one to
# the same memory, sees wrong bytes. A library in place of NCCL has no functions, so that
# collectives have the bits of the host.
standins libcuda.so.1 empty/libnccl.so.2 || exit 1

# 103 rows: float32, float16, int64 and bytes.
"$PYTHON" - <<\EOT || exit 1
import random, struct, zipfile
def npy(dtype, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (
        dtype, "".join("%d," % n for n in shape))
    head = head.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data
r = random.Random(7)
n = 103
with zipfile.ZipFile("rows.npz", "w") as z:
    z.writestr("x.npy", npy("<f4", (n, 5), struct.pack("<515f", *[r.random() for i in range(515)])))
    z.writestr("h.npy", npy("<f2", (n, 3), struct.pack("<309e", *[r.random() for i in range(309)])))
    z.writestr("y.npy", npy("<i8", (n,), struct.pack("<103q", *[r.getrandbits(60) for i in range(n)])))
    z.writestr("b.npy", npy("|u1", (n, 7), bytes(r.getrandbits(8) for i in range(7 * n))))
with open("rows.csv", "w") as f:
    f.write("id,word,note,value\n")
    for i in range(n):
        f.write("%d,%s,%s,%s\n" % (i, r.choice(["red", "green", "blue"]), "n" * (i % 5),
            r.random() if i % 7 else ""))
EOT
train=$modules/device_batches.so
npz="--dataset train=rows.npz --set train_loop_config.columns=x,h,y,b"
csv="--dataset train=rows.csv --set datasets.train.types.note=text
	--set train_loop_config.columns=id,word,value --set train_loop_config.ragged=note"
shuffle="--set datasets.train.shuffle=true"

# with_device NAME N OPTIONS [KEY=VALUE | OPTION]...: such a run, with these options.
with_device () {
	called=$1 workers=$2 more=$3
	shift 3
	run_on_devices "$called" "$workers" "$@"
}
# same_runs NAME NAME: each checkpoint has the same bits.
same_runs () {
	(cd "runs/$1" && ls checkpoint_*.h5) >expect && (cd "runs/$2" && ls checkpoint_*.h5) >actual &&
	test_cmp expect actual &&
	while read -r file; do
		same_model "runs/$1/$file" "runs/$2/$file" || return 1
	done <expect
}
# same NAME NAME: the last ones have.
same () {
	last=$(cd "runs/$1" && ls checkpoint_*.h5 | tail -1) &&
	same_model "runs/$1/$last" "runs/$2/$last"
}

test_expect_success 'runs on the host, for comparison: they do not open the library' '
	with_device host 1 "$npz" device=false &&
	with_device host-shuffle 1 "$npz $shuffle" device=false epochs=3 &&
	with_device host-window 1 "$npz $shuffle --set datasets.train.shuffle_window=30" device=false &&
	with_device host-csv 2 "$csv $shuffle" device=false &&
	test_must_fail same host host-shuffle && test_path_is_missing log
'
test_expect_success 'batches on GPUs have the bits of batches on the host' '
	with_device gpu 1 "$npz" && same_runs host gpu && none_left 1 &&
	with_device gpu-3 3 "$npz" && same_runs host gpu-3 && none_left 4
'
test_expect_success 'shuffled batches on GPUs have the bits of those on the host, also from windows' '
	rm log && with_device shuffle 2 "$npz $shuffle" epochs=3 && same_runs host-shuffle shuffle &&
	with_device window 2 "$npz $shuffle --set datasets.train.shuffle_window=30" &&
	same_runs host-window window && none_left 4
'
test_expect_success 'the step may be waited for, or not' '
	with_device sync 2 "$npz $shuffle" epochs=3 sync=true && same_runs host-shuffle sync
'
test_expect_success 'the last batch: left out, or filled up' '
	for last in drop pad; do
		options="$npz $shuffle --set datasets.train.last_batch=$last" &&
		with_device host-$last 2 "$options" device=false &&
		with_device $last 2 "$options" && same_runs host-$last $last &&
		with_device $last-sync 2 "$options" sync=true && same_runs host-$last $last-sync || return 1
	done &&
	test_must_fail same drop pad
'
test_expect_success 'batches that become larger' '
	rm log && with_device host-grow 2 "$npz" device=false grow=true &&
	with_device grow 2 "$npz" grow=true && same_runs host-grow grow &&
	with_device grow-sync 2 "$npz" grow=true sync=true && same_runs host-grow grow-sync && none_left 4
'
test_expect_success 'codes of words and what preprocessors make are on the GPU, texts on the host' '
	rm log && with_device csv 2 "$csv $shuffle" && same_runs host-csv csv && none_left 2 &&
	cat >scaled.cfg <<-\EOT &&
	preprocessor = ( { standard_scaler = { columns = ["value", "id"]; }; } );
	EOT
	with_device host-scaled 2 "$csv $shuffle --config scaled.cfg" device=false &&
	with_device scaled 2 "$csv $shuffle --config scaled.cfg" && same_runs host-scaled scaled &&
	test_must_fail same csv scaled
'
test_expect_success 'batches go back to the host in the middle of the training' '
	rm log && with_device back 2 "$npz" back=true && same_runs host back && none_left 2
'
test_expect_success 'a graph that is captured while batches are copied is not spoiled' '
	rm log && with_device capture 2 "$npz $shuffle" epochs=3 capture=true &&
	same_runs host-shuffle capture && none_left 2
'
test_expect_success 'a run that is killed in the middle of an epoch is resumed by other workers' '
	expect_status 1 with_device killed 3 "$npz $shuffle" epochs=3 kill_at=4 &&
	with_device killed 2 "$npz $shuffle" epochs=3 --resume && same host-shuffle killed &&
	expect_status 1 with_device moved 2 "$npz $shuffle" epochs=3 kill_at=3 device=false &&
	with_device moved 1 "$npz $shuffle" epochs=3 --resume && same host-shuffle moved &&
	no_process_left
'
test_expect_success 'a GPU that is not there, another device, and columns for none are refused' '
	expect_status 3 with_device no-device 1 "$npz" wrong=device &&
	grep "dataset \"train\": there is no CUDA GPU 5: this process may use 2" err &&
	expect_status 3 with_device no-kind 1 "$npz" wrong=kind &&
	grep "dataset \"train\": this version knows no device 9" err &&
	expect_status 3 with_device no-column 1 "$csv" --set=datasets.train.columns="[\"note\"]" columns=note &&
	grep "it has no column of numbers or words; texts" err
'
test_expect_success 'a failure of the library is reported, and the run can be resumed' '
	for fail in cuMemcpyHtoDAsync_v2:1 cuEventSynchronize:1 cuStreamWaitEvent:1; do
		expect_status 1 with_device fail-$fail 1 "$npz" epochs=2 fail=\"$fail\" every=3 &&
		grep "CUDA.s ${fail%:1}.*CUDA_ERROR_ILLEGAL_ADDRESS" err &&
		with_device fail-$fail 1 "$npz" --resume every=3 || return 1
	done &&
	with_device host-3 1 "$npz" device=false every=3 &&
	same host-3 fail-cuMemcpyHtoDAsync_v2:1 && same host-3 fail-cuEventSynchronize:1
'
test_done
