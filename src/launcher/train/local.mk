liblauncher_la_SOURCES += \
	src/launcher/train/allocation.c src/launcher/train/allocation.h \
	src/launcher/train/attempt_plan.c src/launcher/train/attempt_plan.h \
	src/launcher/train/attempt_record.c src/launcher/train/attempt_record.h \
	src/launcher/train/attempt_verdict.c src/launcher/train/attempt_verdict.h \
	src/launcher/train/backend_executor.c src/launcher/train/backend_executor.h \
	src/launcher/train/external_sigterm.c src/launcher/train/external_sigterm.h \
	src/launcher/train/failure.c src/launcher/train/failure.h \
	src/launcher/train/reconfigure.c src/launcher/train/reconfigure.h \
	src/launcher/train/replica_cleanup.c src/launcher/train/replica_cleanup.h \
	src/launcher/train/requeue.c src/launcher/train/requeue.h \
	src/launcher/train/restart_policy.c src/launcher/train/restart_policy.h \
	src/launcher/train/result.c src/launcher/train/result.h \
	src/launcher/train/stop_request.c src/launcher/train/stop_request.h \
	src/launcher/train/trainer.c src/launcher/train/trainer.h \
	src/launcher/train/worker_group.c src/launcher/train/worker_group.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_train_failure
TESTS += t/unit/test_train_failure
t_unit_test_train_failure_SOURCES = t/unit/test_train_failure.c \
	src/launcher/train/failure.c src/launcher/launch/worker_log.c
t_unit_test_train_failure_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_train_failure_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_restart_policy
TESTS += t/unit/test_restart_policy
t_unit_test_restart_policy_SOURCES = t/unit/test_restart_policy.c \
	src/launcher/train/restart_policy.c
t_unit_test_restart_policy_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_restart_policy_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_allocation
TESTS += t/unit/test_allocation
t_unit_test_allocation_SOURCES = t/unit/test_allocation.c
t_unit_test_allocation_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_allocation_LDADD = liblauncher.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_attempt_verdict
TESTS += t/unit/test_attempt_verdict
t_unit_test_attempt_verdict_SOURCES = t/unit/test_attempt_verdict.c
t_unit_test_attempt_verdict_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_attempt_verdict_LDADD = liblauncher.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_stop_request
TESTS += t/unit/test_stop_request
t_unit_test_stop_request_SOURCES = t/unit/test_stop_request.c
t_unit_test_stop_request_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_stop_request_LDADD = liblauncher.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_attempt_plan
TESTS += t/unit/test_attempt_plan
t_unit_test_attempt_plan_SOURCES = t/unit/test_attempt_plan.c
t_unit_test_attempt_plan_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_attempt_plan_LDADD = liblauncher.la $(CMOCKA_LIBS)
endif
