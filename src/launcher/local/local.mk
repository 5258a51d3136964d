liblauncher_la_SOURCES += \
	src/launcher/local/blame.c src/launcher/local/blame.h \
	src/launcher/local/child_env.c src/launcher/local/child_env.h \
	src/launcher/local/keeper.c src/launcher/local/keeper.h \
	src/launcher/local/local_launcher.c \
	src/launcher/local/machine.c src/launcher/local/machine.h \
	src/launcher/local/oom.c src/launcher/local/oom.h \
	src/launcher/local/pmix_host.c src/launcher/local/pmix_host.h \
	src/launcher/local/pmix_server.c src/launcher/local/pmix_server.h \
	src/launcher/local/private_dir.c src/launcher/local/private_dir.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_launch_local
TESTS += t/unit/test_launch_local
t_unit_test_launch_local_SOURCES = t/unit/test_launch_local.c
t_unit_test_launch_local_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_launch_local_LDADD = liblauncher.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_local_machine
TESTS += t/unit/test_local_machine
t_unit_test_local_machine_SOURCES = t/unit/test_local_machine.c
t_unit_test_local_machine_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_local_machine_LDADD = liblauncher.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_oom
TESTS += t/unit/test_oom
t_unit_test_oom_SOURCES = t/unit/test_oom.c $(SCRATCH)
t_unit_test_oom_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_oom_LDADD = liblauncher.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_local_blame
TESTS += t/unit/test_local_blame
t_unit_test_local_blame_SOURCES = t/unit/test_local_blame.c
t_unit_test_local_blame_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_local_blame_LDADD = liblauncher.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_pmix_server
TESTS += t/unit/test_pmix_server
t_unit_test_pmix_server_SOURCES = t/unit/test_pmix_server.c
t_unit_test_pmix_server_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_pmix_server_LDADD = liblauncher.la $(CMOCKA_LIBS)

check_PROGRAMS += t/check/pmix_client
t_check_pmix_client_SOURCES = t/check/pmix_client.c
t_check_pmix_client_LDADD = $(PMIX_LIBS)
endif
