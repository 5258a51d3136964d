libshared_la_SOURCES += \
	src/wireup/comm.c src/wireup/comm.h \
	src/wireup/comm_self.c \
	src/wireup/nodes.c src/wireup/nodes.h \
	src/wireup/pmi1.c src/wireup/pmi1.h \
	src/wireup/env_scope.c src/wireup/env_scope.h \
	src/wireup/shm_tidy.c src/wireup/shm_tidy.h \
	src/wireup/pmi_bridge.c src/wireup/pmi_bridge.h \
	src/wireup/wireup.c src/wireup/wireup.h

libshared_la_SOURCES += src/wireup/pmix_server.c src/wireup/pmix_server.h \
	src/wireup/pmix_host.c src/wireup/pmix_host.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_comm
TESTS += t/unit/test_comm
t_unit_test_comm_SOURCES = t/unit/test_comm.c
t_unit_test_comm_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_comm_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_pmix_server t/check/pmix_client
TESTS += t/unit/test_pmix_server
t_unit_test_pmix_server_SOURCES = t/unit/test_pmix_server.c
t_unit_test_pmix_server_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_pmix_server_LDADD = libshared.la $(CMOCKA_LIBS)
t_check_pmix_client_SOURCES = t/check/pmix_client.c
t_check_pmix_client_LDADD = $(PMIX_LIBS)

check_PROGRAMS += t/unit/test_shm_tidy
TESTS += t/unit/test_shm_tidy
t_unit_test_shm_tidy_SOURCES = t/unit/test_shm_tidy.c
t_unit_test_shm_tidy_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_shm_tidy_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_nodes
TESTS += t/unit/test_nodes
t_unit_test_nodes_SOURCES = t/unit/test_nodes.c
t_unit_test_nodes_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_nodes_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_pmi
TESTS += t/unit/test_pmi
t_unit_test_pmi_SOURCES = t/unit/test_pmi.c
t_unit_test_pmi_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_pmi_LDADD = libshared.la $(CMOCKA_LIBS)
endif
