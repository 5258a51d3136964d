# Fuzzers: `make fuzz` builds them with clang; `make check` does not run them.
#     t/fuzz/fuzz_config -max_total_time=60 CORPUS_COPY $(srcdir)/t/fuzz/corpus-config
# with LSAN_OPTIONS=suppressions=$(srcdir)/t/lsan.supp, because libconfig leaks.
EXTRA_DIST += t/fuzz/fuzz_config.c t/fuzz/corpus-config/all-keys.cfg

FUZZ_CC = clang
FUZZ_CFLAGS = -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined \
	-fno-sanitize-recover=undefined

fuzz: t/fuzz/fuzz_config
.PHONY: fuzz
CLEANFILES += t/fuzz/fuzz_config

t/fuzz/fuzz_config: t/fuzz/fuzz_config.c $(libcommon_a_SOURCES)
	$(AM_V_CCLD)$(MKDIR_P) t/fuzz && $(FUZZ_CC) $(FUZZ_CFLAGS) $(DEFS) -I. \
		$(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(LIBCONFIG_CFLAGS) -o $@ \
		$(srcdir)/t/fuzz/fuzz_config.c $(srcdir)/src/common/config/*.c \
		$(srcdir)/src/common/util/*.c $(LIBCONFIG_LIBS) $(JANSSON_LIBS) -lm
