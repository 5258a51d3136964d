libserve_la_SOURCES += \
	src/serve/infer/answer.h \
	src/serve/infer/datatype.c src/serve/infer/datatype.h \
	src/serve/infer/infer.h \
	src/serve/infer/metadata.c

UNIT_TESTS += t/unit/test_infer_metadata
