libcommon_la_SOURCES += \
	src/common/util/argv.c src/common/util/argv.h \
	src/common/util/async_text.c src/common/util/async_text.h \
	src/common/util/attention.c src/common/util/attention.h \
	src/common/util/background.c src/common/util/background.h \
	src/common/util/child.c src/common/util/child.h \
	src/common/util/clock.c src/common/util/clock.h \
	src/common/util/descriptors.c src/common/util/descriptors.h \
	src/common/util/dtype.c \
	src/common/util/error.c src/common/util/error.h \
	src/common/util/fault.c src/common/util/fault.h \
	src/common/util/fs.c src/common/util/fs.h \
	src/common/util/hostlist.c src/common/util/hostlist.h \
	src/common/util/json_text.c src/common/util/json_text.h \
	src/common/util/memory.c src/common/util/memory.h \
	src/common/util/outlet.c src/common/util/outlet.h \
	src/common/util/pid_scope.c src/common/util/pid_scope.h \
	src/common/util/process.c src/common/util/process.h \
	src/common/util/quote.c src/common/util/quote.h \
	src/common/util/rank_list.c src/common/util/rank_list.h \
	src/common/util/shm_tidy.c src/common/util/shm_tidy.h \
	src/common/util/signals.c src/common/util/signals.h \
	src/common/util/size.c src/common/util/size.h \
	src/common/util/status.c \
	src/common/util/suggest.c src/common/util/suggest.h \
	src/common/util/thread.c src/common/util/thread.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_memory
TESTS += t/unit/test_memory
t_unit_test_memory_SOURCES = t/unit/test_memory.c
t_unit_test_memory_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_memory_LDADD = libworker.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_error
TESTS += t/unit/test_error
t_unit_test_error_SOURCES = t/unit/test_error.c
t_unit_test_error_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_error_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_clock
TESTS += t/unit/test_clock
t_unit_test_clock_SOURCES = t/unit/test_clock.c
t_unit_test_clock_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_clock_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_dtype
TESTS += t/unit/test_dtype
t_unit_test_dtype_SOURCES = t/unit/test_dtype.c
t_unit_test_dtype_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_dtype_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_fs
TESTS += t/unit/test_fs
t_unit_test_fs_SOURCES = t/unit/test_fs.c
t_unit_test_fs_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_fs_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_child
TESTS += t/unit/test_child
t_unit_test_child_SOURCES = t/unit/test_child.c
t_unit_test_child_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_child_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_outlet
TESTS += t/unit/test_outlet
t_unit_test_outlet_SOURCES = t/unit/test_outlet.c
t_unit_test_outlet_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_outlet_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_json_text
TESTS += t/unit/test_json_text
t_unit_test_json_text_SOURCES = t/unit/test_json_text.c
t_unit_test_json_text_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_json_text_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_words
TESTS += t/unit/test_words
t_unit_test_words_SOURCES = t/unit/test_words.c
t_unit_test_words_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_words_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_argv
TESTS += t/unit/test_argv
t_unit_test_argv_SOURCES = t/unit/test_argv.c
t_unit_test_argv_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_argv_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_hostlist
TESTS += t/unit/test_hostlist
t_unit_test_hostlist_SOURCES = t/unit/test_hostlist.c
t_unit_test_hostlist_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_hostlist_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_shm_tidy
TESTS += t/unit/test_shm_tidy
t_unit_test_shm_tidy_SOURCES = t/unit/test_shm_tidy.c
t_unit_test_shm_tidy_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_shm_tidy_LDADD = libcommon.la $(CMOCKA_LIBS)
endif
