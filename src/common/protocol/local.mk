libcommon_la_SOURCES += \
	src/common/protocol/events.c src/common/protocol/events.h \
	src/common/protocol/whereabouts.c src/common/protocol/whereabouts.h \
	src/common/protocol/worker_env.c src/common/protocol/worker_env.h \
	src/common/protocol/worker_record.c src/common/protocol/worker_record.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_worker_record
TESTS += t/unit/test_worker_record
t_unit_test_worker_record_SOURCES = t/unit/test_worker_record.c $(SCRATCH)
t_unit_test_worker_record_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_worker_record_LDADD = libcommon.la $(CMOCKA_LIBS)
endif
