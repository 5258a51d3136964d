libserve_a_SOURCES += \
	src/serve/life/follower.c src/serve/life/follower.h \
	src/serve/life/life.c src/serve/life/life.h \
	src/serve/life/life_options.h \
	src/serve/life/live_model.c src/serve/life/live_model.h \
	src/serve/life/models_dir.c src/serve/life/models_dir.h

UNIT_TESTS += t/unit/test_models_dir
