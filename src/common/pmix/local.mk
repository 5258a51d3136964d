# Programs that use this room link with $(PMIX_LIBS).
libcommon_a_SOURCES += \
	src/common/pmix/group_file.c src/common/pmix/group_file.h \
	src/common/pmix/message.c src/common/pmix/message.h \
	src/common/pmix/namespace.c src/common/pmix/namespace.h \
	src/common/pmix/pmix_host.c src/common/pmix/pmix_host.h \
	src/common/pmix/server_process.c src/common/pmix/server_process.h

UNIT_TESTS += t/unit/test_pmix_namespace
