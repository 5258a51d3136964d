libworker_a_SOURCES += \
	src/worker/saving/background.c src/worker/saving/background.h \
	src/worker/saving/save_target.c src/worker/saving/save_target.h \
	src/worker/saving/saving.c src/worker/saving/saving.h \
	src/worker/saving/snapshot.c src/worker/saving/snapshot.h \
	src/worker/saving/tiers.c src/worker/saving/tiers.h \
	src/worker/saving/tiers_impl.h \
	src/worker/saving/tiers_restore.c

UNIT_TESTS += t/unit/test_saving
