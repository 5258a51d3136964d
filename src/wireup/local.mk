libshared_la_SOURCES += \
	src/wireup/comm.c src/wireup/comm.h \
	src/wireup/comm_self.c \
	src/wireup/nodes.c src/wireup/nodes.h \
	src/wireup/pmi1.c src/wireup/pmi1.h \
	src/wireup/pmi_bridge.c src/wireup/pmi_bridge.h \
	src/wireup/wireup.c src/wireup/wireup.h \
	src/wireup/pmix_server.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_comm
TESTS += t/unit/test_comm
t_unit_test_comm_SOURCES = t/unit/test_comm.c
t_unit_test_comm_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_comm_LDADD = libshared.la $(CMOCKA_LIBS)
endif
