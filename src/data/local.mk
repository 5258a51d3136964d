libworker_la_SOURCES += \
	src/data/dataset.h src/data/reader.h
