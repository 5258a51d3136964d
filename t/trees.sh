# trees.sh - sourced after setup.sh by a script that trains trees. Its data are real ones, of
# scikit-learn and LightGBM, as t/trees/data.py writes them: NAME-train.csv, NAME-valid.csv.

trees=$srcdir/t/trees

# trees_need MODULE...: skip the whole script if Python lacks one of these, or scikit-learn,
# which brings the data.
trees_need () {
	for module in sklearn "$@"; do
		"$PYTHON" -c "import $module" 2>/dev/null && continue
		skip_all="Python has no module $module"
		test_done
	done
}
# tree_config TRAINER NAME LABEL ROUNDS [KEY=VALUE...]: write NAME.cfg, a configuration that
# trains on NAME-train and reports the scores of NAME-valid, too. The parameters are the
# library's, with values as JSON has them, or words.
tree_config () {
	"$PYTHON" - "$@" >"$2.cfg" <<-\EOF
	import json, sys

	def value(text):
	    try:
	        json.loads(text)
	        return text
	    except ValueError:
	        return json.dumps(text)

	trainer, name, label, rounds, *params = sys.argv[1:]
	print(f'trainer = "{trainer}";\nlabel = "{label}";\nnum_boost_round = {rounds};')
	print("params = {")
	for key, text in (p.split("=", 1) for p in params):
	    print(f"    {key} = {value(text)};")
	print("};\ndatasets = {")
	for part in "train", "valid":
	    print(f'    {part} = {{ path = "{name}-{part}.csv"; }};')
	print("};")
	EOF
}
# model_in CHECKPOINT FILE: print the library's own file of the model, which is FILE there.
model_in () {
	rm -f model.bin &&
	h5dump -d "/files/$2" -b -o model.bin "$1" >/dev/null && cat model.bin
}
# last_checkpoint NAME: print the path of the newest checkpoint of a run.
last_checkpoint () {
	ls "runs/$1"/checkpoint_*.h5 | tail -n 1
}
# number_in CHECKPOINT NAME: print a number of the checkpoint, such as gbdt/round.
number_in () {
	h5dump -y -o number.txt -d "/$2" "$1" >/dev/null && tr -d " \n" <number.txt
}

# -- workers that wait in the FIFO `gate` at a fault point whose action is `wait` --

# hold_gate: wait for a worker to be there, or for the end of raytrain-run, $pid.
hold_gate () {
	rm -f held release && mkfifo release || return 1
	{ exec 7>gate && : >held && cat <release; } &
	eventually is_held_or_over
	test -e held || { echo >&2 "the run is over:"; cat >&2 err; return 1; }
}
is_held_or_over () {
	test -e held || ! test -e "/proc/$pid" || grep -q "^State:.Z" "/proc/$pid/status"
}
# wait_at POINT:NUMBER COMMAND...: start a run in the background, and wait until a worker is at
# this fault point. $pid is raytrain-run, its messages are in `err`.
wait_at () {
	rm -f gate && mkfifo gate || return 1
	point=$1 && shift
	RAYTRAIN_FAULT=$point:wait RAYTRAIN_FAULT_FIFO=$PWD/gate "$@" 2>err &
	pid=$!
	hold_gate
}
# at_gate: print the workers of this machine that wait.
at_gate () {
	for worker in $(worker_pids); do
		find "/proc/$worker/fd" -lname "$PWD/gate" 2>/dev/null | cut -d/ -f3
	done
}
# open_gate: the workers that wait continue, and no other will wait.
open_gate () {
	rm -f gate && : >release
}

# lightgbm_needed: sets $lightgbm_program, its own program, and $lightgbm_examples, and builds
# the library once per machine; skips the whole script where it cannot be had.
lightgbm_needed () {
	RAYTRAIN_LIGHTGBM_LIBRARY=$("$srcdir/t/lightgbm-library")
	case $? in
	0) ;;
	77)
		skip_all='there is no npm to get the source of LightGBM'
		test_done
		;;
	*) exit 1 ;;
	esac
	export RAYTRAIN_LIGHTGBM_LIBRARY
	lightgbm_program=$(dirname "$RAYTRAIN_LIGHTGBM_LIBRARY")/lightgbm
	lightgbm_examples=$(dirname "$RAYTRAIN_LIGHTGBM_LIBRARY")/examples
}
