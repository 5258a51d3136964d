libserve_la_SOURCES += \
	src/serve/life/follower.c src/serve/life/follower.h \
	src/serve/life/life.c src/serve/life/life.h
