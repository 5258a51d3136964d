/*
 * backend_config.h - the settings of backends, Ray's BackendConfig. The row of a backend
 * (backend_row.h) names those that it has: all of the present ones are PyTorch's.
 */
#ifndef RAYTRAIN_CONFIG_BACKEND_CONFIG_H
#define RAYTRAIN_CONFIG_BACKEND_CONFIG_H

#include "util/error.h"

struct backend_config {
    /* "gloo", "nccl" or "cpu:gloo,cuda:nccl"; NULL: nccl with GPUs, gloo without. */
    char *backend;
    char *init_method; /* "env", "tcp", or an URL for torch; NULL: "env" */
    int timeout_s;     /* for torch's collectives; default 0: torch's own */
};

struct backend_row;
struct config_table;
extern const struct config_table backend_config_table;

/* Refuse settings that this backend does not have, and an invalid init_method.
 * RAYTRAIN_EINVAL. */
int backend_config_validate(const struct backend_config *cfg,
                            const struct backend_row *backend, struct error *err);

#endif
