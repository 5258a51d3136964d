libworker_la_SOURCES += \
	src/worker/wireup/env_scope.c src/worker/wireup/env_scope.h \
	src/worker/wireup/pmi1.c src/worker/wireup/pmi1.h \
	src/worker/wireup/pmi_bridge.c src/worker/wireup/pmi_bridge.h \
	src/worker/wireup/process_mapping.c src/worker/wireup/process_mapping.h \
	src/worker/wireup/wireup.c src/worker/wireup/wireup.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_nodes
TESTS += t/unit/test_nodes
t_unit_test_nodes_SOURCES = t/unit/test_nodes.c
t_unit_test_nodes_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_nodes_LDADD = libworker.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_pmi
TESTS += t/unit/test_pmi
t_unit_test_pmi_SOURCES = t/unit/test_pmi.c
t_unit_test_pmi_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_pmi_LDADD = libworker.la $(CMOCKA_LIBS)
endif
