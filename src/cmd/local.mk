pkglibexec_PROGRAMS += src/cmd/raytrain-worker
src_cmd_raytrain_worker_SOURCES = src/cmd/raytrain-worker.c
src_cmd_raytrain_worker_LDADD = libraytrain.la
# An installed tree can be moved.
src_cmd_raytrain_worker_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,'$$ORIGIN/../../lib'

bin_PROGRAMS += src/cmd/raytrain-inspect
src_cmd_raytrain_inspect_SOURCES = src/cmd/raytrain-inspect.c \
	src/cmd/hangup.c src/cmd/hangup.h src/cmd/inspect.h \
	src/cmd/inspect_checkpoint.c src/cmd/inspect_run.c src/cmd/inspect_plot.c \
	src/cmd/inspect_export.c src/cmd/inspect_diff.c
src_cmd_raytrain_inspect_LDADD = libshared.la
dist_man_MANS += share/man/raytrain-inspect.1 share/man/raytrain-format.5

bin_PROGRAMS += src/cmd/raytrain-run
src_cmd_raytrain_run_SOURCES = src/cmd/raytrain-run.c src/cmd/hangup.c src/cmd/hangup.h
src_cmd_raytrain_run_LDADD = liblauncher.la
