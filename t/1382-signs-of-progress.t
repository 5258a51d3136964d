#!/bin/sh
test_description='long work between two reports is not taken for a hang'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/faults.sh"
. "$srcdir/t/predict.sh"
fault_points_needed

run="raytrain-run --launcher local --storage runs"
predict="raytrain-predict --launcher local --checkpoint runs/model --data rows.npz"
limit="--set run_config.failure_config.hang_timeout_s=8"

# signs LOG_DIR: ranks have given signs of progress, which the user does not see.
signs () {
	jq -se 'map(select(.kind == "progress" and (has("text") | not))) | length >= 2' \
		"$1/events.json" && ! grep "^raytrain: *$" err
}

# 48 MiB of rows; a fit takes 1 MiB of them at a time.
cat >make_wide.py <<-\EOF
import struct

head = "{'descr': '<f4', 'fortran_order': False, 'shape': (6144, 2048), }".ljust(117) + "\n"
with open("wide.npy", "wb") as out:
    out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
    out.write(bytes(range(256)) * (6144 * 2048 // 64))
EOF
cat >fit.cfg <<-\EOF
datasets = { train = { path = "wide.npy"; }; };
preprocessor = ( { max_abs_scaler = { columns = ["wide"]; }; } );
EOF

test_expect_success 'a rank may fit preprocessors for longer than hang_timeout_s while others wait' '
	"$PYTHON" make_wide.py &&
	RAYTRAIN_FAULT=fit.block:1:slow $run -n 2 --name fitted $limit -c fit.cfg \
		"$model" 2>err &&
	! grep "no report" err && signs runs/fitted/logs/attempt-0
'
test_expect_success 'a fit that hangs is a hang' '
	RAYTRAIN_FAULT=fit.block:1:stop expect_status 1 $run -n 2 --name stuck $limit -c fit.cfg \
		"$model" 2>err && grep "rank 1 .*no report for 8 s" err && no_process_left
'
test_expect_success 'a part may take longer than hang_timeout_s if its batches do not' '
	make_rows 60 && make_model &&
	RAYTRAIN_FAULT=predict.batch:1:slow $predict -n 2 $limit --keep-run \
		--set train_loop_config.batch=1 -o slow.csv "$model" 2>err &&
	! grep "no report" err && signs slow.csv.run/logs/attempt-0 &&
	test "$(wc -l <slow.csv)" -eq 61
'
test_expect_success 'a batch that hangs is a hang' '
	RAYTRAIN_FAULT=predict.batch:1:stop expect_status 1 $predict -n 2 $limit -o stuck.csv \
		"$model" 2>err &&
	grep "rank 1 .*no report for 8 s" err && no_process_left
'
test_done
