libcommon_a_SOURCES += \
	src/common/run/attempt_config.c src/common/run/attempt_config.h \
	src/common/run/attempts.c src/common/run/attempts.h \
	src/common/run/checkpoint_manager.c src/common/run/checkpoint_manager.h \
	src/common/run/extracted.c src/common/run/extracted.h \
	src/common/run/journal.c src/common/run/journal.h \
	src/common/run/report_follow.c src/common/run/report_follow.h \
	src/common/run/report_tail.c src/common/run/report_tail.h \
	src/common/run/logged_report.c src/common/run/logged_report.h \
	src/common/run/metrics.c src/common/run/metrics.h \
	src/common/run/metrics_collector.c src/common/run/metrics_collector.h \
	src/common/run/metrics_h5.c \
	src/common/run/metrics_lines.c src/common/run/metrics_lines.h \
	src/common/run/metrics_table.c src/common/run/metrics_table.h \
	src/common/run/report_scan.c src/common/run/report_scan.h \
	src/common/run/run_dir.c src/common/run/run_dir.h \
	src/common/run/run_lock.c src/common/run/run_lock.h \
	src/common/run/run_pulse.c src/common/run/run_pulse.h \
	src/common/run/run_start.c src/common/run/run_start.h \
	src/common/run/predicted_parts.c src/common/run/predicted_parts.h

UNIT_TESTS += t/unit/test_checkpoint_manager t/unit/test_metrics t/unit/test_journal \
	t/unit/test_attempts t/unit/test_run_lock t/unit/test_run_pulse t/unit/test_run_dir \
	t/unit/test_report_scan t/unit/test_report_follow
