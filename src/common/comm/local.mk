libcommon_la_SOURCES += \
	src/common/comm/comm.c src/common/comm/comm.h \
	src/common/comm/comm_self.c \
	src/common/comm/node_map.c src/common/comm/node_map.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_comm
TESTS += t/unit/test_comm
t_unit_test_comm_SOURCES = t/unit/test_comm.c
t_unit_test_comm_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_comm_LDADD = libcommon.la $(CMOCKA_LIBS)
endif
