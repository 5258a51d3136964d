# What is installed beside the programs: man pages, examples, sbatch templates.

examplesdir = $(docdir)/examples
dist_examples_DATA = \
	share/examples/hello.c share/examples/fashion_mlp.c \
	share/examples/fashion_mlp_main.c share/examples/fashion_mlp.cfg \
	share/examples/mlp.c share/examples/mlp.h
sbatchdir = $(docdir)/sbatch
dist_sbatch_DATA = \
	share/sbatch/cpu.sbatch share/sbatch/gpu.sbatch share/sbatch/requeue.sbatch

# The examples are built here as a user would build them. Training functions find the
# raytrain_* functions in the worker that loads them.
EXAMPLE_CFLAGS = -I$(top_srcdir)/src/include -Wall -Wextra -fopenmp-simd \
	$(SANITIZE_CFLAGS)
EXAMPLE_COMPILE = $(AM_V_CCLD)$(MKDIR_P) share/examples && $(CC) $(EXAMPLE_CFLAGS) \
	$(CFLAGS) -shared -fPIC -o $@

noinst_DATA = share/examples/hello.so
share/examples/hello.so: share/examples/hello.c src/include/raytrain.h
	$(EXAMPLE_COMPILE) $(srcdir)/share/examples/hello.c

if HAVE_OPENBLAS
noinst_DATA += share/examples/fashion_mlp.so
share/examples/fashion_mlp.so: share/examples/fashion_mlp.c share/examples/mlp.c \
		share/examples/mlp.h src/include/raytrain.h
	$(EXAMPLE_COMPILE) $(OPENBLAS_CFLAGS) $(srcdir)/share/examples/fashion_mlp.c \
		$(srcdir)/share/examples/mlp.c $(OPENBLAS_LIBS) -lm
endif

CLEANFILES += $(noinst_DATA)

# The rest of the source package.
dist_doc_DATA = README.md NEWS.md HACKING.md
EXTRA_DIST += scripts/build scripts/packages scripts/quickstart scripts/test .clang-format
EXTRA_DIST += scripts/bench scripts/bench.d
