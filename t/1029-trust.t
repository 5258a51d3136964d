#!/bin/sh
test_description='what another user has put into a run directory is shown, and not acted upon'
. "$(dirname "$0")/setup.sh"
. "$srcdir/t/predict.sh"
. "$srcdir/t/faults.sh"

if test "$(id -u)" -ne 0; then
	skip_all='needs root, to be another user'
	test_done
fi
has_fault_points && test_set_prereq FAULTS

run="raytrain-run --launcher local --storage runs"
train=$modules/train_model.so
theirs=65534
# other COMMAND...: run it as a user that has no rights here, but those of a group of ours.
other () {
	timeout 30 setpriv --reuid=$theirs --regid=0 --clear-groups "$@"
}
# links_to TARGET PATH: the other user puts a link in place of the file at once: raytrain-run may
# be writing it.
links_to () {
	other ln -s "$1" "$2.other" && other mv -T "$2.other" "$2"
}
# refused WORD... -- COMMAND...: it is refused, and each word is in err.
refused () {
	words= && while test "$1" != --; do words="$words $1" && shift; done && shift &&
	expect_status 3 timeout 120 "$@" 2>err &&
	for word in $words; do grep -e "$word" err || return 1; done
}
# Of another user, who shares it with our group.
shared () {
	mkdir -p "$1" && chown $theirs:0 "$1" && chmod 2775 "$1"
}

# ---- Directories ----

test_expect_success 'a run directory of another user is not entered, also to set it aside' '
	mkdir -p runs/made && chown $theirs:$theirs runs/made && chmod 777 runs/made &&
	for how in --resume --fresh; do
		refused "uid.$theirs" another.--name -- $run --name made $how "$train" || return 1
	done && is_empty runs/made
'
test_expect_success 'a link of another user does not lead to a run' '
	mkdir -p real && ln -s "$PWD/real" runs/link && chown -h $theirs runs/link &&
	refused link.that.another.user -- $run --name link --resume "$train" && is_empty real &&
	ln -s "$PWD/real" runs/own-link && $run -n 1 --name own-link --resume "$train" 2>err
'
test_expect_success 'a directory that its owner shares with a group of this user is one to write in' '
	shared runs/team && $run -n 2 --name team --resume "$train" 2>err &&
	json_is runs/team/logs/attempt-0/attempt.json .outcome finished &&
	$run -n 2 --name team --resume --set train_loop_config.iterations=6 "$train" 2>err &&
	json_is runs/team/logs/attempt-1/attempt.json .outcome finished
'
test_expect_success 'logs that are a link are not written through' '
	mkdir -p elsewhere runs/logs-link && ln -s "$PWD/elsewhere" runs/logs-link/logs &&
	refused is.a.link -- $run --name logs-link --resume "$train" && is_empty elsewhere
'

# ---- What workers get to know ----

# stopped_run NAME: start the run NAME, and wait until raytrain-run has written for its
# workers, and stands still.
is_stopped () {
	grep -q "^State:.T" /proc/$pid/status
}
stopped_run () {
	shared "runs/$1" && {
		RAYTRAIN_FAULT=run.marker:0:stop timeout 120 $run -n 2 --name "$1" --resume "$train" 2>err &
	} && pid=$(sh -c "echo \$PPID" >/dev/null; echo $!) && eventually stopped_child
}
# timeout has the process in question as its child.
stopped_child () {
	child=$(cat /proc/$pid/task/$pid/children) && test -n "$child" &&
	grep -q "^State:.T" "/proc/${child% }/status"
}
test_expect_success FAULTS 'the configuration of workers is not that which another user puts in its place' '
	stopped_run swapped &&
	sed "s/^train_loop_config.*/train_loop_config = { iterations = 2; };/" \
		runs/swapped/run.cfg >theirs.cfg &&
	echo "train_loop_config = { iterations = 2; };" >>theirs.cfg &&
	other rm runs/swapped/run.cfg && other cp theirs.cfg runs/swapped/run.cfg &&
	kill -CONT ${child% } && expect_status 0 wait $pid &&
	test -e runs/swapped/checkpoint_000005.h5
'
test_expect_success FAULTS 'a marker of another user is not the one that workers wait for' '
	stopped_run marked && test_must_fail other cat runs/marked/.marker &&
	other cp theirs.cfg runs/marked/theirs && other mv -f runs/marked/theirs runs/marked/.marker &&
	kill -CONT ${child% } && expect_status 5 wait $pid && grep "sees another directory" err
'

# ---- Files that are written ----

test_expect_success 'a link in place of a journal, or of the events, does not lead elsewhere' '
	shared runs/linked && start_run $run -n 2 --name linked --resume &&
	logs=$PWD/runs/linked/logs/attempt-0 && chmod 777 "$logs" &&
	cp "$logs/reports.0" private && cp private private.before && echo mine >events.before &&
	cp events.before events && chmod 600 private events &&
	links_to "$PWD/private" "$logs/reports.0" && links_to "$PWD/events" "$logs/events.json" &&
	: >gate && ! wait $pid && grep "reports.0.*link" err &&
	test_cmp private.before private && test_cmp events.before events
'

# ---- Records ----

test_expect_success 'FIFOs in place of records do not hold up --resume, and links are not read' '
	mkdir -p runs/fifo && cp -r runs/team/. runs/fifo && chown -R 0:0 runs/fifo &&
	rm -f runs/fifo/result.h5 runs/fifo/logs/attempt-*/attempt.json &&
	mkfifo runs/fifo/logs/attempt-0/attempt.json runs/fifo/logs/attempt-1/attempt.json &&
	timeout 60 $run -n 2 --name fifo --resume "$train" 2>err &&
	json_is runs/fifo/logs/attempt-2/attempt.json .outcome finished
'
# A run that has ended before its first checkpoint.
begun () {
	$run -n 1 --name "$1" --resume=runs/team/checkpoint_000006.h5 --set train_loop_config.fail=exit \
		--set train_loop_config.fail_at=7 --set train_loop_config.iterations=9 "$train" 2>err
	test $? -eq 1 && test_path_is_missing "runs/$1/checkpoint_000007.h5"
}
go_on="$run -n 1 --set train_loop_config.iterations=9"
test_expect_success 'the checkpoint that a record of another user names is not opened' '
	begun start && cp -r runs/start runs/own && $go_on --name own --resume "$train" 2>err &&
	cp -r runs/start runs/some && cp -r runs/start runs/typed &&
	chown $theirs runs/some/logs/attempt-0/* runs/typed/logs/attempt-0/* &&
	refused belongs.to.another resume=CHECKPOINT -- $go_on --name some --resume "$train" &&
	$go_on --name typed --resume=runs/team/checkpoint_000006.h5 "$train" 2>err &&
	chmod g+w runs/start/logs/attempt-0/* runs/start/run.cfg &&
	refused chmod.go-w -- $go_on --name start --resume "$train"
'

cat >records.py <<\EOF
import os, sys
sys.path.insert(0, sys.argv[1])
from raytrain import Result
from raytrain.xgboost import XGBoostTrainer

os.chdir("runs")
attempt = "team/logs/attempt-1/attempt.json"
assert Result.from_path("team").status == "finished"
for name in (attempt, "team/result.json"):
    os.rename(name, "kept")
    for put in (os.mkfifo, lambda name: os.symlink(os.path.abspath("kept"), name),
                lambda name: os.truncate(os.open(name, os.O_CREAT | os.O_RDWR), 1 << 40)):
        put(name)
        try:
            assert Result.from_path("team").status == "interrupted"
            assert name == attempt, name
        except OSError as error:
            assert name != attempt and "result.json" in str(error), error
        os.unlink(name)
    os.rename("kept", name)
os.rename("team/logs", "logs")
os.symlink(os.path.abspath("logs"), "team/logs")
assert Result.from_path("team").status == "interrupted"
os.unlink("team/logs")
os.rename("logs", "team/logs")
assert Result.from_path("team").metrics["training_iteration"] == 6

os.mkdir("trees")
with open("trees/run.cfg", "w") as file:
    file.write("trainer = \"xgboost\";\ndatasets = { train = { path = \"x.csv\"; }; };\n")
assert XGBoostTrainer.can_restore("trees")
XGBoostTrainer.restore("trees")
for change in (lambda: os.chmod("trees/run.cfg", 0o664),
               lambda: os.chown("trees/run.cfg", 65534, 65534)):
    change()
    try:
        XGBoostTrainer.restore("trees")
    except PermissionError as error:
        assert "run.cfg" in str(error), error
    else:
        raise AssertionError("it was believed")
EOF
test_expect_success 'Python waits for no FIFO, follows no link, and acts on no configuration of another user' '
	timeout 60 "$PYTHON" records.py "$stage/share/raytrain/python"
'

# ---- A colleague's run ----

colleague () {
	rm -rf runs/colleague && cp -r runs/model runs/colleague && chown -R $theirs:$theirs runs/colleague &&
	chmod -R go-w runs/colleague
}
test_expect_success 'the run of a colleague is shown, and predicts' '
	make_rows 10 && make_model && colleague &&
	raytrain-inspect runs/colleague >shown && grep "score" shown &&
	raytrain-inspect -o page.html runs/colleague && grep -q score page.html &&
	raytrain-predict --launcher local -q --checkpoint runs/colleague --data rows.npz -o p.csv \
		"$model" 2>err && test "$(wc -l <p.csv)" = 11
'
serves () {
	timeout 120 raytrain-serve --launcher local --listen ./socket "$@" "$model" 2>err
}
test_expect_success 'a service does not read the files that the configuration of a colleague names' '
	sed "s,^datasets.*,," runs/model/run.cfg >with.cfg &&
	printf "datasets = { train = { path = \"%s\"; }; };\n" "$PWD/rows.npz" >>with.cfg &&
	other rm runs/colleague/run.cfg; cp with.cfg runs/colleague/run.cfg &&
	chown $theirs runs/colleague/run.cfg &&
	! serves runs/colleague && grep "that another user names.*--like FILE" err
'
test_expect_success 'a configuration of another user is not that of a model' '
	mkdir -p models && ln -s ../runs/model models/m && echo "predict = { batch_size = 2; };" >models/m.cfg &&
	chown $theirs models/m.cfg &&
	refused m.cfg.*another.user -- raytrain-serve --models models --input x:float32:3 "$model" &&
	chown 0 models/m.cfg && chmod 666 models/m.cfg &&
	refused chmod.go-w -- raytrain-serve --models models --input x:float32:3 "$model"
'
test_done
