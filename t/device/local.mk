# Stand-ins for the library of NVIDIA's driver, and for NCCL, each with the soname of the
# library whose place it takes.
EXTRA_DIST += t/device/standin_calls.h t/device/standin_cuda.c t/device/standin_cuda.h \
	t/device/standin_fail.h t/device/standin_nccl.c
STANDINS = t/device/libcuda.so.1 t/device/libnccl.so.2 t/device/empty/libnccl.so.2
check_DATA += $(STANDINS)
CLEANFILES += $(STANDINS)
STANDIN_CC = $(CC) -std=gnu11 -D_GNU_SOURCE -fPIC -shared -fvisibility=hidden \
	$(WARN_CFLAGS) $(SANITIZE_CFLAGS) $(CFLAGS)
t/device/libcuda.so.1: t/device/standin_cuda.c t/device/standin_cuda.h
	$(AM_V_CCLD)$(MKDIR_P) t/device && $(STANDIN_CC) -Wl,-soname,libcuda.so.1 -o $@ \
		$(srcdir)/t/device/standin_cuda.c -lpthread
t/device/libnccl.so.2: t/device/standin_nccl.c t/device/standin_cuda.h src/common/util/half.c
	$(AM_V_CCLD)$(MKDIR_P) t/device && $(STANDIN_CC) -Wl,-soname,libnccl.so.2 -o $@ \
		-I$(srcdir)/src/common $(srcdir)/t/device/standin_nccl.c \
		$(srcdir)/src/common/util/half.c -ldl -lpthread
EXTRA_DIST += t/device/standin_mpi.c
check_DATA += t/device/libdevicempi.so
CLEANFILES += t/device/libdevicempi.so
t/device/libdevicempi.so: t/device/standin_mpi.c
	$(AM_V_CCLD)$(MKDIR_P) t/device && $(STANDIN_CC) $(MPI_CFLAGS) -o $@ \
		$(srcdir)/t/device/standin_mpi.c -ldl
t/device/empty/libnccl.so.2:
	$(AM_V_CCLD)$(MKDIR_P) t/device/empty && $(CC) $(SANITIZE_CFLAGS) -shared -fPIC \
		-Wl,-soname,libnccl.so.2 -o $@ -x c /dev/null

# A stand-in for NVML, likewise.
EXTRA_DIST += t/device/standin_nvml.c
check_DATA += t/device/libnvidia-ml.so.1
CLEANFILES += t/device/libnvidia-ml.so.1
t/device/libnvidia-ml.so.1: t/device/standin_nvml.c
	$(AM_V_CCLD)$(MKDIR_P) t/device && $(CC) -std=gnu11 -D_GNU_SOURCE -fPIC -shared \
		$(WARN_CFLAGS) $(SANITIZE_CFLAGS) $(CFLAGS) -Wl,-soname,libnvidia-ml.so.1 -o $@ \
		$(srcdir)/t/device/standin_nvml.c

EXTRA_DIST += t/device/opened.c
check_DATA += t/device/opened.so
CLEANFILES += t/device/opened.so
t/device/opened.so: t/device/opened.c
	$(AM_V_CCLD)$(MKDIR_P) t/device && $(CC) -std=gnu11 -D_GNU_SOURCE -fPIC -shared \
		$(WARN_CFLAGS) $(CFLAGS) -o $@ $(srcdir)/t/device/opened.c -ldl

EXTRA_DIST += t/device/standin_hip.c
check_DATA += t/device/libamdhip64.so.6
CLEANFILES += t/device/libamdhip64.so.6
t/device/libamdhip64.so.6: t/device/standin_hip.c t/device/standin_cuda.c \
		t/device/standin_cuda.h
	$(AM_V_CCLD)$(MKDIR_P) t/device && $(CC) -std=gnu11 -D_GNU_SOURCE -fPIC -shared \
		$(WARN_CFLAGS) $(SANITIZE_CFLAGS) $(CFLAGS) -Wl,-soname,libamdhip64.so.6 -o $@ \
		$(srcdir)/t/device/standin_hip.c -lpthread

# The example's kernels for a GPU, compiled for the stand-in.
EXTRA_DIST += t/device/runtime/cuda_runtime.h t/device/runtime/cublas_v2.h t/device/mlp_numbers.c
if HAVE_OPENBLAS
DEVICE_PARTS = share/examples/mlp_cuda.cu share/examples/mlp_kernels.h \
	t/device/runtime/cuda_runtime.h t/device/runtime/cublas_v2.h t/device/libcuda.so.1
DEVICE_INCLUDES = -I$(srcdir)/t/device/runtime -I$(srcdir)/t/device -I$(srcdir)/share/examples
check_DATA += t/device/mlp_cuda.o t/device/fashion_mlp.so t/device/mlp_numbers_device \
	t/device/mlp_numbers
CLEANFILES += t/device/mlp_cuda.o t/device/fashion_mlp.so t/device/mlp_numbers_device \
	t/device/mlp_numbers
t/device/mlp_cuda.o: $(DEVICE_PARTS)
	$(AM_V_CXX)$(MKDIR_P) t/device && $(CXX) -std=gnu++17 $(DEVICE_INCLUDES) -Wall -Wextra \
		$(OPENBLAS_CFLAGS) $(SANITIZE_CFLAGS) $(CXXFLAGS) -fPIC -c -o $@ \
		-x c++ $(srcdir)/share/examples/mlp_cuda.cu
t/device/fashion_mlp.so: t/device/mlp_cuda.o share/examples/fashion_mlp.c share/examples/mlp.c \
		share/examples/mlp.h
	$(AM_V_CXXLD)$(CC) $(EXAMPLE_CFLAGS) $(CFLAGS) -fPIC -c -o t/device/fashion_mlp.o \
		$(srcdir)/share/examples/fashion_mlp.c && \
	$(CC) $(EXAMPLE_CFLAGS) $(CFLAGS) -fPIC -c -o t/device/mlp.o \
		$(srcdir)/share/examples/mlp.c && \
	$(CXX) $(SANITIZE_CFLAGS) -shared -o $@ t/device/fashion_mlp.o t/device/mlp.o \
		t/device/mlp_cuda.o t/device/libcuda.so.1 $(OPENBLAS_LIBS) -lpthread -lm && \
	rm -f t/device/fashion_mlp.o t/device/mlp.o
t/device/mlp_numbers_device: t/device/mlp_numbers.c t/device/mlp_cuda.o
	$(AM_V_CXXLD)$(CC) $(EXAMPLE_CFLAGS) $(CFLAGS) $(DEVICE_INCLUDES) -c -o $@.o \
		$(srcdir)/t/device/mlp_numbers.c && \
	$(CXX) $(SANITIZE_CFLAGS) -o $@ $@.o t/device/mlp_cuda.o t/device/libcuda.so.1 \
		$(OPENBLAS_LIBS) -lpthread -lm && rm -f $@.o
t/device/mlp_numbers: t/device/mlp_numbers.c share/examples/mlp_cpu.c \
		share/examples/mlp_kernels.h
	$(AM_V_CCLD)$(MKDIR_P) t/device && $(CC) $(EXAMPLE_CFLAGS) $(CFLAGS) $(DEVICE_INCLUDES) \
		$(OPENBLAS_CFLAGS) -o $@ $(srcdir)/t/device/mlp_numbers.c \
		$(srcdir)/share/examples/mlp_cpu.c $(OPENBLAS_LIBS) -lm
endif

