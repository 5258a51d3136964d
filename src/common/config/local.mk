libcommon_la_SOURCES += \
	src/common/config/checkpoint_config.c src/common/config/checkpoint_config.h \
	src/common/config/config_diff.c src/common/config/config_diff.h \
	src/common/config/config_file.c src/common/config/config_file.h \
	src/common/config/config_key.c src/common/config/config_key.h \
	src/common/config/config_node.c src/common/config/config_node.h \
	src/common/config/config_path.c src/common/config/config_path.h \
	src/common/config/config_render.c \
	src/common/config/config_scan.c src/common/config/config_scan.h \
	src/common/config/data_config.c src/common/config/data_config.h \
	src/common/config/failure_config.c src/common/config/failure_config.h \
	src/common/config/options.c src/common/config/options.h \
	src/common/config/run_config.c src/common/config/run_config.h \
	src/common/config/scaling_config.c src/common/config/scaling_config.h \
	src/common/config/sync_config.c src/common/config/sync_config.h \
	src/common/config/train_config.c src/common/config/train_config.h \
	src/common/config/train_func_file.c src/common/config/train_func_file.h

if HAVE_CMOCKA
check_PROGRAMS += t/unit/test_config
TESTS += t/unit/test_config
t_unit_test_config_SOURCES = t/unit/test_config.c
t_unit_test_config_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_config_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_config_diff
TESTS += t/unit/test_config_diff
t_unit_test_config_diff_SOURCES = t/unit/test_config_diff.c
t_unit_test_config_diff_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_config_diff_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_options
TESTS += t/unit/test_options
t_unit_test_options_SOURCES = t/unit/test_options.c
t_unit_test_options_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_options_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_run_cfg
TESTS += t/unit/test_run_cfg
t_unit_test_run_cfg_SOURCES = t/unit/test_run_cfg.c
t_unit_test_run_cfg_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_run_cfg_LDADD = libcommon.la $(CMOCKA_LIBS)

check_PROGRAMS += t/unit/test_manual
TESTS += t/unit/test_manual
t_unit_test_manual_SOURCES = t/unit/test_manual.c
t_unit_test_manual_CFLAGS = $(UNIT_CFLAGS)
t_unit_test_manual_LDADD = libcommon.la $(CMOCKA_LIBS)
endif
