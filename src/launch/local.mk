liblauncher_la_SOURCES += \
	src/launch/placement.h src/launch/launcher.h
