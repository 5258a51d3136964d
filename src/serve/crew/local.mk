libserve_a_SOURCES += \
	src/serve/crew/crew.c src/serve/crew/crew.h \
	src/serve/crew/member.c src/serve/crew/member.h

UNIT_TESTS += t/unit/test_crew
