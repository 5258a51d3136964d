libworker_la_SOURCES += \
	src/data/dataset.c src/data/dataset.h \
	src/data/expand.c src/data/expand.h \
	src/data/gunzip.c src/data/gunzip.h \
	src/data/position.c src/data/position.h \
	src/data/prefetch.c src/data/prefetch.h \
	src/data/reader.c src/data/reader.h \
	src/data/reader_hdf5.c \
	src/data/reader_idx.c \
	src/data/rows.c src/data/rows.h \
	src/data/share.c src/data/share.h \
	src/data/shuffle.c src/data/shuffle.h \
	src/data/table.c src/data/table.h

if HAVE_CMOCKA
check_PROGRAMS += \
	t/unit/test_dataset \
	t/unit/test_memory \
	t/unit/test_position \
	t/unit/test_reader_hdf5 \
	t/unit/test_reader_idx \
	t/unit/test_share \
	t/unit/test_shuffle
TESTS += \
	t/unit/test_dataset \
	t/unit/test_memory \
	t/unit/test_position \
	t/unit/test_reader_hdf5 \
	t/unit/test_reader_idx \
	t/unit/test_share \
	t/unit/test_shuffle
t_unit_test_dataset_SOURCES = t/unit/test_dataset.c t/unit/idx_file.h
t_unit_test_dataset_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_dataset_LDADD = libworker.la $(CMOCKA_LIBS)
t_unit_test_memory_SOURCES = t/unit/test_memory.c
t_unit_test_memory_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_memory_LDADD = libworker.la $(CMOCKA_LIBS)
t_unit_test_position_SOURCES = t/unit/test_position.c
t_unit_test_position_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_position_LDADD = libworker.la $(CMOCKA_LIBS)
t_unit_test_reader_hdf5_SOURCES = t/unit/test_reader_hdf5.c t/unit/idx_file.h
t_unit_test_reader_hdf5_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_reader_hdf5_LDADD = libworker.la $(CMOCKA_LIBS)
t_unit_test_reader_idx_SOURCES = t/unit/test_reader_idx.c t/unit/idx_file.h
t_unit_test_reader_idx_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_reader_idx_LDADD = libworker.la $(CMOCKA_LIBS)
t_unit_test_share_SOURCES = t/unit/test_share.c t/unit/idx_file.h
t_unit_test_share_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_share_LDADD = libworker.la $(CMOCKA_LIBS)
t_unit_test_shuffle_SOURCES = t/unit/test_shuffle.c
t_unit_test_shuffle_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_shuffle_LDADD = libworker.la $(CMOCKA_LIBS)
endif
