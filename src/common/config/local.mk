libcommon_a_SOURCES += \
	src/common/config/backend_config.c src/common/config/backend_config.h \
	src/common/config/backend_row.c src/common/config/backend_row.h \
	src/common/config/callback_config.c src/common/config/callback_config.h \
	src/common/config/column_numbers.c src/common/config/column_numbers.h \
	src/common/config/checkpoint_config.c src/common/config/checkpoint_config.h \
	src/common/config/config_diff.c src/common/config/config_diff.h \
	src/common/config/config_file.c src/common/config/config_file.h \
	src/common/config/config_key.c src/common/config/config_key.h \
	src/common/config/config_node.c src/common/config/config_node.h \
	src/common/config/config_list.c \
	src/common/config/config_render.c \
	src/common/config/dataset_config.h \
	src/common/config/data_config.c src/common/config/data_config.h \
	src/common/config/data_files.c src/common/config/data_files.h \
	src/common/config/failure_config.c src/common/config/failure_config.h \
	src/common/config/filter_config.c src/common/config/filter_config.h \
	src/common/config/text_options.c src/common/config/text_options.h \
	src/common/config/gbdt_config.c src/common/config/gbdt_config.h \
	src/common/config/option_help.c \
	src/common/config/option_values.h \
	src/common/config/option_table.c src/common/config/option_table.h \
	src/common/config/options.c src/common/config/options.h \
	src/common/config/predict_config.c src/common/config/predict_config.h \
	src/common/config/predict_inputs.c src/common/config/predict_inputs.h \
	src/common/config/preprocessor_config.c src/common/config/preprocessor_config.h \
	src/common/config/preprocessor_keys.c src/common/config/preprocessor_row.h \
	src/common/config/preprocessor_text.c \
	src/common/config/python_script.c src/common/config/python_script.h \
	src/common/config/registry.h \
	src/common/config/rows_config.c src/common/config/rows_config.h \
	src/common/config/run_config.c src/common/config/run_config.h \
	src/common/config/scaling_config.c src/common/config/scaling_config.h \
	src/common/config/serve_config.c src/common/config/serve_config.h \
	src/common/config/site_config.c src/common/config/site_config.h \
	src/common/config/storage_advice.c src/common/config/storage_advice.h \
	src/common/config/submit_options.c src/common/config/submit_options.h \
	src/common/config/sweep.c src/common/config/sweep.h \
	src/common/config/sync_config.c src/common/config/sync_config.h \
	src/common/config/train_config.c src/common/config/train_config.h \
	src/common/config/train_config_merge.c \
	src/common/config/train_config_check.c \
	src/common/config/train_config_impl.h \
	src/common/config/train_func_file.c src/common/config/train_func_file.h

UNIT_TESTS += t/unit/test_config t/unit/test_config_diff t/unit/test_options \
	t/unit/test_run_cfg t/unit/test_train_config t/unit/test_manual t/unit/test_data_files \
	t/unit/test_predict_config
