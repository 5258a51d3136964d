libworker_a_SOURCES += \
	src/worker/data/band_cache.c src/worker/data/band_cache.h \
	src/worker/data/band_store.c src/worker/data/band_store.h \
	src/worker/data/batch.c src/worker/data/batch.h \
	src/worker/data/batch_source.c src/worker/data/batch_source.h \
	src/worker/data/column_read.c src/worker/data/column_read.h \
	src/worker/data/conversion.c src/worker/data/conversion.h \
	src/worker/data/conversion_key.c src/worker/data/conversion_key.h \
	src/worker/data/converted.c src/worker/data/converted.h \
	src/worker/data/dataset.c src/worker/data/dataset.h \
	src/worker/data/dataset_fit.c src/worker/data/dataset_fit.h \
	src/worker/data/dataset_table.c src/worker/data/dataset_table.h \
	src/worker/data/epoch_order.c src/worker/data/epoch_order.h \
	src/worker/data/decompress.c src/worker/data/decompress.h \
	src/worker/data/expansion.c src/worker/data/expansion.h \
	src/worker/data/first_index.c src/worker/data/first_index.h \
	src/worker/data/file_view.c src/worker/data/file_view.h \
	src/worker/data/fortran_order.c src/worker/data/fortran_order.h \
	src/worker/data/gunzip.c src/worker/data/gunzip.h \
	src/worker/data/json_share.c src/worker/data/json_share.h \
	src/worker/data/left_out.c src/worker/data/left_out.h \
	src/worker/data/near_rows.c src/worker/data/near_rows.h \
	src/worker/data/odd_word.c src/worker/data/odd_word.h \
	src/worker/data/npy_header.c src/worker/data/npy_header.h \
	src/worker/data/numpy_words.c src/worker/data/numpy_words.h \
	src/worker/data/packing.c src/worker/data/packing.h \
	src/worker/data/packing_filters.c \
	src/worker/data/part.h src/worker/data/part_names.h \
	src/worker/data/part_index.c src/worker/data/part_index.h \
	src/worker/data/part_layout.c src/worker/data/part_read.c \
	src/worker/data/part_sums.c src/worker/data/part_sums.h \
	src/worker/data/part_write.c \
	src/worker/data/prefetch.c src/worker/data/prefetch.h \
	src/worker/data/ragged_read.c src/worker/data/ragged_read.h \
	src/worker/data/reader.c src/worker/data/reader.h \
	src/worker/data/reader_file.c \
	src/worker/data/reader_hdf5.c \
	src/worker/data/reader_hdf5_chunks.c src/worker/data/reader_hdf5_chunks.h \
	src/worker/data/reader_hdf5_names.c src/worker/data/reader_hdf5_names.h \
	src/worker/data/reader_hdf5_strings.c src/worker/data/reader_hdf5_strings.h \
	src/worker/data/reader_idx.c \
	src/worker/data/reader_numpy.c \
	src/worker/data/row_order.c src/worker/data/row_order.h \
	src/worker/data/row_place.c src/worker/data/row_place.h \
	src/worker/data/same_rows.c src/worker/data/same_rows.h \
	src/worker/data/selection.c src/worker/data/selection.h \
	src/worker/data/spool.c src/worker/data/spool.h \
	src/worker/data/stream_copy.c src/worker/data/stream_copy.h \
	src/worker/data/table.c src/worker/data/table.h \
	src/worker/data/table_concatenate.c \
	src/worker/data/table_share.c src/worker/data/table_share.h \
	src/worker/data/text_formats.c src/worker/data/text_formats.h \
	src/worker/data/window_order.c src/worker/data/window_order.h \
	src/worker/data/window_reader.c src/worker/data/window_reader.h \
	src/worker/data/window_rows.c src/worker/data/window_rows.h \
	src/worker/data/words_union.c src/worker/data/words_union.h \
	src/worker/data/zip_members.c src/worker/data/zip_members.h

UNIT_TESTS += t/unit/test_band_cache t/unit/test_band_store t/unit/test_conversion t/unit/test_data_many \
	t/unit/test_dataset t/unit/test_epochs t/unit/test_file_view t/unit/test_formats \
	t/unit/test_hdf5_strings t/unit/test_position t/unit/test_reader_hdf5 \
	t/unit/test_reader_idx t/unit/test_reader_numpy t/unit/test_share t/unit/test_shrinking \
	t/unit/test_shuffle t/unit/test_text_data t/unit/test_window_order t/unit/test_window_rows

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
fuzz_reader_files = src/worker/data/band_cache.c \
	src/worker/data/band_store.c src/worker/data/batch.c \
	src/worker/data/column_read.c src/worker/data/near_rows.c \
	src/worker/data/ragged_read.c \
	src/worker/data/expansion.c src/worker/data/fortran_order.c \
	src/worker/data/gunzip.c src/worker/data/left_out.c src/worker/data/npy_header.c \
	src/worker/data/numpy_words.c src/worker/data/words_union.c \
	src/worker/data/packing.c src/worker/data/packing_filters.c \
	src/worker/data/epoch_order.c \
	src/worker/data/reader_file.c src/worker/data/reader_idx.c \
	src/worker/data/reader_numpy.c src/worker/data/row_order.c \
	src/worker/data/table.c src/worker/data/window_order.c src/worker/data/zip_members.c \
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
t/fuzz/fuzz_packing: t/fuzz/fuzz_packing.c src/worker/data/packing_filters.c
	$(AM_V_CCLD)$(MKDIR_P) t/fuzz && $(FUZZ_CC) $(FUZZ_CFLAGS) $(DEFS) -I. \
		$(AM_CPPFLAGS) $(ZLIB_CFLAGS) -o $@ $(srcdir)/t/fuzz/fuzz_packing.c \
		$(srcdir)/src/worker/data/packing_filters.c $(ZLIB_LIBS)
