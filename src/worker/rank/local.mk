libworker_a_SOURCES += \
	src/worker/rank/collective_wait.c src/worker/rank/collective_wait.h \
	src/worker/rank/event.c src/worker/rank/event.h \
	src/worker/rank/failure_record.c src/worker/rank/failure_record.h \
	src/worker/rank/gpu_share.c src/worker/rank/gpu_share.h \
	src/worker/rank/gpu_watch.c src/worker/rank/gpu_watch.h \
	src/worker/rank/heartbeat.c src/worker/rank/heartbeat.h \
	src/worker/rank/own_words.c src/worker/rank/own_words.h \
	src/worker/rank/own_signals.c src/worker/rank/own_signals.h \
	src/worker/rank/process_guard.c src/worker/rank/process_guard.h \
	src/worker/rank/stack_trace.c src/worker/rank/stack_trace.h \
	src/worker/rank/stop.c src/worker/rank/stop.h

UNIT_TESTS += t/unit/test_failure_record t/unit/test_gpu_share t/unit/test_heartbeat
