libworker_la_SOURCES += \
	src/worker/data/dataset.c src/worker/data/dataset.h \
	src/worker/data/expand.c src/worker/data/expand.h \
	src/worker/data/gunzip.c src/worker/data/gunzip.h \
	src/worker/data/position.c src/worker/data/position.h \
	src/worker/data/prefetch.c src/worker/data/prefetch.h \
	src/worker/data/reader.c src/worker/data/reader.h \
	src/worker/data/reader_hdf5.c \
	src/worker/data/reader_idx.c \
	src/worker/data/rows.c src/worker/data/rows.h \
	src/worker/data/share.c src/worker/data/share.h \
	src/worker/data/shuffle.c src/worker/data/shuffle.h \
	src/worker/data/table.c src/worker/data/table.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_dataset
TESTS += t/unit/test_dataset
t_unit_test_dataset_SOURCES = t/unit/test_dataset.c t/unit/idx_file.h
t_unit_test_dataset_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_dataset_LDADD = libworker.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_position
TESTS += t/unit/test_position
t_unit_test_position_SOURCES = t/unit/test_position.c
t_unit_test_position_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_position_LDADD = libworker.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_reader_hdf5
TESTS += t/unit/test_reader_hdf5
t_unit_test_reader_hdf5_SOURCES = t/unit/test_reader_hdf5.c t/unit/idx_file.h
t_unit_test_reader_hdf5_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_reader_hdf5_LDADD = libworker.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_reader_idx
TESTS += t/unit/test_reader_idx
t_unit_test_reader_idx_SOURCES = t/unit/test_reader_idx.c t/unit/idx_file.h
t_unit_test_reader_idx_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_reader_idx_LDADD = libworker.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_share
TESTS += t/unit/test_share
t_unit_test_share_SOURCES = t/unit/test_share.c t/unit/idx_file.h
t_unit_test_share_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_share_LDADD = libworker.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_shuffle
TESTS += t/unit/test_shuffle
t_unit_test_shuffle_SOURCES = t/unit/test_shuffle.c
t_unit_test_shuffle_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_shuffle_LDADD = libworker.la $(CMOCKA_LIBS)
endif
