libworker_la_SOURCES += \
	src/worker/loop/shared_object.c src/worker/loop/shared_object.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_train_func
TESTS += t/unit/test_train_func
t_unit_test_train_func_SOURCES = t/unit/test_train_func.c
t_unit_test_train_func_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_train_func_LDADD = libworker.la $(CMOCKA_LIBS)
endif
