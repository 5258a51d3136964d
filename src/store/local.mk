libshared_la_SOURCES += \
	src/store/attempts.c src/store/attempts.h \
	src/store/attempt_config.c src/store/attempt_config.h \
	src/store/h5.c src/store/h5.h \
	src/store/h5_image.c src/store/h5_image.h \
	src/store/name_map.c src/store/name_map.h \
	src/store/slab.c src/store/slab.h src/store/slab_io.c \
	src/store/checkpoint.c src/store/checkpoint.h \
	src/store/checkpoint_impl.h src/store/checkpoint_format.h \
	src/store/checkpoint_plan.c src/store/checkpoint_layout.c \
	src/store/checkpoint_groups.c src/store/checkpoint_name.c src/store/checkpoint_name.h \
	src/store/new_file.c src/store/new_file.h \
	src/store/checkpoint_save.c src/store/checkpoint_extents.c \
	src/store/checkpoint_pieces.c src/store/snapshot.c src/store/snapshot.h \
	src/store/checkpoint_index.c src/store/checkpoint_open.c \
	src/store/checkpoint_get.c src/store/checkpoint_verify.c src/store/checksum.h \
	src/store/checkpoint_manager.c src/store/checkpoint_manager.h \
	src/store/checkpoint_retention.c src/store/checkpoint_aside.c \
	src/store/checkpoint_confirm.c \
	src/store/chunk_walk.c src/store/chunk_walk.h \
	src/store/page_writers.c src/store/page_writers.h \
	src/store/shared_file.c src/store/shared_file.h \
	src/store/node_map.c src/store/node_map.h \
	src/store/node_image.c src/store/node_image.h \
	src/store/image_tier.h src/store/image_impl.h src/store/image_save.c \
	src/store/image_dirs.c \
	src/store/image_survey.c src/store/image_assemble.c src/store/image_publish.c \
	src/store/events.c src/store/events.h \
	src/store/journal.c src/store/journal.h \
	src/store/metrics.h src/store/metrics_impl.h src/store/metrics_log.c \
	src/store/metrics_collect.c src/store/metrics_h5.c \
	src/store/run_dir.c src/store/run_dir.h \
	src/store/run_lock.c src/store/run_lock.h \
	src/store/whereabouts.c src/store/whereabouts.h \
	src/store/worker_record.c src/store/worker_record.h

if HAVE_CMOCKA
THREAD_COMM = t/unit/thread_comm.c t/unit/thread_comm.h
SCRATCH = t/unit/scratch.c t/unit/scratch.h

check_PROGRAMS += t/unit/test_slab
TESTS += t/unit/test_slab
t_unit_test_slab_SOURCES = t/unit/test_slab.c
t_unit_test_slab_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_slab_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_checkpoint
TESTS += t/unit/test_checkpoint
t_unit_test_checkpoint_SOURCES = t/unit/test_checkpoint.c $(THREAD_COMM) $(SCRATCH)
t_unit_test_checkpoint_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_checkpoint_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_checkpoint_large
TESTS += t/unit/test_checkpoint_large
t_unit_test_checkpoint_large_SOURCES = t/unit/test_checkpoint_large.c $(THREAD_COMM) $(SCRATCH)
t_unit_test_checkpoint_large_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_checkpoint_large_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_checkpoint_manager
TESTS += t/unit/test_checkpoint_manager
t_unit_test_checkpoint_manager_SOURCES = t/unit/test_checkpoint_manager.c $(THREAD_COMM) $(SCRATCH)
t_unit_test_checkpoint_manager_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_checkpoint_manager_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_image_tier
TESTS += t/unit/test_image_tier
t_unit_test_image_tier_SOURCES = t/unit/test_image_tier.c $(THREAD_COMM) $(SCRATCH)
t_unit_test_image_tier_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_image_tier_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_shared_file
TESTS += t/unit/test_shared_file
t_unit_test_shared_file_SOURCES = t/unit/test_shared_file.c $(THREAD_COMM) $(SCRATCH)
t_unit_test_shared_file_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_shared_file_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_metrics
TESTS += t/unit/test_metrics
t_unit_test_metrics_SOURCES = t/unit/test_metrics.c $(SCRATCH)
t_unit_test_metrics_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_metrics_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_journal
TESTS += t/unit/test_journal
t_unit_test_journal_SOURCES = t/unit/test_journal.c $(SCRATCH)
t_unit_test_journal_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_journal_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_attempts
TESTS += t/unit/test_attempts
t_unit_test_attempts_SOURCES = t/unit/test_attempts.c $(SCRATCH)
t_unit_test_attempts_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_attempts_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_worker_record
TESTS += t/unit/test_worker_record
t_unit_test_worker_record_SOURCES = t/unit/test_worker_record.c $(SCRATCH)
t_unit_test_worker_record_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_worker_record_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_run_lock
TESTS += t/unit/test_run_lock
t_unit_test_run_lock_SOURCES = t/unit/test_run_lock.c $(SCRATCH)
t_unit_test_run_lock_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_run_lock_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_run_dir
TESTS += t/unit/test_run_dir
t_unit_test_run_dir_SOURCES = t/unit/test_run_dir.c $(SCRATCH)
t_unit_test_run_dir_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_run_dir_LDADD = libshared.la $(CMOCKA_LIBS)
endif

# Makes the files that the tests of raytrain-inspect look at.
check_PROGRAMS += t/check/store_sample
t_check_store_sample_SOURCES = t/check/store_sample.c
t_check_store_sample_LDADD = libshared.la

store_tests = t/2100-inspect.t t/2110-export-diff.t t/2200-hdf5-tools.t
dist_check_SCRIPTS += $(store_tests)
TESTS += $(store_tests)

# The reader's fuzzer; see t/fuzz/local.mk. Files to start from:
#     t/check/store_sample RUN && cp RUN/checkpoint_*.h5 CORPUS
fuzz: t/fuzz/fuzz_checkpoint
EXTRA_DIST += t/fuzz/fuzz_checkpoint.c
CLEANFILES += t/fuzz/fuzz_checkpoint
fuzz_checkpoint_files = t/fuzz/fuzz_checkpoint.c src/store/checkpoint.c \
	src/store/checkpoint_index.c src/store/checkpoint_open.c src/store/checkpoint_get.c \
	src/store/checkpoint_verify.c src/store/checkpoint_extents.c src/store/slab.c src/store/slab_io.c \
	src/store/name_map.c src/wireup/comm.c src/wireup/comm_self.c
t/fuzz/fuzz_checkpoint: $(fuzz_checkpoint_files)
	$(AM_V_CCLD)$(MKDIR_P) t/fuzz && $(FUZZ_CC) $(FUZZ_CFLAGS) $(DEFS) -I. \
		$(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(XXHASH_CFLAGS) -o $@ \
		$(addprefix $(srcdir)/,$(fuzz_checkpoint_files)) \
		$(srcdir)/src/util/*.c $(JANSSON_LIBS) $(XXHASH_LIBS) -lm
