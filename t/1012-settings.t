#!/bin/sh
test_description='settings without effect, and command lines that mean something else'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs"
train=$modules/train_model.so
hello=$builddir/share/examples/hello.so

test_expect_success 'a score that is never reported is named' '
	$run --name score --score lost "$hello" 2>err &&
	grep "checkpoint_score_attribute names \"lost\", but the first report" err &&
	grep "did you mean \"loss\"" err
'
test_expect_success 'a score whose name says that low is good needs a direction' '
	set=run_config.checkpoint_config.checkpoint_score &&
	for name in loss val/error RMSE valid-mlogloss train.perplexity test_err; do
		expect_status 3 $run --name lower --score $name --keep 1 "$hello" 2>err &&
		grep -e "--score $name:min" err && grep -e "--score $name:max" err &&
		grep "checkpoint_score_order = .min." err &&
		expect_status 3 $run --name lower --set ${set}_attribute=$name "$hello" 2>err ||
		return 1
	done &&
	echo "run_config = { checkpoint_config = { checkpoint_score_attribute = \"loss\"; }; };" \
		>loss.cfg && expect_status 3 $run --name lower -c loss.cfg "$hello" 2>err &&
	test_path_is_missing runs/lower &&
	$run --name lower -c loss.cfg --set ${set}_order=max "$hello" 2>err &&
	for name in accuracy neg_log_loss ferry loss:max; do
		$run --dry-run --name higher --score $name "$hello" >out 2>err || return 1
	done
'
test_expect_success 'a misspelt key of train_loop_config is named, with the nearest one' '
	$run --name key --set train_loop_config.epoch=3 "$hello" 2>err &&
	grep "not asked for \"epoch\" of train_loop_config.*did you mean \"epochs\"" err
'
test_expect_success 'settings that are used cause no warning' '
	$run --name used --score loss:min --set train_loop_config.epochs=3 "$hello" 2>err &&
	! grep -e "did you mean" -e "not asked" err
'
test_expect_success 'a URL is not a directory for runs' '
	expect_status 3 raytrain-run --storage s3://bucket/runs "$hello" 2>err &&
	grep "is a URL" err && test_path_is_missing s3:
'
test_expect_success '--resume FILE suggests --resume=FILE' '
	ck=runs/used/checkpoint_000003.h5 &&
	expect_status 3 $run --resume $ck "$hello" 2>err && grep -e "--resume=.*$ck" err &&
	expect_status 3 $run --resume gone.h5 2>err && grep -e "--resume=" err
'
# first NAME OPTION...: its first attempt fails before its first checkpoint.
first () {
	name=$1 && shift &&
	$run -n 2 --name $name "$@" --set train_loop_config.fail=exit \
		--set train_loop_config.fail_at=1 --set "train_loop_config.fail_once=$PWD/once-$name" "$train"
}
replicas='--set run_config.checkpoint_config.replicas=1'
for name in early copied; do
	case $name in
	early) with= ;;
	copied) with=$replicas ;;
	esac
	test_expect_success "a run that failed before its first checkpoint is started again: $name" '
		expect_status 1 first $name $with 2>err &&
		grep "once the cause is corrected, run the same line again" err &&
		first $name $with 2>err && grep "the earlier run is now .*$name.1" err &&
		test -f runs/$name/checkpoint_000005.h5 && test -d runs/$name.1/logs/attempt-0 &&
		expect_status 3 first $name $with 2>err && grep -e --fresh err
	'
done
test_expect_success 'a run with a staging directory is continued, which may have a checkpoint' '
	staging="--set run_config.sync_config.staging_path=stage" &&
	expect_status 1 first staged $staging 2>err &&
	grep "run the same line with --resume" err &&
	expect_status 3 first staged $staging 2>err &&
	first staged $staging --resume 2>err && test -f runs/staged/checkpoint_000005.h5
'
test_done
