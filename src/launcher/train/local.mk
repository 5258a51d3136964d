liblauncher_a_SOURCES += \
	src/launcher/train/aside.c src/launcher/train/aside.h \
	src/launcher/train/allocation.c src/launcher/train/allocation.h \
	src/launcher/train/attempt.c src/launcher/train/attempt.h \
	src/launcher/train/attempt_end.c \
	src/launcher/train/attempt_record.c src/launcher/train/attempt_record.h \
	src/launcher/train/attempt_start.c \
	src/launcher/train/attempt_verdict.c src/launcher/train/attempt_verdict.h \
	src/launcher/train/backend_executor.c src/launcher/train/backend_executor.h \
	src/launcher/train/dry_run.c src/launcher/train/dry_run.h \
	src/launcher/train/external_sigterm.c src/launcher/train/external_sigterm.h \
	src/launcher/train/failure_diagnosis.c \
	src/launcher/train/failure_diagnosis.h \
	src/launcher/train/gpu_error.c src/launcher/train/gpu_error.h \
	src/launcher/train/kept_group.c src/launcher/train/kept_group.h \
	src/launcher/train/made_rows.c src/launcher/train/made_rows.h \
	src/launcher/train/reconfigure.c src/launcher/train/reconfigure.h \
	src/launcher/train/replica_cleanup.c src/launcher/train/replica_cleanup.h \
	src/launcher/train/requeue.c src/launcher/train/requeue.h \
	src/launcher/train/restart_policy.c src/launcher/train/restart_policy.h \
	src/launcher/train/result.c src/launcher/train/result.h \
	src/launcher/train/run.c src/launcher/train/run.h \
	src/launcher/train/run_name.c src/launcher/train/run_name.h \
	src/launcher/train/shipped_function.c src/launcher/train/shipped_function.h \
	src/launcher/train/start_obstacles.c \
	src/launcher/train/start_point.c src/launcher/train/start_point.h \
	src/launcher/train/submit.c src/launcher/train/submit.h \
	src/launcher/train/sweep_runs.c src/launcher/train/sweep_runs.h \
	src/launcher/train/trainer.c src/launcher/train/trainer.h \
	src/launcher/train/worker_group.c src/launcher/train/worker_group.h

UNIT_TESTS += t/unit/test_gpu_error t/unit/test_failure_diagnosis t/unit/test_restart_policy \
	t/unit/test_allocation t/unit/test_attempt_verdict t/unit/test_attempt_record t/unit/test_kept_group
