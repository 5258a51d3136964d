libshared_la_SOURCES += \
	src/config/config_node.c src/config/config_node.h \
	src/config/config_scan.c src/config/config_scan.h \
	src/config/config_file.c src/config/config_file.h \
	src/config/config_key.c src/config/config_key.h src/config/config_render.c \
	src/config/config_diff.c src/config/config_diff.h \
	src/config/config_path.c src/config/config_path.h \
	src/config/scaling_config.c src/config/scaling_config.h \
	src/config/run_config.c src/config/run_config.h \
	src/config/failure_config.c src/config/failure_config.h \
	src/config/checkpoint_config.c src/config/checkpoint_config.h \
	src/config/sync_config.c src/config/sync_config.h \
	src/config/data_config.c src/config/data_config.h \
	src/config/train_func.c src/config/train_func.h \
	src/config/train_config.c src/config/train_config.h \
	src/config/options.c src/config/options.h \
	src/config/worker_env.c src/config/worker_env.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_config
TESTS += t/unit/test_config
t_unit_test_config_SOURCES = t/unit/test_config.c
t_unit_test_config_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_config_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_config_diff
TESTS += t/unit/test_config_diff
t_unit_test_config_diff_SOURCES = t/unit/test_config_diff.c
t_unit_test_config_diff_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_config_diff_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_options
TESTS += t/unit/test_options
t_unit_test_options_SOURCES = t/unit/test_options.c
t_unit_test_options_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_options_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_run_cfg
TESTS += t/unit/test_run_cfg
t_unit_test_run_cfg_SOURCES = t/unit/test_run_cfg.c
t_unit_test_run_cfg_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_run_cfg_LDADD = libshared.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_manual
TESTS += t/unit/test_manual
t_unit_test_manual_SOURCES = t/unit/test_manual.c
t_unit_test_manual_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_manual_LDADD = libshared.la $(CMOCKA_LIBS)
endif
