libworker_la_SOURCES += \
	src/worker/saving/flush_thread.c src/worker/saving/flush_thread.h \
	src/worker/saving/saving.c src/worker/saving/saving.h \
	src/worker/saving/snapshot.c src/worker/saving/snapshot.h \
	src/worker/saving/tiers.c src/worker/saving/tiers.h \
	src/worker/saving/tiers_impl.h \
	src/worker/saving/tiers_restore.c

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_saving
TESTS += t/unit/test_saving
t_unit_test_saving_SOURCES = t/unit/test_saving.c $(SCRATCH)
t_unit_test_saving_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_saving_LDADD = libworker.la $(CMOCKA_LIBS)
endif
