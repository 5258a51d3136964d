liblauncher_la_SOURCES += \
	src/launch/node_probe.c src/launch/node_probe.h \
	src/launch/placement.c src/launch/placement.h \
	src/launch/placement_refusal.c src/launch/placement_room.h \
	src/launch/slurm_surroundings.c src/launch/slurm_surroundings.h \
	src/launch/launcher.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_surroundings
TESTS += t/unit/test_surroundings
t_unit_test_surroundings_SOURCES = t/unit/test_surroundings.c
t_unit_test_surroundings_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_surroundings_LDADD = liblauncher.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_placement
TESTS += t/unit/test_placement
t_unit_test_placement_SOURCES = t/unit/test_placement.c
t_unit_test_placement_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_placement_LDADD = liblauncher.la $(CMOCKA_LIBS)
endif

liblauncher_la_SOURCES += src/launch/launcher.c \
	src/launch/worker_log.c src/launch/worker_log.h \
	src/launch/local.c \
	src/launch/local_blame.c src/launch/local_blame.h \
	src/launch/local_env.c src/launch/local_env.h \
	src/launch/local_keeper.c src/launch/local_keeper.h \
	src/launch/local_private_dir.c src/launch/local_private_dir.h \
	src/launch/local_machine.c src/launch/local_machine.h \
	src/launch/oom.c src/launch/oom.h

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

check_PROGRAMS += t/unit/test_launcher
TESTS += t/unit/test_launcher
t_unit_test_launcher_SOURCES = t/unit/test_launcher.c
t_unit_test_launcher_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_launcher_LDADD = liblauncher.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_local_blame
TESTS += t/unit/test_local_blame
t_unit_test_local_blame_SOURCES = t/unit/test_local_blame.c
t_unit_test_local_blame_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_local_blame_LDADD = liblauncher.la $(CMOCKA_LIBS)
endif

liblauncher_la_SOURCES += src/launch/slurm.c \
	src/launch/slurm_allocate.c \
	src/launch/slurm_command.c src/launch/slurm_command.h \
	src/launch/slurm_patience.c src/launch/slurm_patience.h \
	src/launch/slurm_probe.c src/launch/slurm_probe.h \
	src/launch/slurm_job.c src/launch/slurm_job.h \
	src/launch/slurm_mpi.c src/launch/slurm_mpi.h \
	src/launch/slurm_resources.c src/launch/slurm_resources.h \
	src/launch/slurm_tool.c src/launch/slurm_tool.h \
	src/launch/slurm_watch.c src/launch/slurm_watch.h

check_PROGRAMS += t/check/launch_run
t_check_launch_run_SOURCES = t/check/launch_run.c
t_check_launch_run_LDADD = liblauncher.la

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_slurm_job
TESTS += t/unit/test_slurm_job
t_unit_test_slurm_job_SOURCES = t/unit/test_slurm_job.c $(SCRATCH)
t_unit_test_slurm_job_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_slurm_job_LDADD = liblauncher.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_slurm
TESTS += t/unit/test_slurm
t_unit_test_slurm_SOURCES = t/unit/test_slurm.c
t_unit_test_slurm_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_slurm_LDADD = liblauncher.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_slurm_probe
TESTS += t/unit/test_slurm_probe
t_unit_test_slurm_probe_SOURCES = t/unit/test_slurm_probe.c $(SCRATCH)
t_unit_test_slurm_probe_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_slurm_probe_LDADD = liblauncher.la $(CMOCKA_LIBS)
endif
