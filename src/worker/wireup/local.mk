libworker_a_SOURCES += \
	src/worker/wireup/child_server.c src/worker/wireup/child_server.h \
	src/worker/wireup/env_scope.c src/worker/wireup/env_scope.h \
	src/worker/wireup/node_channel.c src/worker/wireup/node_channel.h \
	src/worker/wireup/node_dir.c src/worker/wireup/node_dir.h \
	src/worker/wireup/pmix_facts.c src/worker/wireup/pmix_facts.h \
	src/worker/wireup/pmi1.c src/worker/wireup/pmi1.h \
	src/worker/wireup/pmi_bridge.c src/worker/wireup/pmi_bridge.h \
	src/worker/wireup/process_mapping.c src/worker/wireup/process_mapping.h \
	src/worker/wireup/rounds.c src/worker/wireup/rounds.h \
	src/worker/wireup/sharing.c src/worker/wireup/sharing.h \
	src/worker/wireup/shm_room.c src/worker/wireup/shm_room.h \
	src/worker/wireup/wireup.c src/worker/wireup/wireup.h \
	src/worker/wireup/wireup_impl.h \
	src/worker/wireup/bridges.c \
	src/worker/wireup/byte_exchange.c \
	src/worker/wireup/children.c \
	src/worker/wireup/pmix_client.c \
	src/worker/wireup/world.c

UNIT_TESTS += t/unit/test_nodes t/unit/test_pmi
