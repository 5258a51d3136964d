libworker_a_SOURCES += \
	src/worker/loop/loop.c src/worker/loop/loop.h \
	src/worker/loop/shared_object.c

UNIT_TESTS += t/unit/test_train_func
