libworker_a_SOURCES += \
	src/worker/data/batch.c src/worker/data/batch.h \
	src/worker/data/batch_source.c src/worker/data/batch_source.h \
	src/worker/data/conversion.c src/worker/data/conversion.h \
	src/worker/data/conversion_key.c src/worker/data/conversion_key.h \
	src/worker/data/converted.c src/worker/data/converted.h \
	src/worker/data/dataset.c src/worker/data/dataset.h \
	src/worker/data/dataset_fit.c src/worker/data/dataset_fit.h \
	src/worker/data/dataset_table.c src/worker/data/dataset_table.h \
	src/worker/data/epoch_order.c src/worker/data/epoch_order.h \
	src/worker/data/decompress.c src/worker/data/decompress.h \
	src/worker/data/first_index.c src/worker/data/first_index.h \
	src/worker/data/file_view.c src/worker/data/file_view.h \
	src/worker/data/json_share.c src/worker/data/json_share.h \
	src/worker/data/odd_word.c src/worker/data/odd_word.h \
	src/worker/data/part.h \
	src/worker/data/part_names.h \
	src/worker/data/part_index.c src/worker/data/part_index.h \
	src/worker/data/part_layout.c \
	src/worker/data/part_read.c \
	src/worker/data/part_sums.c src/worker/data/part_sums.h \
	src/worker/data/part_write.c \
	src/worker/data/prefetch.c src/worker/data/prefetch.h \
	src/worker/data/row_place.c src/worker/data/row_place.h \
	src/worker/data/same_rows.c src/worker/data/same_rows.h \
	src/worker/data/selection.c src/worker/data/selection.h \
	src/worker/data/spool.c src/worker/data/spool.h \
	src/worker/data/stream_copy.c src/worker/data/stream_copy.h \
	src/worker/data/text_formats.c src/worker/data/text_formats.h \
	src/worker/data/window_order.c src/worker/data/window_order.h \
	src/worker/data/window_reader.c src/worker/data/window_reader.h \
	src/worker/data/window_rows.c src/worker/data/window_rows.h

UNIT_TESTS += t/unit/test_conversion t/unit/test_data_many t/unit/test_dataset \
	t/unit/test_epochs t/unit/test_file_view t/unit/test_position t/unit/test_shrinking \
	t/unit/test_text_data t/unit/test_window_order t/unit/test_window_rows
