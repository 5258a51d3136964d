#!/bin/sh

test_description='raytrain-inspect exports tensors as .npy files and compares checkpoints'

SETUP_WITHOUT_STAGE=1 # only raytrain-inspect is needed
. "$(dirname "$0")/setup.sh"

sample=$check/store_sample

# nothing_left_but NAME...: the working directory contains exactly these files.
nothing_left_but () {
	ls -A >left &&
	printf "%s\n" left "$@" | sort >expected &&
	sort left | cmp - expected
}
test_expect_success 'create sample checkpoints' '
	"$sample" run && "$sample" --pair a.h5 b.h5 && ck=run/checkpoint_000002.h5
'

test_expect_success '--export writes one file per tensor, and strings as text' '
	raytrain-inspect --export out $ck >said && grep "^17 tensors" said &&
	test $(find out -type f | wc -l) -eq 17 &&
	test "$(cat out/note.txt)" = "$(printf "na\303\257ve")" &&
	! test -e out/raytrain
'
test_expect_success '--export of a run writes its best checkpoint' '
	raytrain-inspect --export best run && diff -r out best && rm -r best &&
	mkdir young && cp run/run.cfg young/ &&
	expect_status 3 raytrain-inspect --export best young 2>err && grep "no checkpoint yet" err
'
test_expect_success 'NumPy reads from exported files what h5py reads from the checkpoint' '
	/usr/bin/python3 - $ck <<-\PY
	import sys, glob, h5py, numpy
	f = h5py.File(sys.argv[1], "r")
	seen = 0
	for path in glob.glob("out/**/*.npy", recursive=True):
	    name = path[len("out/"):-len(".npy")]
	    got = numpy.load(path)
	    if name.endswith(".bfloat16"):
	        want = f[name[:-len(".bfloat16")]][...]
	        assert got.dtype == numpy.uint16
	        got = (got.astype(numpy.uint32) << 16).view(numpy.float32)
	    else:
	        want = f[name][...]
	        if want.dtype.kind == "V":
	            want = numpy.frombuffer(want.tobytes(), numpy.uint8)
	        assert got.dtype == want.dtype, name
	    assert got.shape == want.shape and (got == want).all(), name
	    assert not numpy.isfortran(got)
	    seen += 1
	assert seen == 16
	PY
'
test_expect_success 'the data of an exported array start at a multiple of 64' '
	for f in $(find out -name "*.npy"); do
		test $((10 + $(od -An -tu2 -j8 -N2 $f))) -eq 128 || return 1
	done
'
test_expect_success '--export --json writes into an empty directory' '
	mkdir empty && raytrain-inspect --json --export empty/ a.h5 >said &&
	json_is said .kind export .tensors 13 && test -f empty/large.npy
'
test_expect_success '--export refuses a directory that is not empty, and does not change it' '
	mkdir full && : >full/mine &&
	expect_status 3 raytrain-inspect --export full a.h5 2>err && grep "not empty" err &&
	test "$(ls -A full)" = mine &&
	expect_status 3 raytrain-inspect --export . a.h5 2>err &&
	expect_status 5 raytrain-inspect --export full/mine a.h5 2>err &&
	(mkdir here && cd here &&
	expect_status 3 raytrain-inspect --export . ../a.h5 2>../err) &&
	grep "current directory" err && rm -rf full here
'
test_expect_success 'a failed export leaves nothing if names clash as files' '
	"$sample" --named clash.h5 x x.npy/y && rm -rf scene && mkdir scene && cd scene &&
	{ expect_status 5 raytrain-inspect --export out ../clash.h5 2>../err; status=$?; } &&
	nothing_left_but && cd .. && grep "x.npy" err && test $status -eq 0
'
test_expect_success 'a failed export leaves nothing if a file cannot grow' '
	rm -rf scene && mkdir scene && cd scene &&
	{ (trap "" XFSZ; ulimit -f 100 &&
	expect_status 5 raytrain-inspect --export out ../a.h5 2>../err); status=$?; } &&
	nothing_left_but && cd .. && grep "large.npy" err && test $status -eq 0
'
test_expect_success 'a damaged checkpoint is neither exported nor compared' '
	cp a.h5 bad.h5 && printf X | dd of=bad.h5 bs=1 seek=100000 conv=notrunc 2>/dev/null &&
	expect_status 5 raytrain-inspect --export bad bad.h5 2>err &&
	grep "large.* is damaged" err && ! test -e bad &&
	expect_status 5 raytrain-inspect --diff a.h5 bad.h5 2>err &&
	grep "large.* is damaged" err
'

test_expect_success '--diff of the same tensors ends with status 0' '
	raytrain-inspect --diff run/checkpoint_000001.h5 $ck >out.txt &&
	grep "^17 tensors, all the same" out.txt &&
	raytrain-inspect --json --diff $ck $ck >out.json &&
	jq -e ".same and (.differences | length) == 0" out.json
'
test_expect_success '--diff prints every kind of difference and ends with status 1' '
	expect_status 1 raytrain-inspect --diff a.h5 b.h5 >out.txt &&
	cat >expected <<-\EOF &&
	values: 2 of 4 elements differ, 1 of them NaN in only one, at most by 0.5, relative 0.2
	bits: equal, but not the same bits (zeros or NaNs)
	integers: 1 of 2 elements differ, at most by 1.84467e+19, relative 2
	half: 1 of 1 elements differ, at most by 1, relative 0.5
	brain: 1 of 1 elements differ, at most by 1, relative 0.5
	raw: bytes [4] and bytes [3]
	large: 1 of 3145728 elements differ
	shape: int32 [2, 3] and int32 [3, 2]
	type: int32 [6] and uint32 [6]
	first/alone: only in the first
	text: another string
	longer: another string
	second/alone: only in the second
	13 of 14 tensors not the same
	EOF
	diff expected out.txt
'
test_expect_success '--diff --json prints the differences as an object' '
	expect_status 1 raytrain-inspect --json --diff b.h5 a.h5 >out.json &&
	json_is out.json .same false .tensors 14 &&
	jq ".differences | map({(.name): .}) | add" out.json >differences.json &&
	json_is differences.json .values.differing 2 .values.one_nan 1 .values.max_absolute 0.5 \
		.bits.status bits .shape.status shape .type.status dtype &&
	jq ".[\"first/alone\"]" differences.json >alone.json && json_is alone.json .status only_b
'
test_expect_success 'wrong usage of --diff and --export ends with exit status 2' '
	expect_status 2 raytrain-inspect --diff a.h5 2>err && grep "two checkpoints" err &&
	expect_status 2 raytrain-inspect --diff a.h5 b.h5 a.h5 2>err &&
	expect_status 2 raytrain-inspect --export 2>err && grep "a directory" err &&
	mkdir -p no-run && expect_status 3 raytrain-inspect --export out1 no-run 2>err && grep no-run err &&
	expect_status 3 raytrain-inspect --export out1 /etc/passwd 2>err && grep /etc/passwd err &&
	expect_status 2 raytrain-inspect --export x --diff a.h5 b.h5 2>err &&
	expect_status 2 raytrain-inspect --export x --verify a.h5 2>err &&
	expect_status 3 raytrain-inspect --diff a.h5 absent 2>err && grep absent err
'
test_done
