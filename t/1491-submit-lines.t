#!/bin/sh
test_description='raytrain-run --submit: command lines that no job could run are refused'
. "$(dirname "$0")/setup.sh"

submit="raytrain-run --submit --dry-run"

# refused STATUS WORD OPTION...: nothing is printed but a message with this word.
refused () {
	status=$1 word=$2
	shift 2
	expect_status "$status" $submit "$@" -- true >out 2>err && test_must_be_empty out &&
		grep -e "$word" err
}

test_expect_success 'times that sbatch does not know are refused, with those that it knows' '
	for time in abc 1h -1 1: 1:2:3:4 1-2-3 :30 99999999999; do
		refused 2 "1:30:00" --time "$time" || return 1
	done &&
	for time in 90 1:30 1:30:00 1-12 1-12:00:00 UNLIMITED infinite; do
		$submit --time "$time" -- true >script && grep -x "#SBATCH --time=$time" script ||
			return 1
	done
'
test_expect_success 'a time that is not longer than --stop-before-end is refused, with a number' '
	refused 3 "--stop-before-end 15" --time 1 && grep "limit of 60 s" err &&
	refused 3 "--stop-before-end 15" --sbatch-args "-t 0:30" &&
	refused 3 "--stop-before-end 30" --time 2 --stop-before-end 120 &&
	$submit --time 1 --stop-before-end 59 -- true &&
	$submit --time 1 --sbatch-args "-t 2" -- true && $submit --time UNLIMITED -- true &&
	test_when_finished "unset SBATCH_TIMELIMIT" &&
	SBATCH_TIMELIMIT=1 && export SBATCH_TIMELIMIT &&
	refused 3 "--stop-before-end 15" && $submit --time 2 -- true
'
test_expect_success 'lists of tasks that sbatch does not know are refused, with a form that it knows' '
	for tasks in abc 3-0 1- -1 1,,2 0-9:0 0-9% 0-9%0 1%2,3 99999999999; do
		refused 2 "0-9:2" --array "$tasks" || return 1
	done &&
	for tasks in 0-3 7 1,3,7 0-15:4,20 0-99%8; do
		$submit --array "$tasks" -- true >script &&
			grep -x "#SBATCH --array=$tasks" script || return 1
	done
'
test_expect_success 'a name with the number of a task needs an array' '
	refused 3 "add --array" --name lr-%a && refused 3 "add --array" --name %A &&
	$submit --name lr-%j -- true && $submit --name lr-%%a -- true &&
	$submit --name lr-%a --sbatch-args "-a 0-2" -- true
'
test_expect_success 'tasks of an array may not share a run' '
	refused 3 "write %a" --array 0-2 --name lr && refused 3 "write %a" --array 0-2 --name %A &&
	refused 3 "write %a" --array 0-2 --set "run_config.name=\"lr\"" &&
	$submit --array 0-2 --name lr-%a -- true && $submit --array 0-2 --name %j -- true &&
	$submit --array 0-2 -- true
'
test_expect_success 'a word of --sbatch-args that does not belong to an option is refused' '
	refused 2 "hello.*not belong to an option" --sbatch-args hello &&
	refused 2 "hello.*not belong to an option" --sbatch-args "--exclusive=user hello" &&
	refused 2 "two.*not belong to an option" --sbatch-args "-p one two" &&
	$submit --sbatch-args "--exclusive -p one --nodelist=n1" -- true
'
test_expect_success 'a command that is not here may become known by the lines of --prologue' '
	expect_status 3 $submit -- absent-command 2>err && grep "no such program" err &&
	echo "module load absent" >prologue &&
	$submit --prologue prologue -- absent-command --lr 0.1 >script &&
	grep -e "^exec .*raytrain-run --resume -- absent-command --lr 0.1$" script &&
	expect_status 3 $submit --prologue prologue -- ./absent-command 2>err &&
	expect_status 3 $submit --prologue prologue absent.so 2>err
'
test_done
