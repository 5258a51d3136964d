libworker_la_SOURCES += \
	src/backend/backend.h
