liblauncher_a_SOURCES += \
	src/launcher/watch/hang.c \
	src/launcher/watch/node_liveness.c \
	src/launcher/watch/node_survey.c src/launcher/watch/node_survey.h \
	src/launcher/watch/preemption_grace.c \
	src/launcher/watch/resize.c \
	src/launcher/watch/start.c \
	src/launcher/watch/stop_limits.c \
	src/launcher/watch/watch.c src/launcher/watch/watch.h

UNIT_TESTS += t/unit/test_time_watch t/unit/test_node_watch t/unit/test_rank_status
