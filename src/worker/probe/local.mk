libworker_a_SOURCES += \
	src/worker/probe/device_trial.c src/worker/probe/device_trial.h \
	src/worker/probe/link_speed.c src/worker/probe/link_speed.h \
	src/worker/probe/rank_facts.c src/worker/probe/rank_facts.h \
	src/worker/probe/shared_storage.c src/worker/probe/shared_storage.h \
	src/worker/probe/probe.c src/worker/probe/probe.h

UNIT_TESTS += t/unit/test_shared_storage t/unit/test_device_trial
EXTRA_t_unit_test_device_trial_DEPENDENCIES = t/device/libcuda.so.1
