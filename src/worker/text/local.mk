libworker_a_SOURCES += \
	src/worker/text/csv_block.c src/worker/text/csv_block.h \
	src/worker/text/csv_file.c src/worker/text/csv_file.h \
	src/worker/text/csv_header.c src/worker/text/csv_header.h \
	src/worker/text/csv_heads.c src/worker/text/csv_heads.h \
	src/worker/text/csv_range.c src/worker/text/csv_range.h \
	src/worker/text/csv_scan.c src/worker/text/csv_scan.h \
	src/worker/text/csv_value.c src/worker/text/csv_value.h \
	src/worker/text/csv_words.c src/worker/text/csv_words.h \
	src/worker/text/libsvm.c src/worker/text/libsvm.h \
	src/worker/text/libsvm_block.c src/worker/text/libsvm_block.h \
	src/worker/text/line_range.c src/worker/text/line_range.h \
	src/worker/text/lines.c src/worker/text/lines.h \
	src/worker/text/row_line.c src/worker/text/row_line.h \
	src/worker/text/row_sink.h \
	src/worker/text/source.c src/worker/text/source.h

UNIT_TESTS += t/unit/test_csv_block t/unit/test_csv_file t/unit/test_csv_scan \
	t/unit/test_line_formats

# Fuzzers of readers; see t/fuzz/local.mk. Files to start from are in t/fuzz/corpus-NAME.
fuzz: t/fuzz/fuzz_csv t/fuzz/fuzz_libsvm
EXTRA_DIST += t/fuzz/fuzz_csv.c t/fuzz/corpus-csv/codes.csv \
	t/fuzz/corpus-csv/quotes.csv t/fuzz/corpus-csv/types.csv \
	t/fuzz/fuzz_libsvm.c t/fuzz/corpus-libsvm/ranking.svm t/fuzz/corpus-libsvm/plain.svm
CLEANFILES += t/fuzz/fuzz_csv t/fuzz/fuzz_libsvm
fuzz_text_files = $(filter src/worker/text/%.c,$(libworker_a_SOURCES)) \
	$(filter src/worker/frame/%.c,$(libworker_a_SOURCES)) \
	src/common/comm/comm.c src/common/comm/comm_self.c
t/fuzz/fuzz_csv t/fuzz/fuzz_libsvm: t/fuzz/fuzz_%: t/fuzz/fuzz_%.c $(fuzz_text_files)
	$(AM_V_CCLD)$(MKDIR_P) t/fuzz && $(FUZZ_CC) $(FUZZ_CFLAGS) $(DEFS) -I. \
		$(AM_CPPFLAGS) $(JANSSON_CFLAGS) -o $@ $(srcdir)/t/fuzz/fuzz_$*.c \
		$(addprefix $(srcdir)/,$(fuzz_text_files)) \
		$(srcdir)/src/common/util/*.c $(JANSSON_LIBS) -lm
