libserve_a_SOURCES += \
	src/serve/service/model_version.c src/serve/service/model_version.h \
	src/serve/service/rows_request.c src/serve/service/rows_request.h \
	src/serve/service/rows_batch.c src/serve/service/rows_batch.h \
	src/serve/service/service.c src/serve/service/service.h \
	src/serve/service/service_counts.c src/serve/service/service_counts.h \
	src/serve/service/service_base.c \
	src/serve/service/service_impl.h \
	src/serve/service/service_loop.c \
	src/serve/service/service_workers.c \
	src/serve/service/worker_link.c src/serve/service/worker_link.h

UNIT_TESTS += t/unit/test_service
