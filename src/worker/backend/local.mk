libworker_la_SOURCES += \
	src/worker/backend/backend.c src/worker/backend/backend.h \
	src/worker/backend/mpi_backend.c src/worker/backend/mpi_backend.h
