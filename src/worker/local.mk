libworker_la_SOURCES += \
	src/worker/worker.c src/worker/worker.h src/worker/main.c \
	src/worker/train_func.c src/worker/train_func.h \
	src/worker/exit_guard.c src/worker/exit_guard.h \
	src/worker/stop.c src/worker/stop.h \
	src/worker/crash.c src/worker/crash.h \
	src/worker/stack_trace.c src/worker/stack_trace.h \
	src/worker/failure.c src/worker/failure.h \
	src/worker/fork_guard.c src/worker/fork_guard.h \
	src/worker/gpu_share.c src/worker/gpu_share.h \
	src/worker/heartbeat.c src/worker/heartbeat.h \
	src/worker/notes.c src/worker/notes.h \
	src/worker/own_signals.c src/worker/own_signals.h \
	src/worker/waiting.c src/worker/waiting.h \
	src/worker/session.c src/worker/session.h \
	src/worker/mover.c src/worker/mover.h \
	src/worker/tiers.c src/worker/tiers_restore.c \
	src/worker/tiers.h src/worker/tiers_impl.h \
	src/worker/session_state.c src/worker/session_config.c \
	src/worker/session_comm.c src/worker/session_meet.c src/worker/session_mpi.c \
	src/worker/session_checkpoint.c src/worker/session_data.c \
	src/worker/session_random.c src/worker/session_random.h \
	src/worker/philox.c src/worker/philox.h \
	src/worker/session_report.c src/worker/session_schedule.c \
	src/worker/saving.c src/worker/saving.h \
	src/worker/report_block.c src/worker/report_block.h \
	src/worker/report_line.c src/worker/report_line.h \
	src/worker/reducer.c

if HAVE_CMOCKA
WORKER_TESTS = \
	t/unit/test_random t/unit/test_report_block t/unit/test_failure \
	t/unit/test_session t/unit/test_saving t/unit/test_reducer t/unit/test_train_func \
	t/unit/test_gpu_share
check_PROGRAMS += $(WORKER_TESTS)
TESTS += $(WORKER_TESTS)

t_unit_test_random_SOURCES = t/unit/test_random.c
t_unit_test_random_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_random_LDADD = libworker.la $(CMOCKA_LIBS)

t_unit_test_report_block_SOURCES = t/unit/test_report_block.c
t_unit_test_report_block_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_report_block_LDADD = libworker.la $(CMOCKA_LIBS)

t_unit_test_failure_SOURCES = t/unit/test_failure.c
t_unit_test_failure_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_failure_LDADD = libworker.la $(CMOCKA_LIBS)

t_unit_test_session_SOURCES = t/unit/test_session.c
t_unit_test_session_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_session_LDADD = libworker.la $(CMOCKA_LIBS)

t_unit_test_saving_SOURCES = t/unit/test_saving.c $(SCRATCH)
t_unit_test_saving_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_saving_LDADD = libworker.la $(CMOCKA_LIBS)

t_unit_test_reducer_SOURCES = t/unit/test_reducer.c
t_unit_test_reducer_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_reducer_LDADD = libworker.la $(CMOCKA_LIBS)

t_unit_test_train_func_SOURCES = t/unit/test_train_func.c
t_unit_test_train_func_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_train_func_LDADD = libworker.la $(CMOCKA_LIBS)

t_unit_test_gpu_share_SOURCES = t/unit/test_gpu_share.c
t_unit_test_gpu_share_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_gpu_share_LDADD = libworker.la $(CMOCKA_LIBS)
endif

check_PROGRAMS += t/check/own_gpus
t_check_own_gpus_SOURCES = t/check/own_gpus.c
t_check_own_gpus_LDADD = libworker.la

# Training functions for tests, and what is none. As users build theirs: without our own
# flags, and in C++ too.
TRAIN_FUNC_FLAGS = -std=gnu11 $(WARN_CFLAGS) $(SANITIZE_CFLAGS) $(MPI_CFLAGS)
check_LTLIBRARIES += \
	t/check/misbehave.la t/check/toy.la t/check/collectives.la t/check/disagree.la \
	t/check/mpi_error.la \
	t/check/empty.la t/check/no_train_func.la t/check/cxx_header.la

t_check_empty_la_SOURCES = t/check/empty.c
t_check_empty_la_CFLAGS = $(TRAIN_FUNC_FLAGS)
t_check_empty_la_LDFLAGS = -module $(CHECK_MODULE_LDFLAGS)

t_check_misbehave_la_SOURCES = t/check/misbehave.c
t_check_misbehave_la_CFLAGS = $(TRAIN_FUNC_FLAGS)
t_check_misbehave_la_LDFLAGS = -module $(CHECK_MODULE_LDFLAGS)

t_check_toy_la_SOURCES = t/check/toy.c
t_check_toy_la_CFLAGS = $(TRAIN_FUNC_FLAGS)
t_check_toy_la_LDFLAGS = -module $(CHECK_MODULE_LDFLAGS)

t_check_disagree_la_SOURCES = t/check/disagree.c
t_check_disagree_la_CFLAGS = $(TRAIN_FUNC_FLAGS)
t_check_disagree_la_LDFLAGS = -module $(CHECK_MODULE_LDFLAGS)

t_check_mpi_error_la_SOURCES = t/check/mpi_error.c
t_check_mpi_error_la_CFLAGS = $(TRAIN_FUNC_FLAGS)
t_check_mpi_error_la_LDFLAGS = -module $(CHECK_MODULE_LDFLAGS)
t_check_mpi_error_la_LIBADD = $(MPI_LIBS)

t_check_collectives_la_SOURCES = t/check/collectives.c
t_check_collectives_la_CFLAGS = $(TRAIN_FUNC_FLAGS)
t_check_collectives_la_LDFLAGS = -module $(CHECK_MODULE_LDFLAGS)
t_check_collectives_la_LIBADD = $(MPI_LIBS) -lm

t_check_no_train_func_la_SOURCES = t/check/no_train_func.c
t_check_no_train_func_la_CFLAGS = $(TRAIN_FUNC_FLAGS)
t_check_no_train_func_la_LDFLAGS = -module $(CHECK_MODULE_LDFLAGS)

t_check_cxx_header_la_SOURCES = t/check/cxx_header.cc
t_check_cxx_header_la_CXXFLAGS = -Wall -Wextra $(SANITIZE_CFLAGS) $(MPI_CFLAGS)
t_check_cxx_header_la_LDFLAGS = -module $(CHECK_MODULE_LDFLAGS)

# One that needs a library which no worker finds: it is not installed, and no path leads
# to it.
EXTRA_DIST += t/check/needs_gone.c t/check/gone.c
check_DATA += t/check/needs_gone.so
CLEANFILES += t/check/needs_gone.so t/check/libgone.so
t/check/needs_gone.so: t/check/needs_gone.c t/check/gone.c src/include/raytrain.h
	$(AM_V_CCLD)$(MKDIR_P) t/check && \
	$(CC) $(TRAIN_FUNC_FLAGS) $(CFLAGS) -shared -fPIC -o t/check/libgone.so \
		$(srcdir)/t/check/gone.c && \
	$(CC) $(TRAIN_FUNC_FLAGS) -I$(top_srcdir)/src/include $(CFLAGS) -shared -fPIC \
		-o $@ $(srcdir)/t/check/needs_gone.c -Lt/check -lgone
