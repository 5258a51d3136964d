libworker_a_SOURCES += \
	src/worker/session/attachment_calls.c \
	src/worker/session/batch_calls.c \
	src/worker/session/call_match.c \
	src/worker/session/checkpoint_calls.c \
	src/worker/session/checkpoint_schedule.c \
	src/worker/session/collective_calls.c src/worker/session/collective_calls.h \
	src/worker/session/config_calls.c src/worker/session/config_calls.h \
	src/worker/session/data_decided.h \
	src/worker/session/data_decisions.c src/worker/session/data_decisions.h \
	src/worker/session/dataset_calls.c \
	src/worker/session/dataset_watch.c src/worker/session/dataset_watch.h \
	src/worker/session/device_batches.c \
	src/worker/session/device_calls.c \
	src/worker/session/device_tensors.c \
	src/worker/session/metric_calls.c \
	src/worker/session/mpi_calls.c \
	src/worker/session/open_calls.c \
	src/worker/session/preemption.c src/worker/session/preemption.h \
	src/worker/session/predict_calls.c \
	src/worker/session/serve_calls.c \
	src/worker/session/preprocessing.c src/worker/session/preprocessing.h \
	src/worker/session/random_calls.c \
	src/worker/session/random_streams.c src/worker/session/random_streams.h \
	src/worker/session/reducible.c src/worker/session/reducible.h \
	src/worker/session/report.c \
	src/worker/session/report_combine.c \
	src/worker/session/report_impl.h \
	src/worker/session/report_block.c src/worker/session/report_block.h \
	src/worker/session/report_line.c src/worker/session/report_line.h \
	src/worker/session/worker_reports.c \
	src/worker/session/run_calls.c \
	src/worker/session/saved_state.c \
	src/worker/session/session.c src/worker/session/session.h \
	src/worker/session/session_life.c src/worker/session/session_life.h \
	src/worker/session/checkpoints.h \
	src/worker/session/collectives.h \
	src/worker/session/datasets.h \
	src/worker/session/predictions.h \
	src/worker/session/reports.h \
	src/worker/session/session_error.c \
	src/worker/session/setting_notes.c src/worker/session/setting_notes.h \
	src/worker/session/signs.c src/worker/session/signs.h

UNIT_TESTS += t/unit/test_preprocessing t/unit/test_random t/unit/test_report_block \
	t/unit/test_session
