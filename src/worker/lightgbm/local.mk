libworker_a_SOURCES += \
	src/worker/lightgbm/lightgbm.c \
	src/worker/lightgbm/lightgbm_data.c \
	src/worker/lightgbm/lightgbm_library.c src/worker/lightgbm/lightgbm_library.h \
	src/worker/lightgbm/lightgbm_metrics.c src/worker/lightgbm/lightgbm_metrics.h \
	src/worker/lightgbm/lightgbm_model.c \
	src/worker/lightgbm/lightgbm_names.c src/worker/lightgbm/lightgbm_names.h \
	src/worker/lightgbm/lightgbm_network.c src/worker/lightgbm/lightgbm_network.h \
	src/worker/lightgbm/lightgbm_params.c src/worker/lightgbm/lightgbm_params.h \
	src/worker/lightgbm/lightgbm_sample.c src/worker/lightgbm/lightgbm_sample.h \
	src/worker/lightgbm/lightgbm_state.h

UNIT_TESTS += t/unit/test_lightgbm

libtest_a_SOURCES += t/unit/lightgbm_job.c t/unit/lightgbm_job.h
