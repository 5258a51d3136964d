libworker_la_SOURCES += \
	src/worker/data/batch.c src/worker/data/batch.h \
	src/worker/data/dataset.c src/worker/data/dataset.h \
	src/worker/data/expansion.c src/worker/data/expansion.h \
	src/worker/data/gunzip.c src/worker/data/gunzip.h \
	src/worker/data/prefetch.c src/worker/data/prefetch.h \
	src/worker/data/reader.c src/worker/data/reader.h \
	src/worker/data/reader_hdf5.c \
	src/worker/data/reader_idx.c \
	src/worker/data/row_order.c src/worker/data/row_order.h \
	src/worker/data/table.c src/worker/data/table.h \
	src/worker/data/table_share.c src/worker/data/table_share.h

UNIT_TESTS += t/unit/test_dataset t/unit/test_position t/unit/test_reader_hdf5 \
	t/unit/test_reader_idx t/unit/test_share t/unit/test_shuffle
