libworker_la_SOURCES += \
	src/worker/rank/collective_wait.c src/worker/rank/collective_wait.h \
	src/worker/rank/event.c src/worker/rank/event.h \
	src/worker/rank/failure_record.c src/worker/rank/failure_record.h \
	src/worker/rank/gpu_share.c src/worker/rank/gpu_share.h \
	src/worker/rank/gpu_watch.c src/worker/rank/gpu_watch.h \
	src/worker/rank/heartbeat.c src/worker/rank/heartbeat.h \
	src/worker/rank/own_signals.c src/worker/rank/own_signals.h \
	src/worker/rank/process_guard.c src/worker/rank/process_guard.h \
	src/worker/rank/stack_trace.c src/worker/rank/stack_trace.h \
	src/worker/rank/stop.c src/worker/rank/stop.h \
	src/worker/rank/worker.c src/worker/rank/worker.h

UNIT_TESTS += t/unit/test_failure_record t/unit/test_gpu_share t/unit/test_heartbeat

check_PROGRAMS += t/check/own_gpus
t_check_own_gpus_SOURCES = t/check/own_gpus.c
t_check_own_gpus_LDADD = libworker.la

# Training functions for tests, and what is none. As users build theirs: without our own
# flags, and in C++ too.
TRAIN_FUNC_FLAGS = -std=gnu11 $(WARN_CFLAGS) $(SANITIZE_CFLAGS) $(MPI_CFLAGS)
check_LTLIBRARIES += \
	t/check/misbehave.la t/check/toy.la t/check/text_rows.la t/check/collectives.la t/check/artifacts.la \
	t/check/attach.la t/check/disagree.la t/check/opens.la \
	t/check/mpi_error.la \
	t/check/empty.la t/check/no_train_func.la t/check/cxx_header.la t/check/cxx_wrappers.la

t_check_empty_la_SOURCES = t/check/empty.c
t_check_empty_la_CFLAGS = $(TRAIN_FUNC_FLAGS)
t_check_empty_la_LDFLAGS = -module $(CHECK_MODULE_LDFLAGS)

t_check_misbehave_la_SOURCES = t/check/misbehave.c
t_check_misbehave_la_CFLAGS = $(TRAIN_FUNC_FLAGS)
t_check_misbehave_la_LDFLAGS = -module $(CHECK_MODULE_LDFLAGS)

t_check_text_rows_la_SOURCES = t/check/text_rows.c
t_check_text_rows_la_CFLAGS = $(TRAIN_FUNC_FLAGS)
t_check_text_rows_la_LDFLAGS = -module $(CHECK_MODULE_LDFLAGS)
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

t_check_opens_la_SOURCES = t/check/opens.c
t_check_opens_la_CFLAGS = $(TRAIN_FUNC_FLAGS)
t_check_opens_la_LDFLAGS = -module $(CHECK_MODULE_LDFLAGS)

t_check_artifacts_la_SOURCES = t/check/artifacts.c
t_check_artifacts_la_CFLAGS = $(TRAIN_FUNC_FLAGS)
t_check_artifacts_la_LDFLAGS = -module $(CHECK_MODULE_LDFLAGS)

t_check_attach_la_SOURCES = t/check/attach.c
t_check_attach_la_CFLAGS = $(TRAIN_FUNC_FLAGS)
t_check_attach_la_LDFLAGS = -module $(CHECK_MODULE_LDFLAGS)

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

t_check_cxx_wrappers_la_SOURCES = t/check/cxx_wrappers.cc
t_check_cxx_wrappers_la_CXXFLAGS = -std=c++11 -Wall -Wextra -pedantic $(SANITIZE_CFLAGS)
t_check_cxx_wrappers_la_LDFLAGS = -module $(CHECK_MODULE_LDFLAGS)

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
