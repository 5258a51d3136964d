libcommon_la_SOURCES += \
	src/common/replica/image_assemble.c \
	src/common/replica/image_dirs.c \
	src/common/replica/image_impl.h \
	src/common/replica/image_publish.c \
	src/common/replica/image_save.c \
	src/common/replica/image_survey.c \
	src/common/replica/image_tier.h \
	src/common/replica/node_image.c src/common/replica/node_image.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_image_tier
TESTS += t/unit/test_image_tier
t_unit_test_image_tier_SOURCES = t/unit/test_image_tier.c $(THREAD_COMM) $(SCRATCH)
t_unit_test_image_tier_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_image_tier_LDADD = libcommon.la $(CMOCKA_LIBS)
endif
