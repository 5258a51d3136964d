libcommon_a_SOURCES += \
	src/common/site/gpu_facts.c src/common/site/gpu_facts.h \
	src/common/site/nvml.c src/common/site/nvml.h \
	src/common/site/node_facts.c src/common/site/node_facts.h \
	src/common/site/storage_facts.c src/common/site/storage_facts.h \
	src/common/site/storage_owner.c src/common/site/storage_owner.h
