libworker_la_SOURCES += \
	src/backend/backend.c src/backend/backend.h \
	src/backend/mpi.c src/backend/mpi.h \
	src/backend/mpi_comm.c \
	src/backend/none.c

# A worker for the tests that start several ranks.
check_PROGRAMS += t/check/comm
t_check_comm_SOURCES = t/check/comm.c
t_check_comm_LDADD = libworker.la
