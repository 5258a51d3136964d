libworker_a_SOURCES += \
	src/worker/xgboost/rabit_tracker.c src/worker/xgboost/rabit_tracker.h \
	src/worker/xgboost/xgboost.c \
	src/worker/xgboost/xgboost_auc.c src/worker/xgboost/xgboost_auc.h \
	src/worker/xgboost/xgboost_booster.c src/worker/xgboost/xgboost_booster.h \
	src/worker/xgboost/xgboost_gaps.c src/worker/xgboost/xgboost_gaps.h \
	src/worker/xgboost/xgboost_group.c src/worker/xgboost/xgboost_group.h \
	src/worker/xgboost/xgboost_library.c src/worker/xgboost/xgboost_library.h \
	src/worker/xgboost/xgboost_matrix.c src/worker/xgboost/xgboost_matrix.h \
	src/worker/xgboost/xgboost_params.c src/worker/xgboost/xgboost_params.h \
	src/worker/xgboost/xgboost_predict.c src/worker/xgboost/xgboost_predict.h \
	src/worker/xgboost/xgboost_text.c src/worker/xgboost/xgboost_text.h

UNIT_TESTS += t/unit/test_rabit_tracker t/unit/test_xgboost \
	t/unit/test_xgboost_header t/unit/test_xgboost_text
