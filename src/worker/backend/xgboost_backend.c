/*
 * xgboost_backend.c - XGBoost's Python module: the variables of rabit, without a port.
 * The processes find each other through the module's tracker, whose protocol depends on
 * the version: raytrain.xgboost starts it in rank 0's child.
 */
#include "config.h"

#include "backend/framework.h"
#include "util/argv.h"

/* The tracker numbers ranks in the order of DMLC_TASK_ID as a text. */
int xgboost_variables(const struct seat *seats, int size, int rank, char ***variables,
                      struct error *err)
{
    if (argv_appendf(variables, err, "DMLC_TRACKER_URI=%s", seats[0].address) < 0 ||
        argv_appendf(variables, err, "DMLC_NUM_WORKER=%d", size) < 0)
        return -1;
    return argv_appendf(variables, err, "DMLC_TASK_ID=%08d", rank);
}

static int xgboost_fill(struct framework *f, const struct backend *b, struct error *err)
{
    const struct rendezvous *r = &f->rendezvous;

    return xgboost_variables(r->seats, r->size, b->world->rank, &f->variables, err);
}

static int xgboost_training_start(struct backend *b, struct error *err)
{
    return framework_training_start(b, PORT_OF_NONE, xgboost_fill, err);
}

const struct backend_ops backend_xgboost = {
    .on_start = framework_start,
    .on_training_start = xgboost_training_start,
    .on_call = framework_call,
    .environment = framework_environment,
    .on_shutdown = framework_shutdown,
};
