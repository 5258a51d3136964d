libcommon_a_SOURCES += \
	src/common/hdf5/h5.c src/common/hdf5/h5.h \
	src/common/hdf5/h5_facts.c src/common/hdf5/h5_facts.h \
	src/common/hdf5/h5_image.c src/common/hdf5/h5_image.h \
	src/common/hdf5/h5_list.c src/common/hdf5/h5_open.c
