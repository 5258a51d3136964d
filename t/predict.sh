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
# make_people N: write N rows to people.csv, with missing ages and words; people.cfg, which
# makes numbers x of them; and expected.csv, what the best checkpoint makes of those.
make_people () {
	cat >people.cfg <<-\EOF
	datasets = { train = { path = "people.csv"; }; predict = { path = "people.csv"; }; };
	preprocessor = (
	    { type = "simple_imputer"; columns = ["age"]; },
	    { type = "standard_scaler"; columns = ["age", "income"]; },
	    { type = "one_hot_encoder"; columns = ["city"]; },
	    { type = "concatenator"; columns = ["age", "income", "city"];
	      output_column_name = "x"; dtype = "float32"; }
	);
	EOF
	"$PYTHON" - "$1" <<-\EOF
	import sys

	n, cities = int(sys.argv[1]), ["Bonn", "Lyon", "New York, NY", "Turin"]
	ages = [None if i % 11 == 3 else 18 + i * 37 % 600 / 10 for i in range(n)]
	incomes = [1000 + i * 7919 % 5003 for i in range(n)]

	def scaled(values):
	    mean = sum(values) / n
	    std = (sum((v - mean) ** 2 for v in values) / n) ** 0.5
	    return [(v - mean) / std for v in values]

	known = [a for a in ages if a is not None]
	filled = [sum(known) / len(known) if a is None else a for a in ages]
	with open("people.csv", "w") as rows, open("expected.csv", "w") as expected:
	    rows.write("id,age,income,city\n")
	    for i, (age, income) in enumerate(zip(scaled(filled), scaled(incomes))):
	        city = cities[i * i % 4]
	        rows.write("%d,%s,%d,%s\n" % (i, "" if ages[i] is None else ages[i], incomes[i],
	                                      '"%s"' % city if "," in city else city))
	        expected.write("%.9f\n" % (2 * (age + income + 1)))
	EOF
}
