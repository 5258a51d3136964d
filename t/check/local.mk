# Training functions for tests, and what is none: t/check/NAME.c becomes t/check/NAME.so. As
# users build theirs: with one command, without our own flags, and in C++ too.
TRAIN_FUNC_FLAGS = -std=gnu11 $(WARN_CFLAGS) $(SANITIZE_CFLAGS) $(MPI_CFLAGS)
train_func_headers = src/include/raytrain.h src/include/raytrain_mpi.h src/include/raytrain.hpp
TRAIN_FUNC_LIBS =

# They find the raytrain_* functions in the worker that loads them,
check_modules = \
	t/check/artifacts.so t/check/attach.so t/check/collectives.so t/check/disagree.so \
	t/check/empty.so t/check/forks.so t/check/misbehave.so t/check/mpi_error.so \
	t/check/no_locks.so t/check/no_train_func.so t/check/opens.so t/check/scale_count.so \
	t/check/skewed_clock.so t/check/text_rows.so t/check/toy.so
t/check/collectives.so: TRAIN_FUNC_LIBS = $(MPI_LIBS) -lm
t/check/forks.so: TRAIN_FUNC_LIBS = -lpthread
t/check/mpi_error.so: TRAIN_FUNC_LIBS = $(MPI_LIBS)
t/check/scale_count.so: TRAIN_FUNC_LIBS = -ldl

# or in the library, with which they are linked.
linked_modules = \
	t/check/device_batches.so t/check/device_model.so t/check/device_reducer.so \
	t/check/many_metrics.so t/check/mapped.so t/check/predictions.so t/check/scale_steps.so \
	t/check/train_late.so t/check/train_model.so t/check/train_rows.so
$(linked_modules): TRAIN_FUNC_LIBS = $(LIBRAYTRAIN_HERE) $(LIBRAYTRAIN) -ldl -lm
$(linked_modules): $(LIBRAYTRAIN)
t/check/device_%.so: TRAIN_FUNC_FLAGS += -I$(srcdir)/t/device

$(check_modules) $(linked_modules): t/check/%.so: t/check/%.c $(train_func_headers) \
		t/device/standin_calls.h t/device/standin_cuda.h t/device/standin_fail.h
	$(AM_V_CCLD)$(MKDIR_P) t/check && \
	$(CC) -D_GNU_SOURCE -I$(top_srcdir)/src/include $(TRAIN_FUNC_FLAGS) $(CPPFLAGS) $(CFLAGS) \
		-fPIC -shared $(LDFLAGS) -o $@ $(srcdir)/t/check/$*.c $(TRAIN_FUNC_LIBS)

cxx_modules = t/check/cxx_header.so t/check/cxx_wrappers.so
t/check/cxx_header.so: TRAIN_FUNC_FLAGS = -Wall -Wextra $(SANITIZE_CFLAGS) $(MPI_CFLAGS)
t/check/cxx_wrappers.so: TRAIN_FUNC_FLAGS = -std=c++11 -Wall -Wextra -pedantic $(SANITIZE_CFLAGS)
$(cxx_modules): t/check/%.so: t/check/%.cc $(train_func_headers)
	$(AM_V_CXXLD)$(MKDIR_P) t/check && \
	$(CXX) -D_GNU_SOURCE -I$(top_srcdir)/src/include $(TRAIN_FUNC_FLAGS) $(CPPFLAGS) $(CXXFLAGS) \
		-fPIC -shared $(LDFLAGS) -o $@ $(srcdir)/t/check/$*.cc

check_DATA += $(check_modules) $(linked_modules) $(cxx_modules)
EXTRA_DIST += $(check_modules:.so=.c) $(linked_modules:.so=.c) $(cxx_modules:.so=.cc)
CLEANFILES += $(check_modules) $(linked_modules) $(cxx_modules)

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

# Programs that the scripts run,
check_PROGRAMS += t/check/comm t/check/launch_run t/check/mpi_child t/check/own_gpus \
	t/check/plain_mpi t/check/scale_bare t/check/serve_front t/check/store_sample
t_check_comm_SOURCES = t/check/comm.c
t_check_comm_LDADD = $(WORKER_LIBS)
t_check_launch_run_SOURCES = t/check/launch_run.c
t_check_launch_run_LDADD = $(LAUNCHER_LIBS)
t_check_mpi_child_SOURCES = t/check/mpi_child.c
t_check_mpi_child_LDADD = $(MPI_LIBS)
t_check_own_gpus_SOURCES = t/check/own_gpus.c
t_check_own_gpus_LDADD = $(WORKER_LIBS)
t_check_plain_mpi_SOURCES = t/check/plain_mpi.c
t_check_plain_mpi_LDADD = $(MPI_LIBS)
t_check_scale_bare_SOURCES = t/check/scale_bare.c
t_check_scale_bare_LDADD = $(MPI_LIBS)
t_check_serve_front_SOURCES = t/check/serve_front.c
t_check_serve_front_LDADD = $(SERVE_LIBS)
t_check_store_sample_SOURCES = t/check/store_sample.c
t_check_store_sample_LDADD = $(COMMON_LIBS)

# programs that call raytrain_main(),
check_PROGRAMS += t/check/train_gpu t/check/train_main
t_check_train_gpu_SOURCES = t/check/train_gpu.c
t_check_train_gpu_LDFLAGS = $(AM_LDFLAGS) $(LIBRAYTRAIN_HERE)
t_check_train_gpu_LDADD = $(LIBRAYTRAIN)
t_check_train_main_SOURCES = t/check/train_main.c
t_check_train_main_LDFLAGS = $(AM_LDFLAGS) $(LIBRAYTRAIN_HERE)
t_check_train_main_LDADD = $(LIBRAYTRAIN)

# and clients of a PMIx server.
check_PROGRAMS += t/check/pmix_client t/check/pmix_intruder
t_check_pmix_client_SOURCES = t/check/pmix_client.c
t_check_pmix_client_LDADD = $(PMIX_LIBS)
t_check_pmix_intruder_SOURCES = t/check/pmix_intruder.c
t_check_pmix_intruder_LDADD = $(PMIX_LIBS)

EXTRA_DIST += t/check/ddp_cases.py t/check/file_circles.py t/check/fortran_wrappers.f90 \
	t/check/meet.py t/check/messages.py t/check/mypy.ini t/check/named_paths.py \
	t/check/open_mpi/mpi.h t/check/page_browser.py t/check/page_check.py \
	t/check/python_docs.py t/check/python_layers.py t/check/sample_runs.py \
	t/check/serve_browser.py t/check/serve_clients.py t/check/serve_front.py \
	t/check/tfevents.py \
	t/check/standins/jax/__init__.py t/check/standins/jax/distributed.py \
	t/check/standins/jax/experimental/__init__.py \
	t/check/standins/jax/experimental/multihost_utils.py t/check/standins/jax/numpy.py
