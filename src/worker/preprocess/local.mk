libworker_a_SOURCES += \
	src/worker/preprocess/batch_mapper.c \
	src/worker/preprocess/categories.c src/worker/preprocess/categories.h \
	src/worker/preprocess/chain.c src/worker/preprocess/chain.h \
	src/worker/preprocess/chain_fit.c src/worker/preprocess/chain_fit.h \
	src/worker/preprocess/chain_file.c src/worker/preprocess/chain_file.h \
	src/worker/preprocess/chain_pack.c src/worker/preprocess/chain_pack.h \
	src/worker/preprocess/chain_share.c src/worker/preprocess/chain_share.h \
	src/worker/preprocess/concatenator.c \
	src/worker/preprocess/discretizer.c \
	src/worker/preprocess/encoder.c \
	src/worker/preprocess/extremes.c src/worker/preprocess/extremes.h \
	src/worker/preprocess/feature_hasher.c \
	src/worker/preprocess/fitted.c src/worker/preprocess/fitted.h \
	src/worker/preprocess/hot_encoder.c \
	src/worker/preprocess/imputer.c \
	src/worker/preprocess/key_index.c src/worker/preprocess/key_index.h \
	src/worker/preprocess/map_batch.c src/worker/preprocess/map_batch.h \
	src/worker/preprocess/map_function.c src/worker/preprocess/map_function.h \
	src/worker/preprocess/moments.c src/worker/preprocess/moments.h \
	src/worker/preprocess/normalizer.c \
	src/worker/preprocess/power_fit.c src/worker/preprocess/power_fit.h \
	src/worker/preprocess/power_transformer.c \
	src/worker/preprocess/preprocessor.h \
	src/worker/preprocess/quantiles.c src/worker/preprocess/quantiles.h \
	src/worker/preprocess/reals.c src/worker/preprocess/reals.h \
	src/worker/preprocess/robust_scaler.c \
	src/worker/preprocess/scaler.c \
	src/worker/preprocess/scaling.c src/worker/preprocess/scaling.h \
	src/worker/preprocess/tally.c src/worker/preprocess/tally.h \
	src/worker/preprocess/tokens.c src/worker/preprocess/tokens.h \
	src/worker/preprocess/transform.c src/worker/preprocess/transform.h \
	src/worker/preprocess/vectorizer.c src/worker/preprocess/vectorizer.h

libtest_a_SOURCES += t/unit/preprocess_table.c t/unit/preprocess_table.h
UNIT_TESTS += t/unit/test_batch_mapper t/unit/test_encoders t/unit/test_preprocess t/unit/test_statistics \
	t/unit/test_vectorizers
EXTRA_DIST += t/preprocess/expected.h t/preprocess/make-expected.py
# Its functions are found as those of a user's program are.
t_unit_test_batch_mapper_LDFLAGS = $(AM_LDFLAGS) -rdynamic
