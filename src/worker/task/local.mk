libworker_a_SOURCES += \
	src/worker/task/task.c src/worker/task/task.h \
	src/worker/task/task_group.c src/worker/task/task_group.h \
	src/worker/task/task_orders.c src/worker/task/task_orders.h \
	src/worker/task/task_worker.c src/worker/task/task_worker.h \
	src/worker/task/worker_variables.c src/worker/task/worker_variables.h

UNIT_TESTS += t/unit/test_task
