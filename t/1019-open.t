#!/bin/sh
test_description='a training function opens checkpoints of any run, and HDF5 files of other programs'
. "$(dirname "$0")/setup.sh"

# opens NAME N [KEY=VALUE...]: a run of t/check/opens.c with these settings.
opens () {
	name=$1 n=$2
	shift 2
	for setting; do
		set -- "$@" --set "train_loop_config.$1" && shift
	done
	raytrain-run --launcher local --storage runs --name "$name" -n "$n" $more "$@" \
		"$modules/opens.so" 2>err
}
own="names=model/w model/note"
more=

if /usr/bin/python3 -c 'import h5py' 2>/dev/null; then
	test_set_prereq H5PY
fi

test_expect_success 'a run opens its newest checkpoint, for whose save it waits' '
	opens newest 3 reports=4 iteration=4 sum=40 "$own" string=model/note text=own
'
test_expect_success 'a run opens its best checkpoint by the score of its configuration' '
	more="--score score:max" &&
	opens best 3 reports=4 iteration=2 sum=20 "$own" &&
	opens best-dir 2 reports=4 iteration=2 sum=20 "$own" "path=runs/best-dir" &&
	more="--score score:min --set run_config.checkpoint_config.mode=sync" &&
	opens worst 2 reports=4 iteration=3 sum=30 "$own"
'
test_expect_success 'the directory of another run is its best checkpoint, and a file is that file' '
	more= &&
	opens other 3 path=runs/best iteration=2 sum=20 "$own" calls=wrong &&
	opens other-file 2 path=runs/best/checkpoint_000004.h5 iteration=4 sum=40 "$own" &&
	opens other-absolute 1 "path=$PWD/runs/best/checkpoint_000001.h5" iteration=1 sum=10 "$own"
'
test_expect_success 'a damaged checkpoint, a directory without one and a text file are refused' '
	cp runs/best/checkpoint_000004.h5 bad.h5 &&
	printf X | dd of=bad.h5 bs=1 seek=3 conv=notrunc 2>/dev/null &&
	opens bad 2 path=bad.h5 fail=damaged &&
	mkdir empty && opens empty 2 path=empty "fail=no complete checkpoint" &&
	echo hello >text.h5 && opens text 2 path=text.h5 fail=neither &&
	opens fresh 2 "fail=no complete checkpoint"
'
test_expect_success 'the checkpoint that the training starts from can be closed' '
	more="--resume=runs/best/checkpoint_000002.h5" &&
	opens closed 3 restored=true iteration=2 sum=20 "$own" reports=1 &&
	grep "starting from .*best/checkpoint_000002.h5" err &&
	test -f runs/closed/checkpoint_000003.h5 && more=
'
test_expect_success H5PY 'h5py writes a file for the tests below' '
	/usr/bin/python3 - <<-\PY
	import h5py, numpy
	f = h5py.File("other.h5", "w", userblock_size=512)
	rows = numpy.arange(60, dtype="<f4").reshape(12, 5)
	f["layer/plain"] = rows
	f["layer/big"] = rows.astype(">f8")
	f.create_dataset("layer/gzip", data=rows.astype("i4"), chunks=(5, 2),
	    compression="gzip", shuffle=True, fletcher32=True)
	f["bool"] = numpy.array([True, False, True])
	f["scalar"] = numpy.float64(7)
	f["raytrain/session/random/rank"] = numpy.zeros(3, dtype="u8")
	f["title"] = "na\u00efve"
	f["table"] = numpy.zeros(3, dtype=[("a", "f4"), ("b", "i4")])
	f["link"] = h5py.SoftLink("/layer")
	f["outside"] = h5py.ExternalLink("runs/best/checkpoint_000004.h5", "/model/w")
	f["layer/up"] = f["/"]
	f.close()
	PY
'
names="names=bool layer/big layer/gzip layer/plain scalar title"
for tensor in layer/plain:1770 layer/big:1770 layer/gzip:1770 bool:2 scalar:7; do
	test_expect_success H5PY "each rank reads ${tensor%:*} of a file that h5py wrote" '
		opens h5py-${tensor#*:}-$(basename ${tensor%:*}) 3 path=other.h5 verified=false \
			tensor=${tensor%:*} sum=${tensor#*:} "$names" string=title text=naïve
	'
done
test_expect_success H5PY 'a new run starts from a plain HDF5 file at iteration 0, with a warning' '
	more="--resume=other.h5" &&
	opens from 3 restored=true verified=false tensor=layer/plain sum=1770 "$names" reports=2 &&
	grep "starting from .*other.h5 (iteration 0)" err && grep "no checksums" err &&
	test -f runs/from/checkpoint_000002.h5
'
test_expect_success H5PY 'a run that started from a plain HDF5 file continues from its own checkpoint' '
	more=--resume &&
	opens from 3 restored=true iteration=2 sum=20 "$own" reports=1 &&
	grep "starting from .*from/checkpoint_000002.h5" err
'
test_done
