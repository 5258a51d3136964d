libcommon_a_SOURCES += \
	src/common/util/api_names.c src/common/util/api_names.h \
	src/common/util/argv.c src/common/util/argv.h \
	src/common/util/array.c src/common/util/array.h \
	src/common/util/async_text.c src/common/util/async_text.h \
	src/common/util/child.c src/common/util/child.h \
	src/common/util/clock.c src/common/util/clock.h \
	src/common/util/command_output.c src/common/util/command_output.h \
	src/common/util/csv_field.c src/common/util/csv_field.h \
	src/common/util/descriptors.c src/common/util/descriptors.h \
	src/common/util/error.c src/common/util/error.h \
	src/common/util/fault.c src/common/util/fault.h \
	src/common/util/fs.c src/common/util/fs.h \
	src/common/util/fs_advice.c src/common/util/fs_advice.h \
	src/common/util/half.c src/common/util/half.h \
	src/common/util/installed.c src/common/util/installed.h \
	src/common/util/hostlist.c src/common/util/hostlist.h \
	src/common/util/json_writer.c src/common/util/json_writer.h \
	src/common/util/report_number.c src/common/util/report_number.h \
	src/common/util/long_option.c src/common/util/long_option.h \
	src/common/util/memory.c src/common/util/memory.h \
	src/common/util/memory_file.c src/common/util/memory_file.h \
	src/common/util/name_index.c src/common/util/name_index.h \
	src/common/util/missing_text.c src/common/util/missing_text.h \
	src/common/util/number.c src/common/util/number.h \
	src/common/util/number_text.c src/common/util/number_text.h \
	src/common/util/oom.c src/common/util/oom.h \
	src/common/util/private_dir.c src/common/util/private_dir.h \
	src/common/util/process.c src/common/util/process.h \
	src/common/util/process_mark.c src/common/util/process_mark.h \
	src/common/util/other_words.c src/common/util/other_words.h \
	src/common/util/path_search.c src/common/util/path_search.h \
	src/common/util/quote.c src/common/util/quote.h \
	src/common/util/rank_choice.c src/common/util/rank_choice.h \
	src/common/util/rank_list.c src/common/util/rank_list.h \
	src/common/util/secret.c src/common/util/secret.h \
	src/common/util/run_record.c src/common/util/run_record.h \
	src/common/util/shm_tidy.c src/common/util/shm_tidy.h \
	src/common/util/size.c src/common/util/size.h \
	src/common/util/sparkline.c src/common/util/sparkline.h \
	src/common/util/suggest.c src/common/util/suggest.h \
	src/common/util/tcp_peer.c src/common/util/tcp_peer.h \
	src/common/util/tensor.c src/common/util/tensor.h \
	src/common/util/thread.c src/common/util/thread.h \
	src/common/util/time_limit.c src/common/util/time_limit.h

UNIT_TESTS += t/unit/test_array t/unit/test_memory t/unit/test_error t/unit/test_clock \
	t/unit/test_dtype t/unit/test_fs t/unit/test_json_text t/unit/test_json_writer \
	t/unit/test_words t/unit/test_argv t/unit/test_half t/unit/test_hostlist t/unit/test_number t/unit/test_shm_tidy \
	t/unit/test_child t/unit/test_name_index t/unit/test_oom t/unit/test_process_mark \
	t/unit/test_sparkline t/unit/test_tcp_peer t/unit/test_thread
