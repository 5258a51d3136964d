/*
 * lightgbm_library.h - the functions of LightGBM's C interface that raytrain calls,
 * found at run time. Debian has no package of the library; scripts/install-lightgbm
 * builds it.
 */
#ifndef RAYTRAIN_GBDT_LIGHTGBM_LIBRARY_H
#define RAYTRAIN_GBDT_LIGHTGBM_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* LightGBM's numbers for types of numbers, outputs of a prediction, kinds of
 * importance. */
enum { LIGHTGBM_FLOAT32, LIGHTGBM_FLOAT64, LIGHTGBM_INT32, LIGHTGBM_INT64 };
enum { LIGHTGBM_NORMAL, LIGHTGBM_RAW, LIGHTGBM_LEAF, LIGHTGBM_CONTRIB };
enum { LIGHTGBM_SPLITS, LIGHTGBM_GAIN };

/* A reduction: adds the n_bytes of `input`, elements of `size` bytes, to `output`. */
typedef void (*lightgbm_reducer)(const char *input, char *output, int size,
                                 int32_t n_bytes);

typedef void *lightgbm_dataset;
typedef void *lightgbm_booster;

/* X(name, arguments): LGBM_<name> returns 0, or -1; lightgbm_fail() takes the
 * reason. */
#define LIGHTGBM_FUNCTIONS(X)                                                          \
    X(RegisterLogCallback, (void (*callback)(const char *)))                           \
    X(NetworkInitWithFunctions,                                                        \
      (int members, int rank, void *reduce_scatter, void *allgather))                  \
    X(NetworkFree, (void))                                                             \
    X(GetSampleCount, (int32_t rows, const char *params, int *out))                    \
    X(SampleIndices, (int32_t rows, const char *params, void *out, int32_t *n))        \
    X(DatasetCreateFromSampledColumn,                                                  \
      (double **values, int **indices, int32_t columns, const int *n,                  \
       int32_t sample_rows, int32_t rows, int64_t all_rows, const char *params,        \
       lightgbm_dataset *out))                                                         \
    X(DatasetCreateByReference,                                                        \
      (const lightgbm_dataset reference, int64_t rows, lightgbm_dataset *out))         \
    X(DatasetPushRows, (lightgbm_dataset set, const void *values, int type,            \
                        int32_t rows, int32_t columns, int32_t first))                 \
    X(DatasetPushRowsByCSR,                                                            \
      (lightgbm_dataset set, const void *offsets, int offset_type,                     \
       const int32_t *indices, const void *values, int type, int64_t n_offsets,        \
       int64_t n_values, int64_t columns, int64_t first))                              \
    X(DatasetSetField,                                                                 \
      (lightgbm_dataset set, const char *field, const void *data, int n, int type))    \
    X(DatasetGetField,                                                                 \
      (lightgbm_dataset set, const char *field, int *n, const void **data, int *type)) \
    X(DatasetSetFeatureNames, (lightgbm_dataset set, const char **names, int n))       \
    X(DatasetFree, (lightgbm_dataset set))                                             \
    X(BoosterCreate,                                                                   \
      (const lightgbm_dataset train, const char *params, lightgbm_booster *out))       \
    X(BoosterLoadModelFromString,                                                      \
      (const char *model, int *rounds, lightgbm_booster *out))                         \
    X(BoosterFree, (lightgbm_booster booster))                                         \
    X(BoosterMerge, (lightgbm_booster booster, lightgbm_booster other))                \
    X(BoosterAddValidData, (lightgbm_booster booster, const lightgbm_dataset set))     \
    X(BoosterGetNumClasses, (lightgbm_booster booster, int *n))                        \
    X(BoosterGetNumFeature, (lightgbm_booster booster, int *n))                        \
    X(BoosterNumModelPerIteration, (lightgbm_booster booster, int *n))                 \
    X(BoosterNumberOfTotalModel, (lightgbm_booster booster, int *n))                   \
    X(BoosterUpdateOneIter, (lightgbm_booster booster, int *finished))                 \
    X(BoosterGetEvalCounts, (lightgbm_booster booster, int *n))                        \
    X(BoosterGetEvalNames, (lightgbm_booster booster, int n, int *n_out, size_t size,  \
                            size_t *size_out, char **names))                           \
    X(BoosterGetEval, (lightgbm_booster booster, int set, int *n, double *values))     \
    X(BoosterGetNumPredict, (lightgbm_booster booster, int set, int64_t *n))           \
    X(BoosterGetPredict,                                                               \
      (lightgbm_booster booster, int set, int64_t *n, double *values))                 \
    X(BoosterCalcNumPredict, (lightgbm_booster booster, int rows, int output,          \
                              int first_round, int rounds, int64_t *n))                \
    X(BoosterPredictForMat,                                                            \
      (lightgbm_booster booster, const void *values, int type, int32_t rows,           \
       int32_t columns, int row_major, int output, int first_round, int rounds,        \
       const char *params, int64_t *n, double *out))                                   \
    X(BoosterPredictForCSR,                                                            \
      (lightgbm_booster booster, const void *offsets, int offset_type,                 \
       const int32_t *indices, const void *values, int type, int64_t n_offsets,        \
       int64_t n_values, int64_t columns, int output, int first_round, int rounds,     \
       const char *params, int64_t *n, double *out))                                   \
    X(BoosterSaveModelToString,                                                        \
      (lightgbm_booster booster, int first_round, int rounds, int importance,          \
       int64_t size, int64_t *size_out, char *out))                                    \
    X(BoosterDumpModel, (lightgbm_booster booster, int first_round, int rounds,        \
                         int importance, int64_t size, int64_t *size_out, char *out))  \
    X(BoosterFeatureImportance,                                                        \
      (lightgbm_booster booster, int rounds, int importance, double *out))

#define LIGHTGBM_POINTER(name, arguments) int(*name) arguments;
struct lightgbm {
    LIGHTGBM_FUNCTIONS(LIGHTGBM_POINTER)
    const char *(*GetLastError)(void);
};

/*
 * Opens the library: the file that RAYTRAIN_LIGHTGBM_LIBRARY names; without it, the one
 * in this installation of raytrain; otherwise the one that the dynamic linker finds. It
 * stays loaded. RAYTRAIN_ENOTFOUND: not found.
 */
const struct lightgbm *lightgbm_library(struct error *err);

/* After a call that failed: sets "WHAT: MESSAGE", with the library's message. Returns
 * -1. */
int lightgbm_fail(const struct lightgbm *l, raytrain_status code, const char *what,
                  struct error *err);

#endif
