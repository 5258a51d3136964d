libcommon_a_SOURCES += \
	src/common/comm/comm.c src/common/comm/comm.h \
	src/common/comm/comm_self.c \
	src/common/comm/node_map.c src/common/comm/node_map.h

UNIT_TESTS += t/unit/test_comm
