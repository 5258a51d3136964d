libcommon_a_SOURCES += \
	src/common/protocol/events.c src/common/protocol/events.h \
	src/common/protocol/heartbeats.c src/common/protocol/heartbeats.h \
	src/common/protocol/log_dir.h \
	src/common/protocol/failure.c src/common/protocol/failure.h \
	src/common/protocol/output_wire.c src/common/protocol/output_wire.h \
	src/common/protocol/preemption_notice.c src/common/protocol/preemption_notice.h \
	src/common/protocol/rank_status.c src/common/protocol/rank_status.h \
	src/common/protocol/service_hello.c \
	src/common/protocol/service_wire.c src/common/protocol/service_wire.h \
	src/common/protocol/session_client.c src/common/protocol/session_client.h \
	src/common/protocol/session_wire.c src/common/protocol/session_wire.h \
	src/common/protocol/site_report.h \
	src/common/protocol/worker_env.c src/common/protocol/worker_env.h \
	src/common/protocol/worker_record.c src/common/protocol/worker_record.h

UNIT_TESTS += t/unit/test_service_wire t/unit/test_worker_record
