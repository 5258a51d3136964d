libworker_a_SOURCES += \
	src/worker/frame/column_view.c src/worker/frame/column_view.h \
	src/worker/frame/dictionary.c src/worker/frame/dictionary.h \
	src/worker/frame/frame.c src/worker/frame/frame.h \
	src/worker/frame/region.c src/worker/frame/region.h

UNIT_TESTS += t/unit/test_dictionary t/unit/test_frame
