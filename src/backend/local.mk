libworker_la_SOURCES += \
	src/backend/backend.c src/backend/backend.h \
	src/backend/cores.c src/backend/cores.h \
	src/backend/mpi.c src/backend/mpi.h \
	src/backend/mpi_comm.c \
	src/backend/mpi_reduce.c src/backend/mpi_reduce.h \
	src/backend/reduce.c src/backend/reduce.h src/backend/reduce_vectors.h \
	src/backend/shared_block.c src/backend/shared_block.h \
	src/backend/shared_reduce.c src/backend/shared_reduce.h \
	src/backend/none.c

# A worker for the tests that start several ranks.
check_PROGRAMS += t/check/comm
t_check_comm_SOURCES = t/check/comm.c
t_check_comm_LDADD = libworker.la

dist_check_SCRIPTS += t/0100-comm-cluster.t
TESTS += t/0100-comm-cluster.t

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
