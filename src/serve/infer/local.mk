libserve_a_SOURCES += \
	src/serve/infer/answer.h \
	src/serve/infer/datatype.c src/serve/infer/datatype.h \
	src/serve/infer/element.c src/serve/infer/element.h \
	src/serve/infer/infer.h \
	src/serve/infer/json_scan.c src/serve/infer/json_scan.h \
	src/serve/infer/metadata.c \
	src/serve/infer/refusal.c src/serve/infer/refusal.h \
	src/serve/infer/repository.c \
	src/serve/infer/request.c \
	src/serve/infer/request_checks.c \
	src/serve/infer/request_csv.c \
	src/serve/infer/request_json.c \
	src/serve/infer/request_parse.h \
	src/serve/infer/response.c \
	src/serve/infer/rows_binary.c \
	src/serve/infer/rows_json.c \
	src/serve/infer/tensor_take.c

UNIT_TESTS += t/unit/test_infer_metadata t/unit/test_infer_request \
	t/unit/test_infer_response

# The fuzzer of requests; see t/fuzz/local.mk.
fuzz: t/fuzz/fuzz_infer
EXTRA_DIST += t/fuzz/fuzz_infer.c \
	t/fuzz/corpus-infer/flat.json t/fuzz/corpus-infer/mixed.bin \
	t/fuzz/corpus-infer/mixed.csv t/fuzz/corpus-infer/mixed.json \
	t/fuzz/corpus-infer/nested.json t/fuzz/corpus-infer/numbers.bin \
	t/fuzz/corpus-infer/numbers.csv t/fuzz/corpus-infer/numbers.json \
	t/fuzz/corpus-infer/text.bin t/fuzz/corpus-infer/text.json
CLEANFILES += t/fuzz/fuzz_infer
t/fuzz/fuzz_infer: t/fuzz/fuzz_infer.c $(libserve_a_SOURCES)
	$(AM_V_CCLD)$(MKDIR_P) t/fuzz && $(FUZZ_CC) $(FUZZ_CFLAGS) $(DEFS) -I. \
		$(AM_CPPFLAGS) $(JANSSON_CFLAGS) -o $@ $(srcdir)/t/fuzz/fuzz_infer.c \
		$(srcdir)/src/serve/infer/*.c $(srcdir)/src/common/util/*.c $(JANSSON_LIBS) -lm
