#!/bin/sh

test_description='raytrain-inspect shows datasets: their columns, what is in them, and their first rows'

SETUP_WITHOUT_STAGE=1 # only raytrain-inspect is needed
. "$(dirname "$0")/setup.sh"

/usr/bin/python3 - <<\EOT
import struct
def npy(name, dtype, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %r, }" % (dtype, shape)
    head = head.ljust(117) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)
nan, inf = float("nan"), float("inf")
npy("x.npy", "<f4", (3, 2), struct.pack("<6f", 1, -2.5, nan, 4, 5, 0.5))
npy("n-1.npy", "<i8", (2,), struct.pack("<2q", -7, 9007199254740993))
npy("n-2.npy", "<i8", (1,), struct.pack("<q", 1))
npy("u.npy", "<u8", (2,), struct.pack("<2Q", 0, 2**64 - 1))
npy("half.npy", "<f2", (3,), struct.pack("<3e", 0.5, -1, nan))
npy("nothing.npy", "<f8", (2,), struct.pack("<2d", nan, nan))
npy("inf.npy", "<f8", (2,), struct.pack("<2d", inf, 1))
n = 300000
npy("many.npy", "|u1", (n, 32), bytes(range(32)) * n)
EOT

test_expect_success 'a column is shown with type, shape, missing values, minimum, mean and maximum' '
	raytrain-inspect x.npy >out &&
	grep "^files *1$" out && grep "^rows *3$" out &&
	grep -E "^float32 \[2\] +1 +-2.5 +1.6 +5  x$" out &&
	raytrain-inspect half.npy >out &&
	grep -E "^float16 +1 +-1 +-0.25 +0.5  half$" out &&
	raytrain-inspect nothing.npy >out &&
	grep -E "^float64 +2 +- +- +-  nothing$" out &&
	raytrain-inspect inf.npy >out &&
	grep -E "^float64 +0 +1 +inf +inf  inf$" out
'

test_expect_success 'the rows of many blocks are all looked at' '
	raytrain-inspect --json many.npy >many.json &&
	json_is many.json .rows 300000 .columns[0].min 0 .columns[0].max 31 \
		.columns[0].mean 15.5 ".columns[0].shape[0]" 32
'

test_expect_success 'several files are one dataset, and integers are exact' '
	raytrain-inspect --json "n-*.npy" >n.json &&
	json_is n.json .kind dataset .files 2 .rows 3 .columns[0].name n .columns[0].dtype int64 \
		.columns[0].min -7 &&
	grep "\"max\": 9007199254740993,*$" n.json &&
	mkdir -p dir && cp n-1.npy n-2.npy dir/ &&
	raytrain-inspect dir >out && grep "^rows *3$" out &&
	raytrain-inspect --json u.npy >u.json &&
	json_is u.json .columns[0].min 0 && grep "\"max\": 1.84467440737095.*e19" u.json
'

test_expect_success '--head prints the first rows' '
	raytrain-inspect --head 2 x.npy >out &&
	tail -n 2 out >rows && printf "%s\n" "[1, -2.5]" "   [-, 4]" >expect &&
	test_cmp expect rows &&
	raytrain-inspect --head 99 --json x.npy >head.json &&
	json_is head.json ".head[0].x[0] == 1" true .head[0].x[1] -2.5 .head[1].x[0] null \
		.head[2].x[1] 0.5 ".head | length" 3
'

test_expect_success 'infinities are not missing values, and null in JSON' '
	printf "a,b\n-inf,x\n1,\n,y\n" >ends.csv && raytrain-inspect ends.csv >out &&
	grep -E "^float64 +1 +-inf +-inf +1  a$" out &&
	raytrain-inspect --head 3 ends.csv >out &&
	tail -n 3 out >rows && printf "%s\n" "-inf  x" "   1  -" "   -  y" >expect &&
	test_cmp expect rows &&
	raytrain-inspect --json ends.csv >ends.json && json_is ends.json .columns[0].min null
'

# A program that was built with sanitizers does not even start.
if (ulimit -d 150000 && raytrain-inspect --version) >/dev/null 2>&1; then
	test_set_prereq MEMORY_LIMIT
fi

test_expect_success MEMORY_LIMIT 'rows of megabytes are read a few at a time' '
	/usr/bin/python3 -c "for i in range(300): print(chr(97 + i % 26) * (2 ** 20 + i))" >long.txt &&
	(ulimit -d 150000 && raytrain-inspect --set format=text --json long.txt) >long.json &&
	json_is long.json .rows 300 .columns[0].min 1048576 .columns[0].max 1048875
'

# In time that does not grow with the square of their number, which would be minutes.
test_expect_success 'tens of thousands of columns are shown, also if text has to be converted' '
	"$PYTHON" -c "
import h5py
names = [\"c%05d\" % i for i in range(20000)]
with open(\"wide.csv\", \"w\") as f:
    for line in names, range(20000), range(1, 20001):
        print(*line, sep=\",\", file=f)
with h5py.File(\"wide.h5\", \"w\") as f:
    for i, name in enumerate(names):
        f[name] = [i, i + 1]" &&
	for file in wide.csv wide.h5; do
		(ulimit -t 60 && raytrain-inspect --json $file) >wide.json &&
		json_is wide.json ".columns | length" 20000 .columns[19999].name c19999 \
			.columns[19999].max 20000 || return 1
	done
'

test_expect_success '--set gives options of the dataset' '
	raytrain-inspect --set format=numpy --set columns="[\"x\"]" x.npy >out &&
	expect_status 3 raytrain-inspect --set columns="[\"z\"]" x.npy 2>err &&
	grep "no column .z." err &&
	expect_status 3 raytrain-inspect --set colums=1 x.npy 2>err &&
	grep "did you mean .columns.?" err
'

test_expect_success 'a dataset in a group of an HDF5 file is a column if its path is named' '
	$PYTHON -c "
import h5py
with h5py.File(\"nested.h5\", \"w\") as f:
    f[\"a\"] = [1.5, 2]
    f[\"group/deep/x\"] = [[1, 2], [3, 4]]" &&
	raytrain-inspect nested.h5 >out && grep " a$" out && ! grep " group/deep/x$" out &&
	grep "^not read *column group/deep/x, which is in a group" out &&
	raytrain-inspect --set "columns=[\"group/deep/x\"]" --json nested.h5 >nested.json &&
	json_is nested.json ".columns | length" 1 ".columns[0].name" group/deep/x \
		".columns[0].max" 4
'

test_expect_success 'columns and files that are not read are named, with the reason' '
	"$PYTHON" -c "
import h5py, numpy as np, os
x, c = np.arange(6.0).reshape(3, 2), np.array([1j, 2, 3])
np.savez(\"some.npz\", x=np.asfortranarray(x), c=c)
np.savez(\"none.npz\", c=c)
with h5py.File(\"groups.h5\", \"w\") as f:
    f[\"table/x\"] = x
os.makedirs(\"mixed/sub\")
open(\"mixed/A.CSV\", \"w\").write(\"a\\n1\\n\")
open(\"mixed/notes.txt\", \"w\").write(\"a\\n\")" &&
	raytrain-inspect some.npz >out &&
	grep "^not read *column c, which holds complex numbers$" out &&
	grep -E "^float64 \[2\] +0 +0 +2.5 +5  x$" out &&
	raytrain-inspect --json some.npz >some.json &&
	json_is some.json ".left_out | length" 1 .left_out[0].name c .left_out[0].kind column &&
	raytrain-inspect --head 1 --json x.npy >x.json && json_is x.json ".left_out | length" 0 &&
	raytrain-inspect --json mixed >mixed.json &&
	json_is mixed.json .files 1 .columns[0].name a .left_out[0].name mixed/notes.txt \
		.left_out[0].kind file .left_out[1].name mixed/sub &&
	expect_status 3 raytrain-inspect none.npz 2>err && grep "\"c\" (holds complex" err &&
	expect_status 3 raytrain-inspect groups.h5 2>err && grep "\"table/x\" (is in a group" err &&
	grep "option .columns" err
'

# while_written FILE COMMAND...: run it while another process has the HDF5 file open to write.
while_written () {
	HDF5_USE_FILE_LOCKING=TRUE "$PYTHON" -c '
import h5py, os, subprocess, sys
with h5py.File(sys.argv[1], "w") as f:
    f["x"] = [1, 2]
    f.flush()
    os.environ.pop("HDF5_USE_FILE_LOCKING")
    status = subprocess.run(sys.argv[2:]).returncode
sys.exit(status)' "$@"
}
test_expect_success 'an HDF5 file that another process writes to is said to be locked, not damaged' '
	expect_status 5 while_written locked.h5 raytrain-inspect locked.h5 2>err &&
	grep "locked.h5: another process writes to it, and has locked it" err &&
	expect_status 5 while_written locked.h5 raytrain-run --launcher local --storage runs -n 1 \
		--name locked --dataset train=locked.h5 "$modules/text_rows.so" 2>err &&
	grep "locked.h5: another process writes to it" err &&
	raytrain-inspect locked.h5 >out && grep " x$" out
'

test_expect_success 'a filter of HDF5 that is missing here is named' '
	"$PYTHON" -c "
import h5py, numpy as np
for name in \"lzf\", \"gzip\":
    with h5py.File(name + \".h5\", \"w\") as f:
        f.create_dataset(\"x\", data=np.arange(1000), chunks=(100,), compression=name)" &&
	expect_status 3 raytrain-inspect lzf.h5 2>err &&
	grep "lzf.h5: .*x.*filter .* does not have, lzf (32000): .*HDF5_PLUGIN_PATH" err &&
	expect_status 3 raytrain-run --launcher local --storage runs -n 1 --name lzf \
		--dataset train=lzf.h5 "$modules/text_rows.so" 2>err &&
	grep "does not have, lzf (32000)" err &&
	raytrain-inspect gzip.h5 >out && grep " x$" out
'

test_expect_success 'names of columns may be in Latin-1' '
	"$PYTHON" -c "
import h5py
with h5py.File(\"latin1.h5\", \"w\") as f:
    f[b\"gr\\xf6\\xdfe\"] = [1, 2]
open(\"latin1.csv\", \"wb\").write(b\"gr\\xf6\\xdfe,b\\n1,2\\n2,3\\n\")
import io, numpy as np, zipfile
data = io.BytesIO()
np.save(data, np.arange(2))
with zipfile.ZipFile(\"latin1.npz\", \"w\") as f:
    f.writestr(\"gr__e.npy\", data.getvalue())
raw = open(\"latin1.npz\", \"rb\").read().replace(b\"gr__e\", b\"gr\\xf6\\xdfe\")
open(\"latin1.npz\", \"wb\").write(raw)
np.save(\"latin1-field.npy\", np.zeros(2, dtype=[(\"größe\", \"f4\")]))" &&
	for file in latin1.h5 latin1.csv latin1.npz latin1-field.npy; do
		for options in "" "--head 1" --json "--head 1 --json"; do
			raytrain-inspect $options $file >out && grep "größe" out || return 1
		done
		raytrain-inspect --set "columns=[\"größe\"]" $file >out && grep "größe" out || return 1
	done
'

test_expect_success 'text in UTF-16 or UTF-32 is refused, with the command that converts it' '
	for code in UTF-16 UTF-16BE UTF-32; do
		for name in code.csv code.txt code.svm; do
			case $code in *BE) printf "\376\377" ;; esac >$name &&
			printf "1 1:2\n0 2:3\n" | iconv -t $code >>$name &&
			expect_status 3 raytrain-inspect $name 2>err &&
			grep "$name: .* ${code%BE}, .* iconv -f ${code%BE} -t UTF-8 IN >OUT" err || return 1
		done
	done
'

test_expect_success 'a text file with a wrong line is bad input, not an error of storage' '
	printf "a,b\n1,2\n3,4,5\n" >long.csv && printf "a,b\n1,2\n3,\"4\n" >open.csv &&
	printf "a,b\n1,\0\n" >nul.csv && printf "1 2:1\n1 2:1 1:1\n" >falling.svm &&
	for name in long.csv:3 open.csv:3 nul.csv:2 falling.svm:2; do
		expect_status 3 raytrain-inspect ${name%:*} 2>err && grep "$name: " err &&
		! grep "nor a checkpoint" err || return 1
	done &&
	printf "%0300d\n1\n" 1 >name.csv &&
	expect_status 3 raytrain-inspect name.csv 2>err && grep "name.csv.*: .*column 1" err
'

test_expect_success 'a file that is not of the format that was declared is bad input' '
	for format in hdf5 numpy idx; do
		expect_status 3 raytrain-inspect --set format=\"$format\" long.csv 2>err &&
		grep "long.csv: not an " err || return 1
	done
'

test_expect_success 'what is damaged, or no dataset, is an error' '
	head -c 140 x.npy >short.npy &&
	expect_status 5 raytrain-inspect short.npy 2>err && grep short.npy err &&
	expect_status 3 raytrain-inspect "absent-*.npy" 2>err && grep absent err &&
	mkdir -p none && expect_status 3 raytrain-inspect --head 1 none 2>err && grep none err
'

test_expect_success 'options of other views are refused' '
	expect_status 2 raytrain-inspect --verify x.npy 2>err && grep -e --verify err &&
	expect_status 2 raytrain-inspect --head 0 x.npy 2>err && grep -e --head err &&
	expect_status 2 raytrain-inspect --head 1 --plot loss x.npy 2>err && grep -e --head err &&
	expect_status 2 raytrain-inspect x.npy --head 2>err && grep "number of rows" err &&
	expect_status 2 raytrain-inspect --compare runs -o out.svg 2>err && grep -e --plot err
'

test_done
