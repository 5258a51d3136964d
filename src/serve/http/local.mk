libserve_la_SOURCES += \
	src/serve/http/clients.c src/serve/http/clients.h \
	src/serve/http/listening.c src/serve/http/listening.h \
	src/serve/http/token.c src/serve/http/token.h

UNIT_TESTS += t/unit/test_clients t/unit/test_listening
