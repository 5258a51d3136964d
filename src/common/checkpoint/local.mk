libcommon_a_SOURCES += \
	src/common/checkpoint/attachments.c src/common/checkpoint/attachments.h \
	src/common/checkpoint/by_parts.c src/common/checkpoint/by_parts.h \
	src/common/checkpoint/checkpoint.c src/common/checkpoint/checkpoint.h \
	src/common/checkpoint/checkpoint_hdf5.c src/common/checkpoint/checkpoint_hdf5.h \
	src/common/checkpoint/checkpoint_impl.h \
	src/common/checkpoint/checksum.h \
	src/common/checkpoint/chunks.c src/common/checkpoint/chunks.h \
	src/common/checkpoint/entries.c \
	src/common/checkpoint/file_faults.c \
	src/common/checkpoint/file_format.h \
	src/common/checkpoint/foreign.c \
	src/common/checkpoint/foreign_list.c src/common/checkpoint/foreign_list.h \
	src/common/checkpoint/get.c \
	src/common/checkpoint/index.c src/common/checkpoint/index.h \
	src/common/checkpoint/index_share.c src/common/checkpoint/index_share.h \
	src/common/checkpoint/layout.c src/common/checkpoint/layout.h \
	src/common/checkpoint/name_map.c src/common/checkpoint/name_map.h \
	src/common/checkpoint/new_file.c src/common/checkpoint/new_file.h \
	src/common/checkpoint/rank_contents.c src/common/checkpoint/rank_contents.h \
	src/common/checkpoint/open.c \
	src/common/checkpoint/part_reader.c src/common/checkpoint/part_reader.h \
	src/common/checkpoint/plan.c src/common/checkpoint/plan.h \
	src/common/checkpoint/plan_share.c src/common/checkpoint/plan_share.h \
	src/common/checkpoint/save.c src/common/checkpoint/save.h \
	src/common/checkpoint/save_layout.c src/common/checkpoint/save_layout.h \
	src/common/checkpoint/shared_file.c src/common/checkpoint/shared_file.h \
	src/common/checkpoint/slab.c src/common/checkpoint/slab.h \
	src/common/checkpoint/slab_io.c src/common/checkpoint/slab_io.h \
	src/common/checkpoint/stripes.c src/common/checkpoint/stripes.h \
	src/common/checkpoint/verify.c src/common/checkpoint/verify.h

UNIT_TESTS += t/unit/test_slab t/unit/test_checkpoint t/unit/test_checkpoint_large \
	t/unit/test_attachments t/unit/test_foreign t/unit/test_foreign_damage \
	t/unit/test_by_parts t/unit/test_shared_file t/unit/test_stripes t/unit/test_save_layout \
	t/unit/test_plan_share t/unit/test_index_share t/unit/test_part_reader

store_tests = t/2100-inspect.t t/2110-export-diff.t t/2120-inspect-data.t t/2130-plot.t \
	t/2140-compare.t t/2150-follow.t t/2160-directory.t t/2200-hdf5-tools.t
dist_check_SCRIPTS += $(store_tests)
TESTS += $(store_tests)

# The reader's fuzzer; see t/fuzz/local.mk. Files to start from:
#     t/check/store_sample RUN && cp RUN/checkpoint_*.h5 CORPUS
fuzz: t/fuzz/fuzz_checkpoint
EXTRA_DIST += t/fuzz/fuzz_checkpoint.c
CLEANFILES += t/fuzz/fuzz_checkpoint
fuzz_checkpoint_files = t/fuzz/fuzz_checkpoint.c src/common/checkpoint/checkpoint.c \
	src/common/checkpoint/attachments.c src/common/checkpoint/by_parts.c \
	src/common/checkpoint/index.c src/common/checkpoint/index_share.c \
	src/common/checkpoint/open.c src/common/checkpoint/verify.c \
	src/common/checkpoint/get.c src/common/checkpoint/slab.c \
	src/common/checkpoint/slab_io.c src/common/checkpoint/name_map.c \
	src/common/checkpoint/chunks.c src/common/checkpoint/part_reader.c \
	src/common/checkpoint/entries.c src/common/checkpoint/file_faults.c \
	src/common/comm/comm.c src/common/comm/comm_self.c
t/fuzz/fuzz_checkpoint: $(fuzz_checkpoint_files)
	$(AM_V_CCLD)$(MKDIR_P) t/fuzz && $(FUZZ_CC) $(FUZZ_CFLAGS) $(DEFS) -I. \
		$(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(XXHASH_CFLAGS) -o $@ \
		$(addprefix $(srcdir)/,$(fuzz_checkpoint_files)) \
		$(srcdir)/src/common/util/*.c $(JANSSON_LIBS) $(XXHASH_LIBS) -lm
