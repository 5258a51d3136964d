libcommon_a_SOURCES += \
	src/common/event/attention.c src/common/event/attention.h \
	src/common/event/event_loop.c src/common/event/event_loop.h \
	src/common/event/outlet.c src/common/event/outlet.h \
	src/common/event/stop_request.c src/common/event/stop_request.h

UNIT_TESTS += t/unit/test_event_loop t/unit/test_outlet t/unit/test_stop_request
