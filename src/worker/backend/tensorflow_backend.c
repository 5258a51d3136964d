/*
 * tensorflow_backend.c - TensorFlow: TF_CONFIG, as
 * tf.distribute.MultiWorkerMirroredStrategy reads it. Every worker is a server, so
 * every rank holds a port until its child listens there.
 */
#include "config.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "backend/framework.h"
#include "util/argv.h"

/* The longest string, with its NUL, that Linux allows in an environment. */
#define VARIABLE_MAX ((size_t)128 * 1024)

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
    int rc;

    if (!text)
        rc = error_set(err, RAYTRAIN_ENOMEM, "no memory for TF_CONFIG");
    else if (strlen("TF_CONFIG=") + strlen(text) >= VARIABLE_MAX)
        rc =
            error_set(err, RAYTRAIN_ENOTSUP,
                      "TF_CONFIG, with the addresses of all %d workers, is longer than "
                      "the %zu KiB that Linux allows for a variable; start fewer "
                      "workers, with more GPUs each",
                      size, VARIABLE_MAX / 1024);
    else
        rc = argv_appendf(variables, err, "TF_CONFIG=%s", text);
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
