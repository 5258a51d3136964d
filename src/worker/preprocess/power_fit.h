/*
 * power_fit.h - the power transforms of Yeo and Johnson and of Box and Cox, and a
 * search for the power of greatest likelihood, which makes values most like a normal
 * distribution.
 */
#ifndef RAYTRAIN_PREPROCESS_POWER_FIT_H
#define RAYTRAIN_PREPROCESS_POWER_FIT_H

#include "comm/comm.h"
#include "config/preprocessor_config.h"
#include "frame/frame.h"

/* NaN for a missing value, and with Box-Cox for one that is not positive. */
double power_transform(enum power_method method, double power, double x);

/* A search for each element of the rows of a column, in several passes. */
struct power_fit {
    enum power_method method;
    size_t width;
    struct power_search *searches;
};

int power_fit_create(struct power_fit *f, enum power_method method, size_t width,
                     struct error *err);
void power_fit_free(struct power_fit *f); /* zeroed is fine */
/* RAYTRAIN_EINVAL if a value for Box-Cox is not positive. */
int power_fit_add(struct power_fit *f, const struct frame_column *c, uint64_t rows,
                  struct error *err);
/* COLLECTIVE: ends a pass; *again: another pass is needed. */
int power_fit_reduce(struct power_fit *f, struct comm *comm, bool *again,
                     struct error *err);
/* The power; 1 if all values are the same, or there are none. */
double power_fit_get(const struct power_fit *f, size_t element);

#endif
