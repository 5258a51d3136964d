liblauncher_la_SOURCES += \
	src/launcher/callback/callback.c src/launcher/callback/callback.h \
	src/launcher/callback/progress.c

UNIT_TESTS += t/unit/test_callback
