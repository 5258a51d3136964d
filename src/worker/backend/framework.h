/*
 * framework.h - what the backends of frameworks have in common. The framework runs in a
 * child of the worker (loop/loop.h), and finds its group through environment variables.
 * The worker itself communicates over MPI, as with the MPI backend: for reports and
 * checkpoints, and to agree on these variables.
 */
#ifndef RAYTRAIN_BACKEND_FRAMEWORK_H
#define RAYTRAIN_BACKEND_FRAMEWORK_H

#include "backend/backend.h"
#include "backend/rendezvous.h"

struct framework {
    struct backend mpi; /* the worker's own communication */
    struct rendezvous rendezvous;
    char **variables; /* of the child: "NAME=VALUE", or "NAME" for one to remove */
    void *server;     /* on rank 0, if the framework needs one */
    void (*server_free)(void *server);
};

/* Functions of backend_ops. on_training_start makes the rendezvous, and calls `fill` on
 * every rank, which appends to f->variables and does not communicate. */
int framework_start(struct backend *b, struct wireup *w, struct error *err);
int framework_training_start(struct backend *b, enum rendezvous_ports ports,
                             int (*fill)(struct framework *f, const struct backend *b,
                                         struct error *err),
                             struct error *err);
int framework_call(const struct backend *b, struct error *err);
int framework_environment(const struct backend *b,
                          int (*set)(void *arg, const char *name, const char *value),
                          void *arg, struct error *err);
void framework_shutdown(struct backend *b, bool clean, bool *exit_now);

/* Append NAME=VALUE unless the user's environment has NAME: the user may choose it. */
int framework_default(char ***variables, struct error *err, const char *name,
                      const char *value);

/* ---- The variables of each framework: pure functions ---- */

struct torch_place {
    const char *address; /* the address of rank 0's node */
    int port;
    const char *interface; /* "": unknown */
    const char *run;       /* the run's name */
    int attempt, max_failures;
    const struct world *world;
    const struct backend_config *config;
    int cpus;         /* of this worker; 0: unknown */
    bool shared_gpus; /* several workers have the same one */
    bool no_gpus;     /* it has asked for none, and there is none that it could open */
};
int torch_variables(const struct torch_place *p, char ***variables, struct error *err);

int tensorflow_variables(const struct seat *seats, int size, int rank,
                         char ***variables, struct error *err);

struct jax_place {
    const struct seat *seats;
    int size, rank;
    int gpus;  /* of this rank; 0: its run has asked for none */
    int devices; /* that this rank could open nevertheless; 0: none, or not known */
};
int jax_variables(const struct jax_place *p, char ***variables, struct error *err);

int xgboost_variables(const struct seat *seats, int size, int rank, char ***variables,
                      struct error *err);

int lightgbm_variables(const struct seat *seats, int size, int rank, char ***variables,
                       struct error *err);

int horovod_variables(const struct rendezvous *r, int rank, char ***variables,
                      struct error *err);

#endif
