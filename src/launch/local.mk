liblauncher_la_SOURCES += \
	src/launch/placement.c src/launch/placement.h \
	src/launch/placement_refusal.c src/launch/placement_room.h \
	src/launch/launcher.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_placement
TESTS += t/unit/test_placement
t_unit_test_placement_SOURCES = t/unit/test_placement.c
t_unit_test_placement_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_placement_LDADD = liblauncher.la $(CMOCKA_LIBS)
endif
