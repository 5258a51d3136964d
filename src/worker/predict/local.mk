libworker_a_SOURCES += \
	src/worker/predict/assembly.c src/worker/predict/assembly.h \
	src/worker/predict/file_predictor.c src/worker/predict/file_predictor.h \
	src/worker/predict/predict_plan.c src/worker/predict/predict_plan.h \
	src/worker/predict/predict_record.c src/worker/predict/predict_record.h \
	src/worker/predict/predicted.c src/worker/predict/predicted.h \
	src/worker/predict/predicted_csv.c src/worker/predict/predicted_hdf5.c \
	src/worker/predict/predicted_npy.c \
	src/worker/predict/predictor.c src/worker/predict/predictor.h \
	src/worker/predict/output_part.c src/worker/predict/output_part.h \
	src/worker/predict/staged.c src/worker/predict/staged.h

UNIT_TESTS += t/unit/test_predict
