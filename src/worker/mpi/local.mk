libworker_a_SOURCES += \
	src/worker/mpi/combine.c src/worker/mpi/combine.h \
	src/worker/mpi/combine_vectors.h \
	src/worker/mpi/message_allreduce.c src/worker/mpi/message_allreduce.h \
	src/worker/mpi/mpi_comm.c src/worker/mpi/mpi_comm.h \
	src/worker/mpi/mpi_error.c src/worker/mpi/mpi_error.h \
	src/worker/mpi/mpi_facts.c src/worker/mpi/mpi_facts.h \
	src/worker/mpi/mpi_memory.c src/worker/mpi/mpi_memory.h \
	src/worker/mpi/mpi_places.c src/worker/mpi/mpi_places.h \
	src/worker/mpi/shared_allreduce.c src/worker/mpi/shared_allreduce.h

UNIT_TESTS += t/unit/test_backend t/unit/test_reduce t/unit/test_comm_ranks

dist_check_SCRIPTS += t/0100-comm-cluster.t
TESTS += t/0100-comm-cluster.t
