libworker_a_SOURCES += \
	src/worker/table/band_cache.c src/worker/table/band_cache.h \
	src/worker/table/band_store.c src/worker/table/band_store.h \
	src/worker/table/column_read.c src/worker/table/column_read.h \
	src/worker/table/expansion.c src/worker/table/expansion.h \
	src/worker/table/fortran_order.c src/worker/table/fortran_order.h \
	src/worker/table/gunzip.c src/worker/table/gunzip.h \
	src/worker/table/left_out.c src/worker/table/left_out.h \
	src/worker/table/near_rows.c src/worker/table/near_rows.h \
	src/worker/table/npy_header.c src/worker/table/npy_header.h \
	src/worker/table/numpy_words.c src/worker/table/numpy_words.h \
	src/worker/table/packing.c src/worker/table/packing.h \
	src/worker/table/packing_filters.c \
	src/worker/table/ragged_read.c src/worker/table/ragged_read.h \
	src/worker/table/reader.c src/worker/table/reader.h \
	src/worker/table/reader_file.c src/worker/table/reader_file.h \
	src/worker/table/reader_hdf5.c \
	src/worker/table/reader_hdf5_chunks.c src/worker/table/reader_hdf5_chunks.h \
	src/worker/table/reader_hdf5_names.c src/worker/table/reader_hdf5_names.h \
	src/worker/table/reader_hdf5_strings.c src/worker/table/reader_hdf5_strings.h \
	src/worker/table/reader_idx.c \
	src/worker/table/reader_numpy.c \
	src/worker/table/row_order.c src/worker/table/row_order.h \
	src/worker/table/table.c src/worker/table/table.h \
	src/worker/table/table_concatenate.c \
	src/worker/table/table_source.h \
	src/worker/table/table_share.c src/worker/table/table_share.h \
	src/worker/table/words_union.c src/worker/table/words_union.h \
	src/worker/table/zip_members.c src/worker/table/zip_members.h

UNIT_TESTS += t/unit/test_band_cache t/unit/test_band_store t/unit/test_formats \
	t/unit/test_hdf5_strings t/unit/test_reader_hdf5 t/unit/test_reader_idx \
	t/unit/test_reader_numpy t/unit/test_share t/unit/test_shuffle

# Fuzzers of readers; see t/fuzz/local.mk. Files to start from are in t/fuzz/corpus-NAME.
fuzz: t/fuzz/fuzz_idx t/fuzz/fuzz_npy t/fuzz/fuzz_packing
EXTRA_DIST += t/fuzz/fuzz_packing.c t/fuzz/corpus-packing/all \
	t/fuzz/corpus-packing/deflate t/fuzz/corpus-packing/shuffle
EXTRA_DIST += t/fuzz/fuzz_idx.c t/fuzz/fuzz_npy.c t/fuzz/fuzz_reader.h \
	t/fuzz/corpus-idx/images t/fuzz/corpus-idx/floats t/fuzz/corpus-idx/packed.gz \
	t/fuzz/corpus-npy/floats.npy t/fuzz/corpus-npy/big-endian.npy \
	t/fuzz/corpus-npy/records.npy t/fuzz/corpus-npy/stored.npz \
	t/fuzz/corpus-npy/deflated.npz
CLEANFILES += t/fuzz/fuzz_idx t/fuzz/fuzz_npy t/fuzz/fuzz_packing
fuzz_reader_files = src/worker/table/band_cache.c \
	src/worker/table/band_store.c src/worker/data/batch.c \
	src/worker/table/column_read.c src/worker/table/near_rows.c \
	src/worker/table/ragged_read.c \
	src/worker/table/expansion.c src/worker/table/fortran_order.c \
	src/worker/table/gunzip.c src/worker/table/left_out.c src/worker/table/npy_header.c \
	src/worker/table/numpy_words.c src/worker/table/words_union.c \
	src/worker/table/packing.c src/worker/table/packing_filters.c \
	src/worker/data/epoch_order.c \
	src/worker/table/reader_file.c src/worker/table/reader_idx.c \
	src/worker/table/reader_numpy.c src/worker/table/row_order.c \
	src/worker/table/table.c src/worker/data/window_order.c src/worker/table/zip_members.c \
	src/worker/frame/dictionary.c src/worker/frame/frame.c \
	src/worker/frame/region.c
t/fuzz/fuzz_idx t/fuzz/fuzz_npy: t/fuzz/fuzz_%: t/fuzz/fuzz_%.c t/fuzz/fuzz_reader.h \
		$(fuzz_reader_files)
	$(AM_V_CCLD)$(MKDIR_P) t/fuzz && $(FUZZ_CC) $(FUZZ_CFLAGS) $(DEFS) -I. \
		$(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(LIBCONFIG_CFLAGS) $(XXHASH_CFLAGS) \
		$(ZLIB_CFLAGS) -o $@ $(srcdir)/t/fuzz/fuzz_$*.c \
		$(addprefix $(srcdir)/,$(fuzz_reader_files)) \
		$(srcdir)/src/common/config/*.c $(srcdir)/src/common/util/*.c \
		$(LIBCONFIG_LIBS) $(JANSSON_LIBS) $(XXHASH_LIBS) $(ZLIB_LIBS) -lm
t/fuzz/fuzz_packing: t/fuzz/fuzz_packing.c src/worker/table/packing_filters.c
	$(AM_V_CCLD)$(MKDIR_P) t/fuzz && $(FUZZ_CC) $(FUZZ_CFLAGS) $(DEFS) -I. \
		$(AM_CPPFLAGS) $(ZLIB_CFLAGS) -o $@ $(srcdir)/t/fuzz/fuzz_packing.c \
		$(srcdir)/src/worker/table/packing_filters.c $(ZLIB_LIBS)
