liblauncher_la_SOURCES += \
	src/callback/callback.c src/callback/callback.h \
	src/callback/progress.c
