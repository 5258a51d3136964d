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
		t/device/standin_cuda.h t/device/standin_fail.h
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
