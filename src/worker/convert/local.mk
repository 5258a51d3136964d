libworker_a_SOURCES += \
	src/worker/convert/conversion.c src/worker/convert/conversion.h \
	src/worker/convert/conversion_key.c src/worker/convert/conversion_key.h \
	src/worker/convert/decompress.c src/worker/convert/decompress.h \
	src/worker/convert/first_index.c src/worker/convert/first_index.h \
	src/worker/convert/json_share.c src/worker/convert/json_share.h \
	src/worker/convert/odd_word.c src/worker/convert/odd_word.h \
	src/worker/convert/part.h \
	src/worker/convert/part_names.h \
	src/worker/convert/part_index.c src/worker/convert/part_index.h \
	src/worker/convert/part_layout.c \
	src/worker/convert/part_read.c \
	src/worker/convert/part_sums.c src/worker/convert/part_sums.h \
	src/worker/convert/part_write.c \
	src/worker/convert/row_place.c src/worker/convert/row_place.h \
	src/worker/convert/spool.c src/worker/convert/spool.h \
	src/worker/convert/text_formats.c src/worker/convert/text_formats.h

UNIT_TESTS += t/unit/test_conversion t/unit/test_text_data
