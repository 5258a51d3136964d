libshared_la_SOURCES += \
	src/util/argv.c src/util/argv.h \
	src/util/hostlist.c src/util/hostlist.h \
	src/util/error.c src/util/error.h \
	src/util/quote.c src/util/quote.h \
	src/util/size.c src/util/size.h \
	src/util/suggest.c src/util/suggest.h \
	src/util/clock.c src/util/clock.h \
	src/util/async_text.c src/util/async_text.h \
	src/util/rank_list.c src/util/rank_list.h \
	src/util/dtype.c src/util/status.c \
	src/util/fs.c src/util/fs.h \
	src/util/json_text.c src/util/json_text.h \
	src/util/fault.c src/util/fault.h \
	src/util/memory.c src/util/memory.h \
	src/util/background.c src/util/background.h \
	src/util/attention.c src/util/attention.h \
	src/util/outlet.c src/util/outlet.h \
	src/util/signals.c src/util/signals.h \
	src/util/thread.c src/util/thread.h \
	src/util/place.c src/util/place.h \
	src/util/process.c src/util/process.h \
	src/util/descriptors.c src/util/descriptors.h \
	src/util/child.c src/util/child.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_error
TESTS += t/unit/test_error
t_unit_test_error_SOURCES = t/unit/test_error.c
t_unit_test_error_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_error_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_clock
TESTS += t/unit/test_clock
t_unit_test_clock_SOURCES = t/unit/test_clock.c
t_unit_test_clock_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_clock_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_dtype
TESTS += t/unit/test_dtype
t_unit_test_dtype_SOURCES = t/unit/test_dtype.c
t_unit_test_dtype_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_dtype_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_fs
TESTS += t/unit/test_fs
t_unit_test_fs_SOURCES = t/unit/test_fs.c
t_unit_test_fs_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_fs_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_child
TESTS += t/unit/test_child
t_unit_test_child_SOURCES = t/unit/test_child.c
t_unit_test_child_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_child_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_outlet
TESTS += t/unit/test_outlet
t_unit_test_outlet_SOURCES = t/unit/test_outlet.c
t_unit_test_outlet_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_outlet_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_json_text
TESTS += t/unit/test_json_text
t_unit_test_json_text_SOURCES = t/unit/test_json_text.c
t_unit_test_json_text_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_json_text_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_words
TESTS += t/unit/test_words
t_unit_test_words_SOURCES = t/unit/test_words.c
t_unit_test_words_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_words_LDADD = libshared.la $(CMOCKA_LIBS)
check_PROGRAMS += t/unit/test_argv
TESTS += t/unit/test_argv
t_unit_test_argv_SOURCES = t/unit/test_argv.c
t_unit_test_argv_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_argv_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_hostlist
TESTS += t/unit/test_hostlist
t_unit_test_hostlist_SOURCES = t/unit/test_hostlist.c
t_unit_test_hostlist_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_hostlist_LDADD = libshared.la $(CMOCKA_LIBS)
endif
