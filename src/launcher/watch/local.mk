liblauncher_la_SOURCES += \
	src/launcher/watch/grace.c src/launcher/watch/grace.h \
	src/launcher/watch/hang.c src/launcher/watch/hang.h \
	src/launcher/watch/node_liveness.c src/launcher/watch/node_liveness.h \
	src/launcher/watch/node_return.c src/launcher/watch/node_return.h \
	src/launcher/watch/node_survey.c src/launcher/watch/node_survey.h \
	src/launcher/watch/report_pace.c src/launcher/watch/report_pace.h \
	src/launcher/watch/resize.c src/launcher/watch/resize.h \
	src/launcher/watch/start.c src/launcher/watch/start.h \
	src/launcher/watch/time_limit.c src/launcher/watch/time_limit.h \
	src/launcher/watch/watch.c src/launcher/watch/watch.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_time_watch
TESTS += t/unit/test_time_watch
t_unit_test_time_watch_SOURCES = t/unit/test_time_watch.c \
	src/launcher/watch/time_limit.c src/launcher/watch/report_pace.c \
	src/launcher/watch/start.c src/launcher/launch/worker_log.c \
	src/launcher/watch/grace.c $(SCRATCH)
t_unit_test_time_watch_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_time_watch_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_node_watch
TESTS += t/unit/test_node_watch
t_unit_test_node_watch_SOURCES = t/unit/test_node_watch.c $(SCRATCH)
t_unit_test_node_watch_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_node_watch_LDADD = liblauncher.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_whereabouts
TESTS += t/unit/test_whereabouts
t_unit_test_whereabouts_SOURCES = t/unit/test_whereabouts.c $(SCRATCH)
t_unit_test_whereabouts_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_whereabouts_LDADD = liblauncher.la $(CMOCKA_LIBS)
endif
