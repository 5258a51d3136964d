libshared_la_SOURCES += \
	src/store/run_dir.h src/store/checkpoint.h src/store/checkpoint_manager.h \
	src/store/metrics.h
