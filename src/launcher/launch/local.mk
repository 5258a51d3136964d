liblauncher_la_SOURCES += \
	src/launcher/launch/launcher.c src/launcher/launch/launcher.h \
	src/launcher/launch/node_capacity.h \
	src/launcher/launch/node_probe.c src/launcher/launch/node_probe.h \
	src/launcher/launch/placement.c src/launcher/launch/placement.h \
	src/launcher/launch/placement_refusal.c \
	src/launcher/launch/worker_log.c src/launcher/launch/worker_log.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_placement
TESTS += t/unit/test_placement
t_unit_test_placement_SOURCES = t/unit/test_placement.c
t_unit_test_placement_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_placement_LDADD = liblauncher.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_launcher
TESTS += t/unit/test_launcher
t_unit_test_launcher_SOURCES = t/unit/test_launcher.c
t_unit_test_launcher_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_launcher_LDADD = liblauncher.la $(CMOCKA_LIBS)
endif

check_PROGRAMS += t/check/launch_run
t_check_launch_run_SOURCES = t/check/launch_run.c
t_check_launch_run_LDADD = liblauncher.la
