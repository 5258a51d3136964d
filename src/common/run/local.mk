libcommon_la_SOURCES += \
	src/common/run/attempt_config.c src/common/run/attempt_config.h \
	src/common/run/attempts.c src/common/run/attempts.h \
	src/common/run/checkpoint_manager.c src/common/run/checkpoint_manager.h \
	src/common/run/confirm_damage.c \
	src/common/run/journal.c src/common/run/journal.h \
	src/common/run/metrics.h \
	src/common/run/metrics_collect.c \
	src/common/run/metrics_h5.c \
	src/common/run/metrics_impl.h \
	src/common/run/metrics_log.c \
	src/common/run/retention.c \
	src/common/run/run_dir.c src/common/run/run_dir.h \
	src/common/run/run_lock.c src/common/run/run_lock.h \
	src/common/run/set_aside.c

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_checkpoint_manager
TESTS += t/unit/test_checkpoint_manager
t_unit_test_checkpoint_manager_SOURCES = t/unit/test_checkpoint_manager.c \
	$(THREAD_COMM) $(SCRATCH)
t_unit_test_checkpoint_manager_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_checkpoint_manager_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_metrics
TESTS += t/unit/test_metrics
t_unit_test_metrics_SOURCES = t/unit/test_metrics.c $(SCRATCH)
t_unit_test_metrics_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_metrics_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_journal
TESTS += t/unit/test_journal
t_unit_test_journal_SOURCES = t/unit/test_journal.c $(SCRATCH)
t_unit_test_journal_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_journal_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_attempts
TESTS += t/unit/test_attempts
t_unit_test_attempts_SOURCES = t/unit/test_attempts.c $(SCRATCH)
t_unit_test_attempts_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_attempts_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_run_lock
TESTS += t/unit/test_run_lock
t_unit_test_run_lock_SOURCES = t/unit/test_run_lock.c $(SCRATCH)
t_unit_test_run_lock_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_run_lock_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_run_dir
TESTS += t/unit/test_run_dir
t_unit_test_run_dir_SOURCES = t/unit/test_run_dir.c $(SCRATCH)
t_unit_test_run_dir_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_run_dir_LDADD = libcommon.la $(CMOCKA_LIBS)
endif
