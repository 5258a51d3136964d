libworker_la_SOURCES += \
	src/worker/mpi/combine.c src/worker/mpi/combine.h \
	src/worker/mpi/combine_vectors.h \
	src/worker/mpi/cores.c src/worker/mpi/cores.h \
	src/worker/mpi/message_allreduce.c src/worker/mpi/message_allreduce.h \
	src/worker/mpi/mpi_comm.c src/worker/mpi/mpi_comm.h \
	src/worker/mpi/shared_allreduce.c src/worker/mpi/shared_allreduce.h \
	src/worker/mpi/shared_block.c src/worker/mpi/shared_block.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_backend
TESTS += t/unit/test_backend
t_unit_test_backend_SOURCES = t/unit/test_backend.c
t_unit_test_backend_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_backend_LDADD = libworker.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_reduce
TESTS += t/unit/test_reduce
t_unit_test_reduce_SOURCES = t/unit/test_reduce.c
t_unit_test_reduce_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_reduce_LDADD = libworker.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_comm_ranks
TESTS += t/unit/test_comm_ranks
t_unit_test_comm_ranks_SOURCES = t/unit/test_comm_ranks.c
t_unit_test_comm_ranks_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_comm_ranks_LDADD = liblauncher.la $(CMOCKA_LIBS)
endif

# A worker for the tests that start several ranks.
check_PROGRAMS += t/check/comm
t_check_comm_SOURCES = t/check/comm.c
t_check_comm_LDADD = libworker.la

dist_check_SCRIPTS += t/0100-comm-cluster.t
TESTS += t/0100-comm-cluster.t
