libshared_la_SOURCES += \
	src/config/scaling_config.h src/config/run_config.h src/config/failure_config.h \
	src/config/checkpoint_config.h src/config/sync_config.h src/config/data_config.h \
	src/config/train_config.h src/config/options.h src/config/worker_env.h
