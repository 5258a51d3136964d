#!/bin/sh
test_description='what raytrain-run shows during a run: a block on a terminal, lines elsewhere

The terminal is a pane of tmux. Times, ages and sizes in it are replaced by words, so that what
it shows can be compared.'
. "$(dirname "$0")/setup.sh"

command -v tmux >/dev/null && test_set_prereq TMUX

train=$modules/train_model.so
run="raytrain-run --launcher local --storage runs"

# -- a terminal --

# Its server and the runs in it end with this script, also if a test fails, and its sockets are
# in a directory with a short name.
TMUX_TMPDIR=$(mktemp -d) || exit
export TMUX_TMPDIR
server=raytrain-0 servers=0
trap 'code=$?; : >gate; pane kill-server 2>/dev/null; rm -rf "$TMUX_TMPDIR"; end_jobs; (exit $code); die' EXIT
pane () {
	tmux -L "$server" "$@"
}
# terminal COLUMNS ROWS: a new one, with a shell that has job control.
terminal () {
	pane kill-server 2>/dev/null
	servers=$((servers + 1)) server=raytrain-$servers # the old one may still be ending
	LC_ALL=C.UTF-8 TERM=xterm SHELL=/bin/sh tmux -L "$server" -f /dev/null new-session -d \
		-x $1 -y $2 "PS1='$ ' bash --norc --noprofile --noediting -i" >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &&
	pane set-option -g escape-time 0 &&
	eventually shows "^\\$"
}
# typed TEXT: type a line.
typed () {
	pane send-keys "$1" Enter
}
screen () {
	pane capture-pane -p | sed -E "
		s/[0-9]+:[0-9][0-9]/TIME/g
		s/(, |  )(just now|[0-9]+ (s|min) ago)/\1AGO/
		s/, [0-9.]+K/, SIZE/
		s/[0-9.]+ m?s\/iteration/PACE/"
}
shows () {
	screen >shown 2>/dev/null
	grep -q -e "$1" shown
}
shows_not () {
	screen >shown && ! grep -e "$1" shown
}
# is_shown FILE: the lines of the file are on the screen, one after the other.
is_shown () {
	screen >shown && awk "
		NR == FNR { want[++n] = \$0; next }
		{ seen[++m] = \$0 }
		END {
			for (i = 0; i + n <= m; i++) {
				for (k = 1; k <= n && seen[i + k] == want[k]; k++)
					;
				if (k > n)
					exit 0
			}
			exit 1
		}" "$1" shown
}
# start NAME ARG...: type the command of a run that waits at its gate after iteration 2, with
# the environment in $with.
start () {
	rm -f ready gate status
	name=$1
	shift
	cat >job <<-EOF2 &&
	cd "$PWD" || exit
	env $with $run -n 2 --name $name \
		--set "train_loop_config.ready=$PWD/ready" \
		--set "train_loop_config.gate=$PWD/gate" $* "$train"
	echo \$? >status
	EOF2
	pane send-keys "clear; sh '$PWD/job'$background" Enter &&
	eventually test -e ready
}
with= background=
# ends STATUS: open the gate; the run ends with this exit status.
ends () {
	: >gate && eventually test -s status && echo $1 >wanted && test_cmp wanted status
}
# no_control FILE: it has no control characters but the ends of lines.
no_control () {
	tr -d "\n" <"$1" | LC_ALL=C tr -dc "\000-\037\177" >control && test_must_be_empty control
}

# -- on a terminal --

test_expect_success TMUX 'a terminal of 80 columns shows a block' '
	terminal 80 24 && start eighty --set run_config.stop.training_iteration=4 &&
	cat >expect <<-\EOT &&
	eighty  attempt 0  2 workers  1 node  local
	iteration 2/4  ▕████████████████████                    ▏  50%
	elapsed TIME  remaining TIME  PACE
	  loss        1.0348     ▁█                      best 0.57336 (iteration 1)
	  accuracy    0.5        ▁█                      best 0.5 (iteration 2)
	  checkpoint  iteration 2, AGO, SIZE
	EOT
	eventually is_shown expect
'

test_expect_success TMUX 'the elapsed time moves while no report comes' '
	pane capture-pane -p >before && grep elapsed before &&
	eventually eval "pane capture-pane -p >after && ! cmp -s before after"
'

test_expect_success TMUX 'the summary replaces the block' '
	ends 0 && eventually shows "look at it  raytrain-inspect" &&
	shows "raytrain: finished after TIME, 4 iterations" &&
	shows "  metrics     loss .* (best 0.57336 at iteration 1)" &&
	shows "              accuracy 0.75 (the best)" &&
	shows "^  checkpoint  /" && shows_not elapsed
'

test_expect_success TMUX 'what a rank prints is above the block, and its progress bar the first line of it' '
	rm -f gate ready &&
	cat >bar.sh <<-\EOF2 &&
	echo "first line"
	raytrain-report loss=1
	printf "10%%\r" >&2
	printf "half of it\r" >&2
	: >ready
	until test -e gate; do read line <hold; done
	printf "all of it \n" >&2
	EOF2
	mkfifo hold && terminal 80 24 &&
	echo "cd \"$PWD\" && $run -n 1 --show rank0 --name bar -- sh bar.sh; echo \$? >status" >job &&
	typed "clear; sh \"$PWD/job\"" && eventually test -e ready &&
	cat >expect <<-\EOT &&
	first line
	half of it
	bar  attempt 0  1 worker  1 node  local
	iteration 1
	EOT
	eventually is_shown expect &&
	: >gate && echo go >hold && eventually shows "raytrain: finished" &&
	shows "^all of it" && shows_not "half of it"
'

test_expect_success TMUX 'a terminal of 40 columns shows what fits' '
	terminal 40 24 && start forty --set run_config.stop.training_iteration=4 &&
	cat >expect <<-\EOT &&
	forty  attempt 0  2 workers  1 node
	iteration 2/4  ▕████████        ▏  50%
	elapsed TIME  remaining TIME
	  loss        1.0348     ▁█
	  accuracy    0.5        ▁█
	  checkpoint  iteration 2, AGO
	EOT
	eventually is_shown expect && ends 0
'

test_expect_success TMUX 'a terminal of 200 columns shows all in one place' '
	terminal 200 50 && start wide --set run_config.stop.training_iteration=4 &&
	cat >expect <<-\EOT &&
	wide  attempt 0  2 workers  1 node  local
	iteration 2/4  ▕████████████████████                    ▏  50%
	elapsed TIME  remaining TIME  PACE
	  loss        1.0348     ▁█                                                                best 0.57336 (iteration 1)
	  accuracy    0.5        ▁█                                                                best 0.5 (iteration 2)
	  checkpoint  iteration 2, AGO, SIZE
	EOT
	eventually is_shown expect
'

# Only one block: the one that the new window breaks into more rows is gone.
once () {
	screen >shown && test 1 = $(grep -c elapsed shown) && test 1 = $(grep -c " loss " shown)
}
test_expect_success TMUX 'the block follows the window, narrower and wider' '
	pane resize-window -x 60 -y 20 && eventually shows "^  loss        1.0348     ▁█$" &&
	eventually once && pane resize-window -x 100 -y 30 &&
	eventually shows "loss .*best 0.57336 (iteration 1)" && eventually once &&
	pane resize-window -x 45 -y 30 && eventually shows "^  loss        1.0348     ▁█$" &&
	eventually once &&
	pane resize-window -x 20 -y 6 && eventually shows "^elapsed TIME$" &&
	pane resize-window -x 120 -y 30 &&
	eventually shows "loss .*best 0.57336 (iteration 1)" && ends 0
'

test_expect_success TMUX 'a failed worker is a line above the block, and its last event' '
	terminal 80 24 && rm -f once && start failed --max-failures 3 \
		--set train_loop_config.fail=kill --set train_loop_config.fail_rank=1 \
		--set train_loop_config.fail_at=2 --set "\"train_loop_config.fail_once=$PWD/once\"" &&
	eventually shows "^failed  attempt 1  1 restart  2 workers" &&
	eventually shows "^raytrain: attempt 0 failed: rank 1 .*killed by signal 9" &&
	eventually shows "^  last event  .*AGO" && eventually once &&
	ends 0 && eventually shows "  attempts    2, of which 1 failed"
'

test_expect_success TMUX 'in a locale of ASCII, the block is ASCII' '
	with=LC_ALL=C && start ascii --set run_config.stop.training_iteration=4 &&
	eventually shows "^iteration 2/4  \[####################....................\]  50%" &&
	eventually shows "^  loss        1.0348     _^ " &&
	pane capture-pane -p >shown && ! LC_ALL=C grep "[^ -~]" shown && ends 0
'

test_expect_success TMUX 'the block has colors, unless NO_COLOR is set' '
	with= && start colors && eventually shows "^  loss" &&
	pane capture-pane -p -e >colored && grep -q "$(printf "\033")" colored && ends 0 &&
	with=NO_COLOR=1 && start colorless && eventually shows "^  loss" &&
	pane capture-pane -p -e >colorless && no_control colorless && ends 0
'

test_expect_success TMUX 'on a terminal that cannot draw, there are lines' '
	with=TERM=dumb && rm -f raw && start dumb --progress=bar &&
	eventually shows "^iteration 1  loss 0.57336  accuracy 0 " && shows_not elapsed &&
	pane pipe-pane -o "cat >\"$PWD/raw\"" && ends 0 &&
	eventually grep "look at it" raw && tr -d "\r" <raw >lines && no_control lines &&
	with=--unset=TERM && start unset &&
	eventually shows "^iteration 1  loss 0.57336  accuracy 0 " && shows_not elapsed && ends 0
'

test_expect_success TMUX '--quiet shows nothing on a terminal' '
	with= && start quiet --quiet && ends 0 && eventually shows "^\\$" &&
	shows_not "elapsed\|iteration\|raytrain: "
'

test_expect_success TMUX 'a job in the background prints lines, and draws nothing' '
	background=" &" && start behind &&
	eventually shows "^iteration 1  loss 0.57336  accuracy 0 " && shows_not elapsed &&
	background= && ends 0
'

test_expect_success TMUX 'after Ctrl-Z and fg, the block is drawn below what was typed' '
	start paused && eventually shows elapsed && pane send-keys C-z &&
	eventually shows "Stopped" && typed "echo between" && eventually shows "^between" &&
	typed fg && eventually eval "shows between && sed 1,/^between/d shown | grep elapsed" &&
	ends 0 && eventually shows "finished after" && shows "^between"
'

# What a shell finds: no attribute set, a cursor that is visible, a screen that scrolls.
test_expect_success TMUX 'the terminal is sane after kill -9 of raytrain-run' '
	typed "clear; stty -a >\"$PWD/stty.before\"" && start killed && eventually shows elapsed &&
	kill -9 $(pgrep -o -f "raytrain-run .*--name killed .*$train") &&
	eventually test -s status && eventually no_process_left &&
	typed "echo all is well" && eventually shows "^all is well" && shows elapsed &&
	pane capture-pane -p -e | sed -n "/^all is well/p" >line && no_control line &&
	test 1,0 = "$(pane display-message -p "#{cursor_flag},#{alternate_on}")" &&
	typed "stty -a >\"$PWD/stty.after\"" && eventually test -s stty.after &&
	test_cmp stty.before stty.after
'

# -- elsewhere --

test_expect_success 'a file gets lines without control characters, the first and the last report' '
	TERM=xterm $run -n 1 --name file --progress bar --set train_loop_config.iterations=300 \
		--set train_loop_config.checkpoint_every=300 "$train" 2>err && no_control err &&
	grep "^raytrain: attempt 0: 1 worker on 1 node, launcher local" err &&
	grep "^iteration 1  loss" err && grep "^iteration 300  loss .*  checkpoint$" err
'

test_expect_success 'lines are rare, however many reports there are' '
	test 20 -gt $(grep -c ^iteration err)
'

test_expect_success 'lines have the total, and what remains only after a second iteration' '
	$run -n 1 --name total --set run_config.stop.training_iteration=3 "$train" 2>err &&
	grep "^iteration 1 of 3  loss" err && ! grep "^iteration 1 of 3 .*remaining" err &&
	grep "^iteration 3 of 3  loss" err
'

test_expect_success 'a training function says how many iterations there will be' '
	$run -n 2 --name told --set train_loop_config.total=7 "$train" 2>err &&
	grep "^iteration 5 of 7  loss" err
'

test_expect_success 'a Python script says how many iterations there will be' '
	cat >train.py <<-\EOT &&
	import raytrain

	raytrain.set_total(3)
	for i in range(3):
	    raytrain.report({"loss": i})
	EOT
	$run -n 2 --name python -- python3 train.py 2>err && grep "^iteration 3 of 3  loss 2" err &&
	PYTHONPATH=$stage/share/raytrain/python python3 train.py
'

test_expect_success 'raytrain-report --total says how many iterations there will be' '
	cat >train.sh <<-\EOT &&
	raytrain-report --total 9 && raytrain-report loss=1 --total 2 &&
	raytrain-report loss=0 --total 2
	EOT
	$run -n 2 --name script -- sh train.sh 2>err && grep "^iteration 2 of 2  loss 0" err &&
	json_is runs/script/result.json .training_iteration "$(printf "1\n2")" &&
	raytrain-report --total 5 && expect_status 2 raytrain-report --total=-1 2>err &&
	grep -e "--total \"-1\"" err
'

test_expect_success 'a restart is printed at once, and the summary counts it' '
	rm -f once && $run -n 2 --name restart --max-failures 3 --set train_loop_config.fail=kill \
		--set "train_loop_config.fail_once=$PWD/once" "$train" 2>err && no_control err &&
	grep "^raytrain: attempt 0 failed: rank 0" err &&
	grep "^raytrain: attempt 1: 2 workers on 1 node" err &&
	grep "^  attempts    2, of which 1 failed" err
'

test_expect_success 'a run that continues knows the metrics of earlier attempts' '
	$run -n 2 --name on --set train_loop_config.iterations=2 "$train" 2>err &&
	$run -n 2 --name on --resume --set train_loop_config.iterations=4 "$train" 2>err &&
	grep "^  metrics     loss .* (best 0.57336 at iteration 1)" err &&
	grep "^  attempts    2$" err
'

test_expect_success 'what to type next is found, and a shell reads it' '
	next=$(sed -n "s/^  look at it  //p" err) && eval "$next" >out && grep finished out &&
	PATH=/usr/bin:/bin "$stage/bin/raytrain-run" --launcher local --storage "runs/it is" -n 1 \
		--name mine "$train" 2>err &&
	next=$(sed -n "s/^  look at it  //p" err) &&
	(PATH=/usr/bin:/bin && eval "$next") >out && grep finished out
'

test_expect_success 'neither --quiet nor --progress none print progress or a summary' '
	$run -n 1 --quiet --name hush "$train" 2>err && test_must_be_empty err &&
	$run -n 1 --progress none --name none "$train" 2>err && test_must_be_empty err
'

test_done
