liblauncher_la_SOURCES += \
	src/launcher/event/attention.c src/launcher/event/attention.h \
	src/launcher/event/event_loop.c src/launcher/event/event_loop.h \
	src/launcher/event/outlet.c src/launcher/event/outlet.h

UNIT_TESTS += t/unit/test_event_loop t/unit/test_outlet
