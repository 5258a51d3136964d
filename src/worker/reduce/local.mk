libworker_a_SOURCES += \
	src/worker/reduce/device_group.c src/worker/reduce/device_group.h \
	src/worker/reduce/collective_tensors.c \
	src/worker/reduce/gradients.c src/worker/reduce/gradients.h \
	src/worker/reduce/reducer.c \
	src/worker/reduce/reducer_impl.h \
	src/worker/reduce/reducer_group.c \
	src/worker/reduce/reducer_host.c \
	src/worker/reduce/reducer_plan.c \
	src/worker/reduce/reducer_parts.c \
	src/worker/reduce/reducer_staged.c \
	src/worker/reduce/bucket_parts.c src/worker/reduce/bucket_parts.h

UNIT_TESTS += t/unit/test_reducer t/unit/test_reducer_device t/unit/test_bucket_parts
EXTRA_t_unit_test_reducer_device_DEPENDENCIES = t/device/libcuda.so.1
