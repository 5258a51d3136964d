libworker_a_SOURCES += \
	src/worker/data/batch.c src/worker/data/batch.h \
	src/worker/data/batch_source.c src/worker/data/batch_source.h \
	src/worker/data/converted.c src/worker/data/converted.h \
	src/worker/data/dataset.c src/worker/data/dataset.h \
	src/worker/data/dataset_columns.c \
	src/worker/data/dataset_env.h \
	src/worker/data/dataset_impl.h \
	src/worker/data/dataset_fit.c src/worker/data/dataset_fit.h \
	src/worker/data/dataset_table.c src/worker/data/dataset_table.h \
	src/worker/data/epoch_order.c src/worker/data/epoch_order.h \
	src/worker/data/file_view.c src/worker/data/file_view.h \
	src/worker/data/prefetch.c src/worker/data/prefetch.h \
	src/worker/data/same_rows.c src/worker/data/same_rows.h \
	src/worker/data/selection.c src/worker/data/selection.h \
	src/worker/data/stream_copy.c src/worker/data/stream_copy.h \
	src/worker/data/window_order.c src/worker/data/window_order.h \
	src/worker/data/window_reader.c src/worker/data/window_reader.h \
	src/worker/data/window_blocks.c \
	src/worker/data/window_spans.c \
	src/worker/data/window_reader_impl.h \
	src/worker/data/window_rows.c src/worker/data/window_rows.h

UNIT_TESTS += t/unit/test_data_many t/unit/test_dataset t/unit/test_epochs t/unit/test_file_view \
	t/unit/test_position t/unit/test_shrinking t/unit/test_window_order \
	t/unit/test_window_rows
