liblauncher_a_SOURCES += \
	src/launcher/slurm/batch_script.c src/launcher/slurm/batch_script.h \
	src/launcher/slurm/cluster_fit.c src/launcher/slurm/cluster_fit.h \
	src/launcher/slurm/configuration.c src/launcher/slurm/configuration.h \
	src/launcher/slurm/job.c src/launcher/slurm/job.h \
	src/launcher/slurm/mpi_plugins.c src/launcher/slurm/mpi_plugins.h \
	src/launcher/slurm/resources.c src/launcher/slurm/resources.h \
	src/launcher/slurm/salloc.c src/launcher/slurm/salloc.h \
	src/launcher/slurm/sbatch.c src/launcher/slurm/sbatch.h \
	src/launcher/slurm/site_check.c src/launcher/slurm/site_check.h \
	src/launcher/slurm/slurm_launcher.c \
	src/launcher/slurm/slurm_tool.c src/launcher/slurm/slurm_tool.h \
	src/launcher/slurm/slurmd_probe.c src/launcher/slurm/slurmd_probe.h \
	src/launcher/slurm/srun_messages.c src/launcher/slurm/srun_messages.h \
	src/launcher/slurm/step_command.c src/launcher/slurm/step_command.h \
	src/launcher/slurm/step_keeper.c src/launcher/slurm/step_keeper.h \
	src/launcher/slurm/step_keeper_process.c \
	src/launcher/slurm/surroundings.c src/launcher/slurm/surroundings.h

UNIT_TESTS += t/unit/test_surroundings t/unit/test_slurm_job t/unit/test_slurm \
	t/unit/test_slurm_probe t/unit/test_slurm_batch t/unit/test_kept_step

if HAVE_CMOCKA
check_DATA += t/libexec/raytrain/raytrain-task
CLEANFILES += t/libexec/raytrain/raytrain-task
t/libexec/raytrain/raytrain-task: src/cmd/raytrain-task
	$(AM_V_GEN)mkdir -p $(@D) && ln -sf $(abs_top_builddir)/src/cmd/$(@F) $@
EXTRA_t_unit_test_kept_step_DEPENDENCIES = t/libexec/raytrain/raytrain-keeper \
	t/libexec/raytrain/raytrain-task
endif
