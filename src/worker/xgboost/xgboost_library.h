/*
 * xgboost_library.h - the library libxgboost, opened at run time: the functions of its
 * C interface that raytrain calls, under their own names.
 *
 * The prototypes are written here, so that the build does not need XGBoost's header,
 * and starting does not need the library. t/unit/test_xgboost_header compares them with
 * the header of the system.
 */
#ifndef RAYTRAIN_GBDT_XGBOOST_LIBRARY_H
#define RAYTRAIN_GBDT_XGBOOST_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

/* The path of a library to use instead of that of the system. */
#define XGBOOST_LIBRARY_VARIABLE "RAYTRAIN_XGBOOST_LIBRARY"

typedef void (*xgboost_log)(const char *text);

/* X(name, result, parameters), all of them since 1.7. */
#define XGBOOST_FUNCTIONS(X)                                                           \
    X(XGBoostVersion, void, (int *, int *, int *))                                     \
    X(XGBGetLastError, const char *, (void))                                           \
    X(XGBRegisterLogCallback, int, (xgboost_log))                                      \
    X(XGBSetGlobalConfig, int, (const char *))                                         \
    X(XGDMatrixCreateFromDense, int, (const char *, const char *, void **))            \
    X(XGDMatrixCreateFromCSR, int,                                                     \
      (const char *, const char *, const char *, uint64_t, const char *, void **))     \
    X(XGDMatrixSetInfoFromInterface, int, (void *, const char *, const char *))        \
    X(XGDMatrixSetStrFeatureInfo, int,                                                 \
      (void *, const char *, const char **, uint64_t))                                 \
    X(XGDMatrixGetFloatInfo, int, (void *, const char *, uint64_t *, const float **))  \
    X(XGDMatrixGetUIntInfo, int,                                                       \
      (void *, const char *, uint64_t *, const unsigned **))                           \
    X(XGDMatrixFree, int, (void *))                                                    \
    X(XGBoosterCreate, int, (void *const *, uint64_t, void **))                        \
    X(XGBoosterFree, int, (void *))                                                    \
    X(XGBoosterSetParam, int, (void *, const char *, const char *))                    \
    X(XGBoosterSetAttr, int, (void *, const char *, const char *))                     \
    X(XGBoosterGetAttr, int, (void *, const char *, const char **, int *))             \
    X(XGBoosterSetStrFeatureInfo, int,                                                 \
      (void *, const char *, const char **, uint64_t))                                 \
    X(XGBoosterSaveJsonConfig, int, (void *, uint64_t *, const char **))               \
    X(XGBoosterGetNumFeature, int, (void *, uint64_t *))                               \
    X(XGBoosterUpdateOneIter, int, (void *, int, void *))                              \
    X(XGBoosterEvalOneIter, int,                                                       \
      (void *, int, void **, const char **, uint64_t, const char **))                  \
    X(XGBoosterBoostedRounds, int, (void *, int *))                                    \
    X(XGBoosterSlice, int, (void *, int, int, int, void **))                           \
    X(XGBoosterLoadModelFromBuffer, int, (void *, const void *, uint64_t))             \
    X(XGBoosterSaveModelToBuffer, int,                                                 \
      (void *, const char *, uint64_t *, const char **))                               \
    X(XGBoosterFeatureScore, int,                                                      \
      (void *, const char *, uint64_t *, const char ***, uint64_t *,                   \
       const uint64_t **, const float **))                                             \
    X(XGBoosterPredictFromDMatrix, int,                                                \
      (void *, void *, const char *, const uint64_t **, uint64_t *, const float **))   \
    X(XGCommunicatorInit, int, (const char *))                                         \
    X(XGCommunicatorFinalize, int, (void))

/* Since 2.1; NULL in an older library. */
#define XGBOOST_TRACKER_FUNCTIONS(X)                                                   \
    X(XGTrackerCreate, int, (const char *, void **))                                   \
    X(XGTrackerWorkerArgs, int, (void *, const char **))                               \
    X(XGTrackerRun, int, (void *, const char *))                                       \
    X(XGTrackerWaitFor, int, (void *, const char *))                                   \
    X(XGTrackerFree, int, (void *))

#define XGBOOST_MEMBER(name, result, parameters) result(*name) parameters;

struct xgboost_library {
    int major, minor, patch;
    XGBOOST_FUNCTIONS(XGBOOST_MEMBER)
    XGBOOST_TRACKER_FUNCTIONS(XGBOOST_MEMBER)
};

/*
 * Opens the library, once in a process; any thread may call it. NULL on failure:
 * RAYTRAIN_ENOTFOUND if it is not installed, RAYTRAIN_ENOTSUP if it is too old. It is
 * never closed, because OpenMP's threads stay.
 */
const struct xgboost_library *xgboost_library(struct error *err);

/* Sets "what: text" with the library's last error on this thread, cleaned by
 * xgboost_text.h. Returns -1. */
int xgboost_fail(const struct xgboost_library *x, raytrain_status code,
                 const char *what, struct error *err);

#endif
