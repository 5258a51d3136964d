# Most programs use the launcher; the others have flags of their own.
src/cmd/%.o: AM_CPPFLAGS = $(LAUNCHER_CPPFLAGS)

pkglibexec_PROGRAMS += src/cmd/raytrain-worker
src_cmd_raytrain_worker_SOURCES = src/cmd/raytrain-worker.c
src/cmd/raytrain-worker.o: AM_CPPFLAGS = $(WORKER_CPPFLAGS)
src_cmd_raytrain_worker_LDADD = $(LIBRAYTRAIN)
# An installed tree can be moved. The library of the build tree has this place, too.
src_cmd_raytrain_worker_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,'$$ORIGIN/../../lib' $(PC_RPATH)

# srun starts it in place of workers, if a step stays for several attempts.
pkglibexec_PROGRAMS += src/cmd/raytrain-task
src_cmd_raytrain_task_SOURCES = src/cmd/raytrain-task.c
src/cmd/raytrain-task.o: AM_CPPFLAGS = $(WORKER_CPPFLAGS)
src_cmd_raytrain_task_LDADD = $(WORKER_LIBS)
# Only the wireup of a worker, without its libraries.
src_cmd_raytrain_task_LDFLAGS = $(AM_LDFLAGS) -Wl,--as-needed

# Local workers, and the MPI programs of a node, meet through it.
pkglibexec_PROGRAMS += src/cmd/raytrain-pmix
# accept() of this program alone.
src_cmd_raytrain_pmix_SOURCES = src/cmd/raytrain-pmix.c src/common/pmix/own_accept.c
src/cmd/raytrain-pmix.o: AM_CPPFLAGS = $(COMMON_CPPFLAGS)
src_cmd_raytrain_pmix_LDADD = $(COMMON_LIBS) $(PMIX_LIBS)
src_cmd_raytrain_pmix_LDFLAGS = $(AM_LDFLAGS) -Wl,--as-needed

# raytrain-run starts it for local workers.
pkglibexec_PROGRAMS += src/cmd/raytrain-keeper
src_cmd_raytrain_keeper_SOURCES = src/cmd/raytrain-keeper.c
src_cmd_raytrain_keeper_LDADD = $(LAUNCHER_LIBS)
src_cmd_raytrain_keeper_LDFLAGS = $(AM_LDFLAGS) -Wl,--as-needed

# raytrain-run starts it for a callback in C, which calls functions of it.
pkglibexec_PROGRAMS += src/cmd/raytrain-callback
src_cmd_raytrain_callback_SOURCES = src/cmd/raytrain-callback.c \
	src/common/util/report_number.c src/common/util/report_number.h
src/cmd/raytrain-callback.o: AM_CPPFLAGS = $(COMMON_CPPFLAGS)
src_cmd_raytrain_callback_LDADD = $(JANSSON_LIBS) -ldl
src_cmd_raytrain_callback_LDFLAGS = $(AM_LDFLAGS) -rdynamic

bin_PROGRAMS += src/cmd/inspect/raytrain-inspect
src_cmd_inspect_raytrain_inspect_SOURCES = src/cmd/inspect/raytrain-inspect.c src/cmd/hangup.c \
	src/cmd/hangup.h src/cmd/inspect/output.c src/cmd/inspect/output.h \
	src/cmd/inspect/views.h src/cmd/inspect/checkpoint_view.c \
	src/cmd/inspect/run_view.c src/cmd/inspect/export.c \
	src/cmd/inspect/run_summary.c src/cmd/inspect/run_summary.h \
	src/cmd/inspect/time_text.c src/cmd/inspect/time_text.h \
	src/cmd/inspect/checkpoint_diff.c src/cmd/inspect/element_value.c \
	src/cmd/inspect/element_value.h src/cmd/inspect/dataset_view.c \
	src/cmd/inspect/dataset_rows.c src/cmd/inspect/dataset_rows.h \
	src/cmd/inspect/column_stats.c src/cmd/inspect/column_stats.h \
	src/cmd/inspect/model.h src/cmd/inspect/model_export.c src/cmd/inspect/model_view.c \
	src/cmd/inspect/command_line.c src/cmd/inspect/command_line.h \
	src/cmd/inspect/run_list.c src/cmd/inspect/run_list.h src/cmd/inspect/runs_view.c \
	src/cmd/inspect/compare_view.c src/cmd/inspect/compare_text.c \
	src/cmd/inspect/compare_csv.c src/cmd/inspect/follow.c \
	src/cmd/inspect/follow.h src/cmd/inspect/logs_view.c \
	src/cmd/inspect/csv_output.c src/cmd/inspect/csv_output.h src/cmd/inspect/reports_csv.c \
	src/cmd/plot/plot.h src/cmd/plot/plot_data.c src/cmd/plot/plot_data.h \
	src/cmd/plot/plot_axis.c src/cmd/plot/plot_axis.h src/cmd/plot/plot_grid.c \
	src/cmd/plot/plot_grid.h src/cmd/plot/plot_text.c src/cmd/plot/plot_file.c \
	src/cmd/plot/gnuplot.c src/cmd/plot/gnuplot.h src/cmd/plot/paper.c \
	src/cmd/plot/paper.h src/cmd/plot/run_labels.c src/cmd/plot/run_labels.h \
	$(PAGE_SOURCES)
nodist_src_cmd_inspect_raytrain_inspect_SOURCES = src/cmd/page/assets.c
src/cmd/inspect/%.o src/cmd/plot/%.o src/cmd/page/%.o: AM_CPPFLAGS = $(WORKER_CPPFLAGS) \
	-I$(top_srcdir)/src/cmd
src_cmd_inspect_raytrain_inspect_LDADD = $(WORKER_LIBS)
# It reads datasets as a worker does, without PMIx and a backend.
src_cmd_inspect_raytrain_inspect_LDFLAGS = $(AM_LDFLAGS) -Wl,--as-needed
dist_man_MANS += share/man/raytrain-inspect.1 share/man/raytrain-format.5

bin_PROGRAMS += src/cmd/raytrain-run
src_cmd_raytrain_run_SOURCES = src/cmd/raytrain-run.c src/cmd/program.c src/cmd/program.h \
	src/cmd/hangup.c src/cmd/hangup.h
src_cmd_raytrain_run_LDADD = $(LAUNCHER_LIBS)

bin_PROGRAMS += src/cmd/raytrain-predict
src_cmd_raytrain_predict_SOURCES = src/cmd/raytrain-predict.c src/cmd/prediction.c src/cmd/prediction.h \
	src/cmd/program.c \
	src/cmd/program.h src/cmd/hangup.c src/cmd/hangup.h
src_cmd_raytrain_predict_LDADD = $(LAUNCHER_LIBS)

bin_PROGRAMS += src/cmd/raytrain-serve
src_cmd_raytrain_serve_SOURCES = src/cmd/raytrain-serve.c src/cmd/prediction.c src/cmd/prediction.h \
	src/cmd/serve_choice.c src/cmd/serve_choice.h \
	src/cmd/serve_workers.c src/cmd/serve_workers.h \
	src/cmd/program.c src/cmd/program.h src/cmd/hangup.c src/cmd/hangup.h
src/cmd/raytrain-serve.o src/cmd/serve_choice.o src/cmd/serve_workers.o: \
	AM_CPPFLAGS = $(LAUNCHER_CPPFLAGS) -I$(top_srcdir)/src/serve
src_cmd_raytrain_serve_LDADD = liblauncher.a $(SERVE_LIBS) $(PROTOBUF_C_LIBS)

# A script starts it for every report: it does not link with what it does not use.
bin_PROGRAMS += src/cmd/report/raytrain-report
src_cmd_report_raytrain_report_SOURCES = src/cmd/report/raytrain-report.c \
	src/cmd/report/extracted_files.c src/cmd/report/extracted_files.h \
	src/cmd/report/offered_files.c src/cmd/report/offered_files.h
src/cmd/report/%.o: AM_CPPFLAGS = $(COMMON_CPPFLAGS) -I$(top_srcdir)/src/cmd
src_cmd_report_raytrain_report_LDADD = $(COMMON_LIBS)
src_cmd_report_raytrain_report_LDFLAGS = $(AM_LDFLAGS) -Wl,--as-needed
dist_man_MANS += share/man/raytrain-report.1
