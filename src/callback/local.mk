liblauncher_la_SOURCES += \
	src/callback/callback.h
