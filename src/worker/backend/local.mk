libworker_a_SOURCES += \
	src/worker/backend/accelerators.c src/worker/backend/accelerators.h \
	src/worker/backend/address.c src/worker/backend/address.h \
	src/worker/backend/backend.c src/worker/backend/backend.h \
	src/worker/backend/framework.c src/worker/backend/framework.h \
	src/worker/backend/gpu_lists.c src/worker/backend/gpu_lists.h \
	src/worker/backend/greeting.c src/worker/backend/greeting.h \
	src/worker/backend/horovod_backend.c \
	src/worker/backend/http_store.c src/worker/backend/http_store.h \
	src/worker/backend/jax_backend.c \
	src/worker/backend/lightgbm_backend.c \
	src/worker/backend/mpi_backend.c src/worker/backend/mpi_backend.h \
	src/worker/backend/mpi_program.c src/worker/backend/mpi_program.h \
	src/worker/backend/node_exchange.c src/worker/backend/node_exchange.h \
	src/worker/backend/rendezvous.c src/worker/backend/rendezvous.h \
	src/worker/backend/tensorflow_backend.c \
	src/worker/backend/torch_backend.c \
	src/worker/backend/xgboost_backend.c

UNIT_TESTS += t/unit/test_node_exchange t/unit/test_rendezvous t/unit/test_framework
