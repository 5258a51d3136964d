# predict.sh - sourced after setup.sh by a script that predicts with t/check/predictions.c.

model=$modules/predictions.so

# make_rows N: write N rows to rows.npz, without NumPy: x is three numbers, id the row.
make_rows () {
	"$PYTHON" - "$1" <<-\EOF
	import struct, sys, zipfile

	def npy(descr, shape, data):
	    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
	    head += " " * (-(len(head) + 11) % 64) + "\n"
	    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data

	n = int(sys.argv[1])
	with zipfile.ZipFile("rows.npz", "w") as z:
	    z.writestr("x.npy", npy("<f4", "(%d, 3)" % n, b"".join(
	        struct.pack("<3f", i, 0.25 * i, i % 7) for i in range(n))))
	    z.writestr("id.npy", npy("<i8", "(%d,)" % n, struct.pack("<%dq" % n, *range(n))))
	EOF
}
# make_model: a training leaves the run runs/model, whose best checkpoint is the second of
# three.
make_model () {
	raytrain-run --launcher local --storage runs --name model --score score -q "$model"
}
