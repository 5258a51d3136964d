libserve_a_SOURCES += \
	src/serve/place/haproxy.c src/serve/place/haproxy.h \
	src/serve/place/place.c src/serve/place/place.h

UNIT_TESTS += t/unit/test_place
