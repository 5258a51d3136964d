/*
 * tensorflow_backend.c - TensorFlow: TF_CONFIG, as
 * tf.distribute.MultiWorkerMirroredStrategy reads it. Every worker is a server, so every
 * rank holds a port until its child listens there.
 */
#include "config.h"

#include <jansson.h>
#include <stdlib.h>

#include "backend/framework.h"
#include "util/argv.h"

/* NULL without memory. */
static json_t *workers_array(const struct seat *seats, int size)
{
    json_t *workers = json_array();
    char text[HOST_PORT_MAX];

    for (int r = 0; workers && r < size; r++) {
        address_host_port(seats[r].address, seats[r].port, text);
        if (json_array_append_new(workers, json_string(text)) < 0) {
            json_decref(workers);
            return NULL;
        }
    }
    return workers;
}

int tensorflow_variables(const struct seat *seats, int size, int rank,
                         char ***variables, struct error *err)
{
    json_t *all =
        json_pack("{s:{s:o}, s:{s:s, s:i}}", "cluster", "worker",
                  workers_array(seats, size), "task", "type", "worker", "index", rank);
    char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;
    int rc = text ? argv_appendf(variables, err, "TF_CONFIG=%s", text)
                  : error_set(err, RAYTRAIN_ENOMEM, "no memory for TF_CONFIG");

    free(text);
    json_decref(all);
    return rc;
}

static int tensorflow_fill(struct framework *f, const struct backend *b,
                           struct error *err)
{
    const struct rendezvous *r = &f->rendezvous;

    return tensorflow_variables(r->seats, r->size, b->world->rank, &f->variables, err);
}

static int tensorflow_training_start(struct backend *b, struct error *err)
{
    return framework_training_start(b, PORT_OF_EACH_RANK, tensorflow_fill, err);
}

const struct backend_ops backend_tensorflow = {
    .on_start = framework_start,
    .on_training_start = tensorflow_training_start,
    .on_call = framework_call,
    .environment = framework_environment,
    .on_shutdown = framework_shutdown,
};
