liblauncher_la_SOURCES += \
	src/launcher/slurm/controller_wait.c src/launcher/slurm/controller_wait.h \
	src/launcher/slurm/job.c src/launcher/slurm/job.h \
	src/launcher/slurm/mpi_plugins.c src/launcher/slurm/mpi_plugins.h \
	src/launcher/slurm/resources.c src/launcher/slurm/resources.h \
	src/launcher/slurm/salloc.c \
	src/launcher/slurm/slurm_launcher.c \
	src/launcher/slurm/slurm_tool.c src/launcher/slurm/slurm_tool.h \
	src/launcher/slurm/slurmd_probe.c src/launcher/slurm/slurmd_probe.h \
	src/launcher/slurm/srun_messages.c src/launcher/slurm/srun_messages.h \
	src/launcher/slurm/step_command.c src/launcher/slurm/step_command.h \
	src/launcher/slurm/surroundings.c src/launcher/slurm/surroundings.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_surroundings
TESTS += t/unit/test_surroundings
t_unit_test_surroundings_SOURCES = t/unit/test_surroundings.c
t_unit_test_surroundings_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_surroundings_LDADD = liblauncher.la $(CMOCKA_LIBS)

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
