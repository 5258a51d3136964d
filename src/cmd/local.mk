pkglibexec_PROGRAMS += src/cmd/raytrain-worker
src_cmd_raytrain_worker_SOURCES = src/cmd/raytrain-worker.c
src_cmd_raytrain_worker_CPPFLAGS = $(WORKER_CPPFLAGS)
src_cmd_raytrain_worker_LDADD = libraytrain.la
# An installed tree can be moved.
src_cmd_raytrain_worker_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,'$$ORIGIN/../../lib'

bin_PROGRAMS += src/cmd/inspect/raytrain-inspect
src_cmd_inspect_raytrain_inspect_SOURCES = src/cmd/inspect/raytrain-inspect.c src/cmd/hangup.c \
	src/cmd/hangup.h src/cmd/inspect/output.c src/cmd/inspect/output.h \
	src/cmd/inspect/views.h src/cmd/inspect/checkpoint_view.c \
	src/cmd/inspect/run_view.c src/cmd/inspect/plot.c src/cmd/inspect/export.c \
	src/cmd/inspect/checkpoint_diff.c
src_cmd_inspect_raytrain_inspect_CPPFLAGS = $(COMMON_CPPFLAGS) -I$(top_srcdir)/src/cmd
src_cmd_inspect_raytrain_inspect_LDADD = libcommon.la
dist_man_MANS += share/man/raytrain-inspect.1 share/man/raytrain-format.5

bin_PROGRAMS += src/cmd/raytrain-run
src_cmd_raytrain_run_SOURCES = src/cmd/raytrain-run.c src/cmd/hangup.c src/cmd/hangup.h
src_cmd_raytrain_run_CPPFLAGS = $(LAUNCHER_CPPFLAGS)
src_cmd_raytrain_run_LDADD = liblauncher.la
