libworker_a_SOURCES += \
	src/worker/device/devices.c src/worker/device/devices.h \
	src/worker/device/copies.c src/worker/device/copies.h src/worker/device/copy_pieces.h \
	src/worker/device/cuda.c \
	src/worker/device/device.c src/worker/device/device.h \
	src/worker/device/feed.c src/worker/device/feed.h \
	src/worker/device/group.c src/worker/device/group.h \
	src/worker/device/group_create.c src/worker/device/group_impl.h \
	src/worker/device/group_join.c src/worker/device/group_watch.c \
	src/worker/device/hint.c src/worker/device/hip.c \
	src/worker/device/nccl.c src/worker/device/nccl.h \
	src/worker/device/parts_plan.c src/worker/device/parts_plan.h \
	src/worker/device/stream.c src/worker/device/stream.h \
	src/worker/device/vendor.h

UNIT_TESTS += t/unit/test_device t/unit/test_device_copies t/unit/test_device_hip t/unit/test_group \
	t/unit/test_parts_plan
EXTRA_t_unit_test_device_DEPENDENCIES = t/device/libcuda.so.1
EXTRA_t_unit_test_device_copies_DEPENDENCIES = t/device/libcuda.so.1
EXTRA_t_unit_test_device_hip_DEPENDENCIES = t/device/libamdhip64.so.6
EXTRA_t_unit_test_group_DEPENDENCIES = t/device/libcuda.so.1 t/device/libnccl.so.2 \
	t/device/empty/libnccl.so.2
