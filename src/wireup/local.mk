libshared_la_SOURCES += \
	src/wireup/comm.h src/wireup/wireup.h src/wireup/pmix_server.h
