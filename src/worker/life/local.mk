libworker_a_SOURCES += \
	src/worker/life/worker.c src/worker/life/worker.h
