liblauncher_la_SOURCES += \
	src/train/allocation.c src/train/allocation.h \
	src/train/attempt.c src/train/attempt.h \
	src/train/attempt_verdict.c src/train/attempt_verdict.h \
	src/train/attempt_plan.c src/train/attempt_plan.h \
	src/train/backend_executor.c src/train/backend_executor.h \
	src/train/failure.c src/train/failure.h \
	src/train/reconfigure.c src/train/reconfigure.h \
	src/train/restart_policy.c src/train/restart_policy.h \
	src/train/node_memory.c src/train/node_memory.h \
	src/train/hang_watch.c src/train/hang_watch.h \
	src/train/node_return.c src/train/node_return.h \
	src/train/node_survey.c src/train/node_survey.h \
	src/train/node_watch.c src/train/node_watch.h \
	src/train/resize_watch.c src/train/resize_watch.h \
	src/train/grace_watch.c src/train/grace_watch.h \
	src/train/requeue.c src/train/requeue.h \
	src/train/report_pace.c src/train/report_pace.h \
	src/train/result.c src/train/result.h \
	src/train/start_watch.c src/train/start_watch.h \
	src/train/stop_request.c src/train/stop_request.h \
	src/train/time_watch.c src/train/time_watch.h \
	src/train/told.c src/train/told.h \
	src/train/trainer.c src/train/trainer.h \
	src/train/watch.c src/train/watch.h \
	src/train/worker_group.c src/train/worker_group.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_train_failure
TESTS += t/unit/test_train_failure
t_unit_test_train_failure_SOURCES = t/unit/test_train_failure.c src/train/failure.c src/launch/worker_log.c
t_unit_test_train_failure_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_train_failure_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_restart_policy
TESTS += t/unit/test_restart_policy
t_unit_test_restart_policy_SOURCES = t/unit/test_restart_policy.c \
	src/train/restart_policy.c
t_unit_test_restart_policy_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_restart_policy_LDADD = libshared.la $(CMOCKA_LIBS)

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

check_PROGRAMS += t/unit/test_time_watch
TESTS += t/unit/test_time_watch
t_unit_test_time_watch_SOURCES = t/unit/test_time_watch.c src/train/time_watch.c \
	src/train/report_pace.c src/train/start_watch.c src/launch/worker_log.c \
	src/train/grace_watch.c $(SCRATCH)
t_unit_test_time_watch_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_time_watch_LDADD = libshared.la $(CMOCKA_LIBS)

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

check_PROGRAMS += t/unit/test_node_watch
TESTS += t/unit/test_node_watch
t_unit_test_node_watch_SOURCES = t/unit/test_node_watch.c $(SCRATCH)
t_unit_test_node_watch_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_node_watch_LDADD = liblauncher.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_whereabouts
TESTS += t/unit/test_whereabouts
t_unit_test_whereabouts_SOURCES = t/unit/test_whereabouts.c $(SCRATCH)
t_unit_test_whereabouts_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_whereabouts_LDADD = liblauncher.la $(CMOCKA_LIBS)
endif
