libcommon_a_SOURCES += \
	src/common/replica/image_copy.c \
	src/common/replica/image_write.c \
	src/common/replica/image_survey.c src/common/replica/image_survey.h \
	src/common/replica/image_tier.h \
	src/common/replica/node_image.c src/common/replica/node_image.h

UNIT_TESTS += t/unit/test_image_tier
