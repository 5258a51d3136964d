# devices.sh - sourced after setup.sh: runs with stand-ins for the libraries of GPUs (t/device).

# standins FILE...: find these files of t/device in place of libraries of the machine. The
# stand-in for the driver's library logs to `log`.
standins () {
	mkdir standin || return 1
	for file; do
		ln -s "$builddir/t/device/$file" standin/ || return 1
	done
	libraries=$PWD/standin
	STANDIN_CUDA_LOG=$PWD/log
	export STANDIN_CUDA_LOG
}
# run_on_devices NAME N [KEY=VALUE | OPTION]...: a run of this name and of $train with N
# workers, these settings of train_loop_config, and the stand-ins. $more: more options.
more=
run_on_devices () {
	name=$1 n=$2
	shift 2
	for setting; do
		case $setting in
		--*) set -- "$@" "$setting" ;;
		*) set -- "$@" --set "train_loop_config.$setting" ;;
		esac
		shift
	done
	LD_LIBRARY_PATH=$libraries:$LD_LIBRARY_PATH raytrain-run --launcher local --storage runs \
		--name "$name" -n "$n" $more "$@" "$train" 2>err
}
# none_left N [LOG]...: N processes have opened the stand-in that logs there (`log`), and each
# has given back all it had.
none_left () {
	processes=$1
	shift
	test $# -gt 0 || set -- log
	for file; do
		test "$(grep -c ^open "$file")" = "$processes" &&
		test "$(grep -c "^left [0-9]* 0$" "$file")" = "$processes" || {
			cat >&2 "$file"
			return 1
		}
	done
}
# same_numbers CHECKPOINT CHECKPOINT: those of device_model.c have the same bits.
same_numbers () {
	same_model "$1" "$2" &&
	h5dump -d /model/rows -b LE -o c.bin "$1" >/dev/null && cmp b.bin c.bin &&
	h5dump -d /model/rows -b LE -o c.bin "$2" >/dev/null && cmp b.bin c.bin
}
