#!/bin/sh
test_description='checkpoints of Python scripts: dicts, directories, shards, from any ranks to any number'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs"
. "$srcdir/t/python-state.sh"

# -- dicts --

test_expect_success 'rank 1 of 2 reports a dict of plain values and NumPy arrays' '
	cat >plain.py <<-\EOF &&
	import array, sys
	from collections import OrderedDict
	import numpy as np
	import raytrain as train
	from same import same

	class Opaque:
	    def __init__(self, x): self.x = x
	    def __eq__(self, other): return self.x == other.x

	def make():
	    rng = np.random.default_rng(7)
	    base = np.arange(100, dtype=np.float32)
	    cells = rng.random((6, 8))
	    return {
	        "numbers": {"int": 1, "big": 2**63, "huge": -2**200, "float": -2.5,
	                    "nan": float("nan"), "inf": float("-inf"), "true": True,
	                    "none": None, "complex": 1 - 2j},
	        "texts": {"text": "grüße", "nul": "a\0b", "surrogate": "\ud800", "empty": ""},
	        "bytes": [b"", b"bytes", bytearray(b"array"), array.array("h", [1, -2])],
	        "lists": [[], (), [1, 2], (1.5, float("nan")), [True, False],
	                  [1, 2.0, "x", None], [2**70], list(range(1000)), ["w"] * 1000],
	        "keys": {1: "int", "1": "str", 2.5: "float", None: "none", True: "bool",
	                 ("a", 1): "tuple", b"b": "bytes", "": "empty", "a/b": "slash",
	                 "a%2Fb": "percent", ".": "dot", "..": "dots", "x" * 300: "long",
	                 "x" * 300 + "y": "long, too", "\n": "control", "files": {"x": 1}},
	        "files": 1, "raytrain": 2, "python": {"structure": 3},
	        "ordered": OrderedDict([("b", 1), ("a", 2)]),
	        "arrays": {
	            "scalar": np.array(3.5), "empty": np.zeros((2, 0, 3)), "f16": rng.random(5).astype("f2"),
	            "bool": np.array([[True], [False]]), "c8": np.array([1 + 2j], "c8"),
	            "c16": np.array([[1 + 2j]]), "u8": np.arange(3, dtype="u8"),
	            "big-endian": np.arange(5, dtype=">i4"), "date": np.array(["2020-01-01"], "M8[D]"),
	            "S": np.array([b"ab", b"c"]), "U": np.array([["ab", "ü"]]),
	            "record": np.array([(1, [2.5, 3])], [("x", "<i4"), ("y", "<f8", (2,))]),
	            "long double": np.array([1.5], np.longdouble), "strided": cells[::2, 1::3],
	            "fortran": np.asfortranarray(cells), "9 dims": rng.random((1,) * 8 + (3,)),
	            "generic": np.float32(1.5), "bool_": np.bool_(True)},
	        "shared": {"base": base, "again": base, "slice": base[3:9], "back": base[::-1],
	                   "left": base[200:], "column": cells[:, 0], "column again": cells[:, 0],
	                   "first": base[:0]},
	        "overlap": [np.arange(10.)[0:6]],
	        "opaque": Opaque(5), "set": {1, 2},
	    }

	rank = train.get_context().get_world_rank()
	checkpoint = train.get_checkpoint()
	if checkpoint is None:
	    made = make()
	    line = np.arange(10.)
	    made["union"] = [line[0:6], line[4:10]]
	    checkpoint = train.Checkpoint.from_dict(made)
	    checkpoint.set_metadata({"epoch": 3, "text": "ü"})
	    train.report({"loss": 0.5}, checkpoint=checkpoint if rank == 1 else None)
	    sys.exit()
	found = checkpoint.to_dict()
	assert found["opaque"].type == "__main__.Opaque", found["opaque"]
	assert found["opaque"].load() == Opaque(5)
	assert "runs code" in repr(found["set"])
	found = checkpoint.to_dict(allow_pickle=True)
	union = found.pop("union")
	same(make(), found)
	assert found["arrays"]["fortran"].flags.f_contiguous
	shared = found["shared"]
	assert shared["base"] is shared["again"]
	shared["base"][3] = 77
	assert shared["slice"][0] == 77 and shared["back"][96] == 77
	shared["column"][1] = 78
	assert shared["column again"][1] == 78
	union[0][4] = 79
	assert union[1][0] == 79
	assert checkpoint.get_metadata() == {"epoch": 3, "text": "ü"}
	assert checkpoint.metrics == {"loss": 0.5} and checkpoint.training_iteration == 1
	same(make()["arrays"]["c16"], checkpoint.read("arrays/c16"))
	same(make()["arrays"]["strided"][1:3], checkpoint.read("arrays/strided", (1, 0), (2, 3)))
	EOF
	$run --name plain -n 2 -- $PYTHON plain.py
'
for n in 1 2 3; do
	test_expect_success "$n ranks get it back bit by bit" '
		$run --name plain-$n -n $n --resume=runs/plain/checkpoint_000001.h5 -- $PYTHON plain.py ||
		{ errors_of plain-$n >&2; return 1; }
	'
done
test_expect_success 'h5dump shows values by their names' '
	h5dump -d /numbers/int -d /texts/text -d /lists/2 -d "/keys/a%2Fb" -d "/arrays/9 dims" \
		runs/plain/checkpoint_000001.h5 >dump &&
	grep "DATASPACE *SCALAR" dump && grep "H5T_STRING" dump && grep "(0): 1, 2" dump &&
	raytrain-inspect --verify runs/plain/checkpoint_000001.h5
'
test_expect_success 'shared memory is stored once' '
	h5ls -r runs/plain/checkpoint_000001.h5 >list &&
	grep "^/shared/base " list && ! grep "^/shared/slice" list && grep "^/python/shared/1 .*{10}" list
'
test_expect_success 'without NumPy, arrays are memoryviews' '
	cat >bare.py <<-\EOF &&
	import sys
	sys.modules["numpy"] = sys.modules["torch"] = None
	import raytrain as train
	found = train.get_checkpoint().to_dict()["arrays"]
	assert type(found["f16"]) is memoryview and found["f16"].format == "H"
	assert found["strided"].shape == (3, 3), found["strided"].shape
	found["bool"][0, 0] = 0
	EOF
	$run --name bare -n 1 --resume=runs/plain/checkpoint_000001.h5 -- $PYTHON bare.py ||
	{ errors_of bare >&2; return 1; }
'
test_expect_success 'each of many reports keeps its own values, whatever is done to the arrays next' '
	cat >quick.py <<-\EOF &&
	import numpy as np, sys
	import raytrain as train
	from raytrain._session import session
	rank = train.get_context().get_world_rank()
	big, sizes = np.zeros(8 << 20), [1, 3, 2, 8, 8, 1, 5, 5, 4, 8]
	for i, size in enumerate(sizes):
	    big[:] = i
	    part = big[: size << 20]
	    train.report({"loss": 1}, checkpoint=train.Checkpoint.from_dict({
	        "part": part, "shard": train.Shard(part[rank::2], part.shape, (rank * part.size // 2,))}))
	    big[:] = -1
	session().call("checkpoint_wait")
	for i, size in enumerate(sizes[rank::2]):
	    i = 2 * i + rank
	    found = train.Checkpoint(f"runs/quick/checkpoint_{i + 1:06}.h5").to_dict()
	    for array in found.values():
	        assert array.shape == (size << 20,) and (array == i).all(), (i, array)
	EOF
	{ $run --name quick -n 2 -- $PYTHON quick.py || { errors_of quick >&2; return 1; }; }
'
test_expect_success '100 levels, 10,000 arrays' '
	cat >many.py <<-\EOF &&
	import numpy as np, sys
	import raytrain as train
	from same import same

	deep = inner = {}
	for i in range(100):
	    inner["array"] = np.full(3, i)
	    inner["a long name"] = inner = {}
	made = {"deep": deep, "many": {f"layer.{i}.weight": np.full(i % 7, i, "f4") for i in range(10000)}}
	checkpoint = train.get_checkpoint()
	if checkpoint is None:
	    for i in range(3):
	        train.report({"loss": 1}, checkpoint=train.Checkpoint.from_dict(made))
	else:
	    same(made, checkpoint.to_dict())
	EOF
	$run --name many -n 2 -- $PYTHON many.py &&
	{ $run --name many-back -n 1 --resume=runs/many/checkpoint_000003.h5 -- $PYTHON many.py ||
	{ errors_of many-back >&2; return 1; }; }
'
test_expect_success 'a dict that contains itself, and keys that cannot be kept, are refused by name' '
	cat >bad.py <<-\EOF &&
	import sys
	import raytrain as train
	loop = {}
	loop["me"] = [loop]
	for what in loop, {"a": {frozenset(): 1}}, {"f": {"g": (i for i in "")}}:
	    try:
	        train.report({"loss": 1}, checkpoint=train.Checkpoint.from_dict(what))
	    except Exception as e:
	        print(e, file=sys.stderr)
	train.report({"loss": 1}, checkpoint=train.Checkpoint.from_dict({"fine": 1}))
	try:
	    train.report({"loss": 1}, checkpoint={"a": 1})
	except TypeError as e:
	    print(e, file=sys.stderr)
	EOF
	$run --name bad -n 2 -- $PYTHON bad.py &&
	says bad "contains itself" && says bad "the key frozenset()" && says bad "f/g: a checkpoint cannot hold this builtins.generator" &&
	says bad "not dict: make one by Checkpoint.from_dict(...) or Checkpoint.from_directory(path)" &&
	h5dump -d /fine runs/bad/checkpoint_000001.h5
'
test_expect_success 'ranks whose checkpoints differ get an error that names them' '
	cat >differ.py <<-\EOF &&
	import sys
	import numpy as np
	import raytrain as train
	rank = train.get_context().get_world_rank()
	cases = [
	    [{"a": np.zeros(3)}, {"a": np.zeros(4)}], [{"a": np.zeros(3)}, {"b": np.zeros(3)}],
	    [{"a": np.zeros(3)}, {}], ["."  , {"a": 1}],
	    [{"a": train.Shard(np.zeros(3), (6,), (0,))}, {"a": np.zeros(6)}],
	    [{"a": train.Shard(np.zeros(3), (6,), (0,))}, {"a": train.Shard(np.zeros(3), (6,), (2,))}],
	    [{"a": train.Shard(np.zeros(3), (6,), (0,))}, None],
	    [{"a": train.Shard(np.zeros(3), (6,), (4,))}, {"a": 1}],
	]
	for i, case in enumerate(cases):
	    mine = case[rank]
	    checkpoint = mine if mine is None else train.Checkpoint.from_directory(mine) \
	        if type(mine) is str else train.Checkpoint.from_dict(mine)
	    try:
	        train.report({"loss": 1}, checkpoint=checkpoint)
	    except Exception as e:
	        print(f"{i}: {e}", file=sys.stderr)
	fine = {"a": np.zeros(2), "history": [rank] * (rank + 1), "rank": rank if rank else 0.5}
	train.report({"loss": 1}, checkpoint=train.Checkpoint.from_dict(fine))
	EOF
	mkdir -p empty && (cd empty && $run --storage .. --name differ -n 2 -- $PYTHON ../differ.py); 
	mv differ runs/ 2>/dev/null; errors_of differ >all; cat all &&
	says differ "0: the checkpoint of rank 0 has \"a\" (float64 [3]) where that of rank 1 has \"a\" (float64 [4])" &&
	says differ "1: the checkpoint of rank 0 has \"a\" (float64 [3]) where that of rank 1 has \"b\" (float64 [3])" &&
	says differ "2: the checkpoint of rank 0 has \"a\" (float64 [3]) where that of rank 1 has nothing more" &&
	says differ "3: the checkpoint of rank 0 is a directory and that of rank 1 is a dict" &&
	says differ "4: the checkpoint of rank 0 has \"a\" (a Shard of float64 [6])" &&
	says differ "5: " && grep "5: .*overlap" all && grep "6: .*elements" all &&
	says differ "7: a: elements 4 to 7 of a Shard along axis 0 are not within its global shape (6,)" &&
	h5dump -d /a runs/differ/checkpoint_000001.h5
'

# -- shards --

test_expect_success 'shards of 3 ranks are read by 2' '
	cat >shards.py <<-\EOF &&
	import sys
	import numpy as np
	import raytrain as train
	whole = np.arange(70, dtype="f4").reshape(10, 7)
	lines = (np.arange(10) + 1j).astype("c8")
	context = train.get_context()
	rank, size = context.get_world_rank(), context.get_world_size()
	checkpoint = train.get_checkpoint()
	if checkpoint is None:
	    a, b = 10 * rank // size, 10 * (rank + 1) // size
	    train.report({"loss": 1}, checkpoint=train.Checkpoint.from_dict({
	        "rank": rank, "state": {
	            "whole": train.Shard(whole[a:b], whole.shape, (a, 0)),
	            "lines": train.Shard(lines[a:b], [10], [a])},
	        "replicated": np.full(3, 5)}))
	    sys.exit()
	assert (checkpoint.read("state/whole", (5 * rank, 2), (5, 3)) == whole[5 * rank:][:5, 2:5]).all()
	assert (checkpoint.read("state/lines", [3], [4]) == lines[3:7]).all()
	found = checkpoint.to_dict()
	assert found["rank"] == 0 and (found["state"]["whole"] == whole).all()
	found = checkpoint.to_dict(shards=False)["state"]["whole"]
	assert found.shape == (10, 7) and (found.read() == whole).all()
	assert (found.read((9, 6), (1, 1)) == [[69]]).all()
	for start, count in ((0, 0), (11, 7)), ((-1, 0), (1, 1)), ((0,), (1,)):
	    try:
	        found.read(start, count)
	    except train.RaytrainError as e:
	        print(e, file=sys.stderr)
	    else:
	        raise AssertionError((start, count))
	EOF
	$run --name shards -n 3 -- $PYTHON shards.py &&
	{ $run --name shards-2 -n 2 --resume=runs/shards/checkpoint_000001.h5 -- $PYTHON shards.py ||
	{ errors_of shards-2 >&2; return 1; }; }
'

# -- directories --

test_expect_success 'the files of several ranks become one directory' '
	cat >files.py <<-\EOF &&
	import os, sys, tempfile
	import raytrain as train
	import raytrain.checkpoint
	context = train.get_context()
	rank = context.get_world_rank()
	checkpoint = train.get_checkpoint()
	if checkpoint is None:
	    with tempfile.TemporaryDirectory() as d:
	        def put(path, text):
	            os.makedirs(os.path.dirname(os.path.join(d, path)), exist_ok=True)
	            with open(os.path.join(d, path), "wb") as file:
	                file.write(text)
	        put("model.bin", b"model of rank %d" % rank)
	        put("equal", b"equal")
	        put("nothing", b"")
	        put(f"sub/ü/rank {rank}", b"x" * 1000000 * rank)
	        put(b"odd\xff\n".decode(errors="surrogateescape"), b"odd")
	        os.makedirs(f"{d}/empty/{rank}")
	        os.symlink("model.bin", f"{d}/link")
	        os.symlink("sub", f"{d}/linked")
	        checkpoint = train.Checkpoint.from_directory(d)
	        checkpoint.update_metadata({"rank": rank})
	        train.report({"loss": 1}, checkpoint=checkpoint if rank > 0 else None)
	    sys.exit()
	raytrain.checkpoint.PIECE = (1 << 20, 300000)[rank]
	with checkpoint.as_directory() as d:
	    found = {}
	    for root, directories, files in os.walk(d):
	        for name in files:
	            path = os.path.join(root, name)
	            found[os.fsencode(os.path.relpath(path, d))] = open(path, "rb").read()
	        if not directories and not files:
	            found[os.fsencode(os.path.relpath(root, d))] = None
	odd = {b"sub/\xc3\xbc/rank %d" % r: b"x" * 1000000 * r for r in (1, 2)}
	odd.update({b"linked" + name[3:]: data for name, data in odd.items()})
	assert found == {
	    b"model.bin": b"model of rank 1", b"equal": b"equal", b"nothing": b"", b"odd\xff\n": b"odd", b"link": b"model of rank 1",
	    b"empty/1": None, b"empty/2": None, **odd}, {k: v and v[:20] for k, v in found.items()}
	assert checkpoint.get_metadata() == {"rank": 1}
	try:
	    checkpoint.to_dict()
	except train.RaytrainError as e:
	    print(e, file=sys.stderr)
	train.report({"loss": 1}, checkpoint=checkpoint if rank == 0 else None)
	assert not os.path.exists(d)
	EOF
	$run --name files -n 3 -- $PYTHON files.py 2>err && cat err &&
	grep "the file \"model.bin\" has one content in the checkpoint of rank 1 and another in that of rank 2" err &&
	! grep "file \"equal\"" err
'
for n in 1 2; do
	test_expect_success "$n ranks get the directory, and report it again" '
		{ $run --name files-$n -n $n --resume=runs/files/checkpoint_000001.h5 -- $PYTHON files.py ||
		{ errors_of files-$n >&2; return 1; }; } &&
		says files-$n "was made from a directory: use as_directory()" &&
		h5dump -d /files/equal runs/files-$n/checkpoint_000002.h5
	'
done
test_expect_success 'links out of the directory, in circles and to nothing are refused, and so are devices' '
	cat >links.py <<-\EOF &&
	import os, socket, sys, tempfile
	import raytrain as train
	rank = train.get_context().get_world_rank()
	def attempt(make):
	    with tempfile.TemporaryDirectory() as d:
	        make(d)
	        try:
	            train.report({"loss": 1}, checkpoint=train.Checkpoint.from_directory(d) if rank == 1 else None)
	        except Exception as e:
	            print(f"rank {rank}: {type(e).__name__}: {e}", file=sys.stderr)
	        else:
	            raise AssertionError
	attempt(lambda d: os.symlink("/etc/hostname", d + "/out"))
	attempt(lambda d: (os.mkdir(d + "/sub"), os.symlink("../sub", d + "/sub/circle")))
	attempt(lambda d: os.symlink("nothing", d + "/dangling"))
	attempt(lambda d: os.symlink("itself", d + "/itself"))
	with tempfile.TemporaryDirectory() as d:
	    os.mkfifo(d + "/fifo")
	    socket.socket(socket.AF_UNIX).bind(d + "/socket")
	    open(d + "/file", "w").write("file")
	    train.report({"loss": 1}, checkpoint=train.Checkpoint.from_directory(d) if rank == 1 else None)
	EOF
	{ $run --name links -n 2 -- $PYTHON links.py || { errors_of links >&2; return 1; }; } &&
	for text in "/out. leads out of" "/circle. leads to a directory that it is in" \
		"/dangling. .*cannot be followed" "/itself. .*cannot be followed"; do
		errors_of links | grep "^rank 1: ValueError: .*$text" &&
		errors_of links | grep "^rank 0: CommunicationError: the report of rank 1 was refused: .*$text" ||
		{ echo "no $text"; return 1; }
	done &&
	errors_of links | grep "UserWarning: report(): 2 .*fifo.*socket" &&
	h5ls -r runs/links/checkpoint_000001.h5/files >list && test "$(wc -l <list)" -eq 1 && grep "/file " list
'
test_expect_success 'a file that cannot be read fails the report on all ranks, and no more' '
	cat >unreadable.py <<-\EOF &&
	import os, sys
	import raytrain as train
	import raytrain._offer
	rank = train.get_context().get_world_rank()
	os.makedirs(f"dir-{rank}", exist_ok=True)
	open(f"dir-{rank}/file", "w").write("x" * 100)
	checkpoint = train.Checkpoint.from_directory(f"dir-{rank}")
	read = raytrain._offer._read_into
	def fails(path, view):
	    os.unlink(path) if rank == 1 else None
	    read(path, view)
	raytrain._offer._read_into = fails
	try:
	    train.report({"loss": 1}, checkpoint=checkpoint)
	except Exception as e:
	    print(f"rank {rank}: {type(e).__name__}: {e}", file=sys.stderr)
	open(f"dir-{rank}/file", "w").write("x" * 100)
	raytrain._offer._read_into = read
	train.report({"loss": 1}, checkpoint=checkpoint)
	EOF
	{ $run --name unreadable -n 2 -- $PYTHON unreadable.py || { errors_of unreadable >&2; return 1; }; } &&
	says unreadable "rank 1: StorageError: cannot read" &&
	says unreadable "rank 0: StorageError: " &&
	h5dump -d /files/file runs/unreadable/checkpoint_000001.h5
'

# -- the other arguments of report(), and what the run has --

test_expect_success 'upload modes say whether a directory stays once it is reported' '
	cat >modes.py <<-\EOF &&
	import os, sys
	import raytrain as train
	from raytrain import Checkpoint, CheckpointUploadMode as Mode
	context = train.get_context()
	rank, storage = context.get_world_rank(), context.get_storage()
	def made(path):
	    os.makedirs(path + "/sub", exist_ok=True)
	    open(f"{path}/sub/{rank}", "w").write(f"{path} {rank}" * 100000)
	    return Checkpoint(path)
	cases = [(Mode.SYNC, None), (Mode.SYNC, True), (Mode.ASYNC, None), (Mode.ASYNC, False),
	         (Mode.NO_UPLOAD, None), (Mode.NO_UPLOAD, True)]
	for i, (mode, delete) in enumerate(cases):
	    # The first worker and the second report the same directory.
	    name = f"case-{i}-{rank // 2}"
	    path = storage.build_checkpoint_path_from_name(name) if mode is Mode.NO_UPLOAD else name
	    checkpoint = made(path)
	    train.barrier()
	    train.report({"loss": i}, checkpoint, checkpoint_dir_name=name, checkpoint_upload_mode=mode,
	                 delete_local_checkpoint_after_upload=delete)
	    train.barrier()
	    assert os.path.isdir(path) == (i not in (1, 2)), (mode, delete, os.path.isdir(path))
	os.mkdir(f"case-6-{rank}")
	train.report({"loss": 6}, None, None, Mode.ASYNC, True)
	train.report({"loss": 7}, Checkpoint.from_dict({"a": 1}), checkpoint_upload_mode=Mode.ASYNC)
	link = f"link-{rank}"
	os.symlink(f"case-6-{rank}", link)
	train.report({"loss": 8}, Checkpoint(link), checkpoint_upload_mode=Mode.ASYNC)
	os._exit(3)  # the run has ended with that report
	EOF
	{ $run --name modes -n 3 --set run_config.stop.training_iteration=9 -- $PYTHON modes.py 2>err ||
	{ cat err >&2; errors_of modes >&2; return 1; }; } &&
	for i in 1 2 3 4 5 6; do
		h5ls runs/modes/checkpoint_00000$i.h5/files/sub >list && test "$(wc -l <list)" -eq 3 || return 1
	done &&
	grep "rank 2: cannot remove the checkpoint.s directory .*/link-2 .*symbolic link" err &&
	test -d case-6-2
'
test_expect_success 'checkpoint_upload_fn makes what is reported' '
	cat >upload.py <<-\EOF &&
	import os, shutil, sys
	import raytrain as train
	from raytrain import Checkpoint, CheckpointUploadMode as Mode
	context = train.get_context()
	rank = context.get_world_rank()
	names = []
	def upload(checkpoint, name):
	    names.append(name)
	    target = context.get_storage().build_checkpoint_path_from_name(f"{name}-{rank}")
	    shutil.copytree(checkpoint.path, target, dirs_exist_ok=True)
	    open(f"{target}/uploaded-{rank}", "w").write(name)
	    return Checkpoint.from_directory(target)
	path = f"local-{rank}"
	os.mkdir(path)
	open(f"{path}/file-{rank}", "w").write("file")
	def report(**arguments):
	    train.report({"loss": 1}, Checkpoint(path), **{"checkpoint_upload_fn": upload, **arguments})
	report()
	report(checkpoint_dir_name="mine", checkpoint_upload_mode=Mode.ASYNC,
	       delete_local_checkpoint_after_upload=False)
	report(checkpoint_upload_mode=Mode.NO_UPLOAD)
	assert names == ["checkpoint_0_000001", "mine"], names
	def fails(checkpoint, name):
	    raise KeyError("not mounted")
	wrong = [{"checkpoint_upload_fn": fails}, {"checkpoint_upload_fn": lambda c, n: None},
	         {"checkpoint_upload_fn": 3}, {"checkpoint_upload_mode": "ASYNC"},
	         {"delete_local_checkpoint_after_upload": 1}, {"checkpoint_dir_name": "a/b"},
	         {"checkpoint_dir_name": 7}, {"checkpoint_dir_name": ".."}, {"validation": True}]
	for arguments in wrong:
	    try:
	        report(**{"checkpoint_upload_mode": Mode.ASYNC, **(arguments if rank == 1 else {})})
	    except Exception as e:
	        print(f"rank {rank}: {type(e).__name__}: {e}", file=sys.stderr)
	    else:
	        raise AssertionError(arguments)
	    assert os.path.isdir(path)
	report(checkpoint_upload_mode=Mode.ASYNC)
	assert names[-1] == "checkpoint_0_000013" and not os.path.exists(path), names
	EOF
	{ $run --name upload -n 2 -- $PYTHON upload.py || { errors_of upload >&2; return 1; }; } &&
	for file in file-0 file-1 uploaded-0 uploaded-1; do
		h5dump -d /files/$file runs/upload/checkpoint_000002.h5 || return 1
	done &&
	h5ls runs/upload/checkpoint_000003.h5/files >list && test "$(wc -l <list)" -eq 2 &&
	for text in "KeyError: .not mounted." "InvalidArgument: checkpoint_upload_fn must return a raytrain.Checkpoint, not NoneType" \
		"WrongType: checkpoint_upload_fn is a function" "WrongType: checkpoint_upload_mode is .*, not .ASYNC." \
		"WrongType: delete_local_checkpoint_after_upload is True, False or None, not 1" \
		"InvalidArgument: the name .* without /, not .a/b." "WrongType: the name .* is a str, not int" \
		"InvalidArgument: .* not .\.\.." "NotSupported: report() has no validation=, .*BatchPredictor"; do
		errors_of upload | grep "^rank 1: $text" &&
		errors_of upload | grep "^rank 0: CommunicationError: the report of rank 1 was refused: ${text#*: }" ||
		{ echo "no $text"; errors_of upload; return 1; }
	done
'
test_expect_success 'any worker gets the checkpoints that are kept, with the metrics of rank 0' '
	cat >reported.py <<-\EOF &&
	import os, sys
	import raytrain as train
	from raytrain import CheckpointConsistencyMode, ReportedCheckpoint, ReportedCheckpointStatus
	context = train.get_context()
	rank, attempt = context.get_world_rank(), context.get_attempt()
	def check(*iterations, **arguments):
	    found = train.get_all_reported_checkpoints(**arguments)
	    assert [r.checkpoint.training_iteration for r in found] == list(iterations), found
	    for reported in found:
	        i = reported.checkpoint.training_iteration
	        assert reported.metrics == {"loss": -i, "of": {"rank": 0}}, reported
	        assert reported.checkpoint.to_dict() == {"i": i}
	        assert reported.status is ReportedCheckpointStatus.COMMITTED
	        assert type(reported) is ReportedCheckpoint
	check(*((3, 4) if attempt else ()))
	for i in (5,) if attempt else (1, 2, 3, 4):
	    checkpoint = train.Checkpoint.from_dict({"i": i}) if rank == 1 else None
	    train.report({"loss": -i, "of": {"rank": rank}}, checkpoint)
	    mode = CheckpointConsistencyMode.COMMITTED
	    if rank == i % 2:  # not collective
	        check(*range(max(1, i - 1), i + 1), consistency_mode=mode, timeout_s=60 if i > 2 else None)
	check(i - 1, i)
	check(i - 1, i, timeout_s=0)
	for wrong in {"timeout_s": -1}, {"timeout_s": "1"}, {"consistency_mode": "COMMITTED"}:
	    try:
	        train.get_all_reported_checkpoints(**wrong)
	    except (ValueError, TypeError) as e:
	        print(type(e).__name__, e, file=sys.stderr)
	    else:
	        raise AssertionError(wrong)
	train.barrier()
	if attempt == 0 and rank == 0:
	    os._exit(7)
	EOF
	{ RAYTRAIN_FAULT=retention.delete:all:slow \
		$run --name reported -n 2 --set run_config.failure_config.max_failures=1 \
		--set run_config.checkpoint_config.num_to_keep=2 \
		-- $PYTHON reported.py || { errors_of reported >&2; return 1; }; } &&
	says reported "InvalidArgument timeout_s is 0 or more, not -1" &&
	says reported "WrongType timeout_s is a number of seconds, or None" &&
	says reported "WrongType consistency_mode is raytrain.CheckpointConsistencyMode.COMMITTED or VALIDATED" &&
	test_path_is_missing runs/reported/checkpoint_000003.h5 &&
	PYTHONPATH=$stage/share/raytrain/python $PYTHON -c "import raytrain as train; assert train.get_all_reported_checkpoints() == []"
'

cat >newest.py <<\EOF
import os
import raytrain as train
context = train.get_context()
rank, attempt = context.get_world_rank(), context.get_attempt()
def of(i):
    os.makedirs(f"part-{rank}", exist_ok=True)
    open(f"part-{rank}/file", "w").write(str(i))
    return train.Checkpoint(f"part-{rank}")
def check(i):
    checkpoint = train.get_checkpoint()
    assert checkpoint is train.get_checkpoint()
    name = f"checkpoint_{i:06d}.h5"
    assert name in repr(checkpoint) and len({checkpoint, train.get_checkpoint()}) == 1
    if rank != i % 2:  # not collective
        return
    with checkpoint.as_directory() as path:
        assert open(path + "/file").read() == str(i)
    assert checkpoint.training_iteration == i and os.path.basename(checkpoint.file) == name
    assert checkpoint.metrics == {"i": i}
    assert open(checkpoint.path + "/file").read() == str(i)
    kept = [name for name in os.listdir(os.path.dirname(checkpoint.path)) if "." not in name]
    assert len(kept) <= 2, kept  # a directory goes with its checkpoint
if attempt == 0:
    assert train.get_checkpoint() is None
    train.report({"i": 1})
    assert train.get_checkpoint() is None
    for i in range(2, 7):
        train.report({"i": i}, of(i) if rank == 1 else None)
        check(i)
        train.barrier()
    train.report({"i": 7}, of(7) if rank == 0 else None)
    check(7)
    train.get_checkpoint().file  # it is on storage before rank 0 ends
    train.barrier()
    if rank == 0:
        os._exit(3)
assert train.get_checkpoint().training_iteration == 7
train.report({"i": 8})
assert train.get_checkpoint().training_iteration == 7
train.report({"i": 9}, of(9) if rank == 1 else None)
check(9)
EOF
for mode in mode=async mode=sync replicas=1; do
	test_expect_success "get_checkpoint() is the newest checkpoint that was reported, with $mode" '
		rm -rf part-* tmp && mkdir tmp &&
		{ TMPDIR=$PWD/tmp $run --name newest-$mode -n 2 \
			--set run_config.failure_config.max_failures=1 \
			--set run_config.checkpoint_config.num_to_keep=1 \
			--set run_config.checkpoint_config.$mode -- $PYTHON newest.py ||
			{ errors_of newest-$mode >&2; return 1; }; } &&
		json_is runs/newest-$mode/logs/attempt-1/attempt.json .outcome finished
	'
done
. "$srcdir/t/faults.sh"
has_fault_points && test_set_prereq FAULTS
test_expect_success FAULTS 'a checkpoint that cannot be saved is an error of its first use' '
	cat >unsaved.py <<-\EOF &&
	import raytrain as train
	train.report({"x": 1}, train.Checkpoint.from_dict({"a": 1}))
	try:
	    train.get_checkpoint().to_dict()
	    raise SystemExit("read")
	except train.RaytrainError as error:
	    assert "could not be saved" in str(error), error
	train.report({"x": 2})
	EOF
	expect_status 5 env RAYTRAIN_FAULT=save.data:all:enospc \
		$run --name unsaved -n 1 -- $PYTHON unsaved.py 2>err &&
	grep "No space left" err
'

# -- other writers, other readers --

test_expect_success 'a checkpoint of a C program, and an HDF5 file of h5py' '
	$run --name attach -n 3 "$modules/attach.so" &&
	$PYTHON - <<-\EOF &&
	import h5py, numpy as np
	with h5py.File("plain.h5", "w") as file:
	    file["group/array"] = np.arange(6.).reshape(2, 3)
	    file["text"] = "words"
	EOF
	cat >other.py <<-\EOF &&
	import raytrain as train
	import os, sys
	checkpoint = train.get_checkpoint()
	print(list(checkpoint.to_dict()), file=sys.stderr)
	assert checkpoint.to_dict()["cells"].shape == (1000,)
	with checkpoint.as_directory() as d:
	    assert open(d + "/rank-2/notes.txt").read() == "notes of rank 2\n"
	plain = train.Checkpoint("plain.h5").to_dict()
	assert plain["group"]["array"].tolist() == [[0, 1, 2], [3, 4, 5]] and plain["text"] == "words"
	best = train.Checkpoint("runs/attach")
	assert best == checkpoint and best.file == checkpoint.file and best.training_iteration == 3
	for path in "nothing.h5", "other.py":
	    try:
	        train.Checkpoint(path).to_dict()
	    except train.RaytrainError as e:
	        print(type(e).__name__, e, file=sys.stderr)
	EOF
	{ $run --name other -n 1 --resume=runs/attach/checkpoint_000003.h5 -- $PYTHON other.py ||
	{ errors_of other >&2; return 1; }; } &&
	says other "NotFound" && says other "CorruptError"
'

test_expect_success 'a script that is not a worker reads all of them' '
	cat >outside.py <<-\EOF &&
	import os, pickle
	import raytrain as train
	plain = train.Checkpoint("runs/plain/checkpoint_000001.h5")
	assert plain.to_dict()["texts"]["text"] == "grüße" and plain.metrics == {"loss": 0.5}
	plain = pickle.loads(pickle.dumps(plain))
	assert plain.read("lists/2").tolist() == [1, 2] and "lists/2" in plain.names()
	with train.Checkpoint("runs/files").as_directory() as d:
	    assert open(os.path.join(d, "equal")).read() == "equal"
	try:
	    plain.as_directory().__enter__()
	except train.RaytrainError as e:
	    assert "was made from a dict: use to_dict()" in str(e), e
	with train.Checkpoint(".").as_directory() as d:
	    assert d == os.getcwd()
	made = train.Checkpoint.from_dict({"a": 1})
	assert made.to_dict() == {"a": 1} and made.path is None
	EOF
	PYTHONPATH=$stage/share/raytrain/python $PYTHON outside.py
'

# -- a client that does not keep to the protocol --

test_expect_success 'a client that ends while it copies fails the run, by name' '
	cat >ends.py <<-\EOF &&
	import os
	import numpy as np
	import raytrain as train
	import raytrain._offer
	rank = train.get_context().get_world_rank()
	if rank == 1:
	    raytrain._offer._buffer = lambda question, fds: os._exit(9)
	train.report({"loss": 1}, checkpoint=train.Checkpoint.from_dict({
	    "a": train.Shard(np.zeros(5), (10,), (5 * rank,))}))
	EOF
	expect_status 1 $run --name ends -n 2 -- $PYTHON ends.py 2>err && cat err &&
	grep "rank 1" err && grep "status 9" err && no_process_left ends &&
	test_path_is_missing runs/ends/checkpoint_000001.h5
'

test_expect_success 'a wrong table is refused on all ranks' '
	cat >wrong.py <<-\EOF &&
	import sys
	import raytrain as train
	import raytrain._offer
	from raytrain._session import session
	rank = train.get_context().get_world_rank()
	def table(*entries, **more):
	    return {"kind": "dict", "structure": "{}", "entries": list(entries), **more}
	wrong = [
	    {}, {"kind": 3}, {"kind": "dict", "entries": []}, table(entries=3),
	    table(["a", "float32", [-1]]), table(["a", "float32", [1] * 9]), table(["a", "float99", [1]]),
	    table(["a", "float32", [10 << 30, 10 << 30]]), table(["a", "float32", [1 << 40]]),
	    table(["a", "int8", [1 << 62]], ["b", "int8", [1 << 62]]),
	    table(["a", "float32", "x"]), table(["a"]), table("a"), table([None, "int8", []]),
	    table(["a", "int8", [4], [0], [5]]), table(["a", "int8", [4], [0]]), table(["a", "int8", [], [], []]),
	    table(["a", "int8", [4], [-1], [2]]), table(["a", "string", 5]), table(["/a", "int8", []]),
	    table(["raytrain/x", "int8", []]), table(["files/x", "int8", []]), table(["python/structure", "int8", []]),
	    table(["a", "int8", []], ["a", "int8", []]), table(["a", "int8", []], ["a/b", "int8", []]),
	    {"kind": "directory", "entries": [["../x", 0]]}, {"kind": "directory", "entries": [["x", -5]]},
	    {"kind": "directory", "entries": [["x"]]}, {"kind": "directory", "entries": [["x", 0], ["x", 0]]},
	    {"kind": "directory", "entries": [], "directories": [5]},
	]
	def copy(question, fds):
	    raytrain._offer._buffer(question, fds)
	    return {}, b""
	asks = {"copy": copy}
	for i, offer in enumerate(wrong):
	    request = {"metrics": {"loss": 1}}
	    if rank == 0:
	        request["checkpoint"] = offer
	    try:
	        session().call("report", request, asks=asks)
	    except train.RaytrainError as e:
	        print(f"{i}: {e}", file=sys.stderr)
	    else:
	        print(f"{i}: accepted", file=sys.stderr)
	for op, args in ("checkpoint_read", {"id": 77, "items": []}), ("checkpoint_read", {}), \
	        ("checkpoint_names", {"id": "x"}), ("checkpoint_open", {"path": "/dev/null"}):
	    try:
	        session().call(op, args)
	    except train.RaytrainError as e:
	        print(f"{op}: {e}", file=sys.stderr)
	    else:
	        raise AssertionError(op)
	assert session().call("checkpoint_close", {"id": 77})
	train.report({"loss": 1}, checkpoint=train.Checkpoint.from_dict({"fine": 1}))
	EOF
	{ $run --name wrong -n 2 -- $PYTHON wrong.py || { errors_of wrong >&2; return 1; }; } &&
	errors_of wrong >all; cat all; ! grep accepted all && test 60 -eq $(grep -c "^[0-9]*: " all) &&
	ls runs/wrong/checkpoint_000001.h5
'
test_done
