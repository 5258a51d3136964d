libworker_a_SOURCES += \
	src/worker/gbdt/area_under_curve.c src/worker/gbdt/area_under_curve.h \
	src/worker/gbdt/booster.c src/worker/gbdt/booster.h \
	src/worker/gbdt/columns.c src/worker/gbdt/columns.h \
	src/worker/gbdt/early_stopping.c src/worker/gbdt/early_stopping.h \
	src/worker/gbdt/feature_rows.c src/worker/gbdt/feature_rows.h \
	src/worker/gbdt/gbdt_loop.c \
	src/worker/gbdt/gbdt_predict.c src/worker/gbdt/gbdt_predict.h \
	src/worker/gbdt/model_record.c src/worker/gbdt/model_record.h \
	src/worker/gbdt/queries.c src/worker/gbdt/queries.h \
	src/worker/gbdt/gbdt_rows.c src/worker/gbdt/gbdt_rows.h \
	src/worker/gbdt/rows_job.h \
	src/worker/gbdt/rows_load.c src/worker/gbdt/rows_load.h

UNIT_TESTS += t/unit/test_area_under_curve t/unit/test_early_stopping \
	t/unit/test_feature_rows t/unit/test_gbdt_rows
