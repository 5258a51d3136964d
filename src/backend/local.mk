libworker_la_SOURCES += \
	src/backend/backend.c src/backend/backend.h \
	src/backend/cores.c src/backend/cores.h \
	src/backend/mpi.c src/backend/mpi.h \
	src/backend/mpi_comm.c \
	src/backend/mpi_reduce.c src/backend/mpi_reduce.h \
	src/backend/reduce.c src/backend/reduce.h \
	src/backend/none.c

# A worker for the tests that start several ranks.
check_PROGRAMS += t/check/comm
t_check_comm_SOURCES = t/check/comm.c
t_check_comm_LDADD = libworker.la
