#!/bin/sh
test_description='work between two reports that goes on for long is not taken for a hang'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/faults.sh"
fault_points_needed

run="raytrain-run --launcher local --storage runs"
predict="raytrain-predict --launcher local --checkpoint runs/model"
limit="--set run_config.failure_config.hang_timeout_s=4"
model=$modules/predictions.so

# signs LOG_DIR: ranks have given signs of progress, which the user does not see.
signs () {
	jq -se 'map(select(.kind == "progress" and (has("text") | not))) | length >= 2' \
		"$1/events.json" && ! grep '": *"progress' err
}

# 24 MiB of rows in .npy, of which a fit takes 1 MiB at a time; and 200 rows to predict.
cat >make_rows.py <<-\EOF
import struct, zipfile

def npy(out, descr, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    head += " " * (-(len(head) + 11) % 64) + "\n"
    out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)

with open("wide.npy", "wb") as out:
    npy(out, "<f4", (3072, 2048), bytes(range(256)) * (3072 * 2048 // 64))
with zipfile.ZipFile("rows.npz", "w") as z:
    with z.open("x.npy", "w") as out:
        npy(out, "<f4", (200,), struct.pack("<200f", *range(200)))
    with z.open("id.npy", "w") as out:
        npy(out, "<i8", (200,), struct.pack("<200q", *range(200)))
EOF
cat >fit.cfg <<-\EOF
datasets = { train = { path = "wide.npy"; }; };
preprocessor = ( { max_abs_scaler = { columns = ["wide"]; }; } );
EOF

test_expect_success 'a rank may fit preprocessors for longer than hang_timeout_s while others wait' '
	"$PYTHON" make_rows.py &&
	RAYTRAIN_FAULT=fit.block:1:slow $run -n 2 --name model $limit -c fit.cfg \
		--score score "$model" 2>err && cat err &&
	! grep "no report" err && signs runs/model/logs/attempt-0
'
test_expect_success 'a fit that hangs is a hang' '
	RAYTRAIN_FAULT=fit.block:1:stop expect_status 1 $run -n 2 --name stuck $limit -c fit.cfg \
		"$model" 2>err && grep "rank 1 .*no report for 4 s" err && no_process_left
'
test_expect_success 'a shard may take longer than hang_timeout_s if its batches go on' '
	raytrain-run --launcher local --storage runs --name plain --score score -q "$model" &&
	RAYTRAIN_FAULT=predict.batch:1:slow raytrain-predict --launcher local \
		--checkpoint runs/plain --data rows.npz -n 2 $limit --keep-run \
		--set train_loop_config.batch=1 -o slow.csv "$model" 2>err && cat err &&
	! grep "no report" err && signs slow.csv.run/logs/attempt-0 &&
	test "$(wc -l <slow.csv)" -eq 201
'
test_expect_success 'a batch that hangs is a hang' '
	RAYTRAIN_FAULT=predict.batch:1:stop expect_status 1 raytrain-predict --launcher local \
		--checkpoint runs/plain --data rows.npz -n 2 $limit -o stuck.csv "$model" 2>err &&
	grep "rank 1 .*no report for 4 s" err && no_process_left
'
test_done
