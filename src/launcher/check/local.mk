liblauncher_a_SOURCES += \
	src/launcher/check/batch_check.c \
	src/launcher/check/bounded.c src/launcher/check/bounded.h \
	src/launcher/check/device_check.c \
	src/launcher/check/check.c src/launcher/check/check.h \
	src/launcher/check/check_report.c src/launcher/check/check_report.h \
	src/launcher/check/gpu_check.c \
	src/launcher/check/hdf5_check.c \
	src/launcher/check/installation_check.c \
	src/launcher/check/mpi_check.c \
	src/launcher/check/node_check.c \
	src/launcher/check/node_judge.c src/launcher/check/node_judge.h \
	src/launcher/check/site.c src/launcher/check/site.h \
	src/launcher/check/site_file_check.c \
	src/launcher/check/storage_check.c \
	src/launcher/check/trial_run.c src/launcher/check/trial_run.h \
	src/launcher/check/worker_check.c

UNIT_TESTS += t/unit/test_site_check t/unit/test_check_rules
