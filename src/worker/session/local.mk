libworker_la_SOURCES += \
	src/worker/session/checkpoint_calls.c \
	src/worker/session/checkpoint_schedule.c \
	src/worker/session/collective_calls.c \
	src/worker/session/config_calls.c \
	src/worker/session/dataset_calls.c \
	src/worker/session/meeting.c \
	src/worker/session/mpi_calls.c \
	src/worker/session/philox.c src/worker/session/philox.h \
	src/worker/session/random_streams.c src/worker/session/random_streams.h \
	src/worker/session/reducer.c \
	src/worker/session/report.c \
	src/worker/session/report_block.c src/worker/session/report_block.h \
	src/worker/session/report_line.c src/worker/session/report_line.h \
	src/worker/session/saved_state.c \
	src/worker/session/session.c src/worker/session/session.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_random
TESTS += t/unit/test_random
t_unit_test_random_SOURCES = t/unit/test_random.c
t_unit_test_random_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_random_LDADD = libworker.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_report_block
TESTS += t/unit/test_report_block
t_unit_test_report_block_SOURCES = t/unit/test_report_block.c
t_unit_test_report_block_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_report_block_LDADD = libworker.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_session
TESTS += t/unit/test_session
t_unit_test_session_SOURCES = t/unit/test_session.c
t_unit_test_session_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_session_LDADD = libworker.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_reducer
TESTS += t/unit/test_reducer
t_unit_test_reducer_SOURCES = t/unit/test_reducer.c
t_unit_test_reducer_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_reducer_LDADD = libworker.la $(CMOCKA_LIBS)
endif
