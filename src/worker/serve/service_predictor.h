/*
 * service_predictor.h - the predictor of a worker of a service: it receives batches
 * over a socket from the service, and sends the predictions back
 * (protocol/service_wire.h).
 *
 * It answers with FAILED if rows cannot be used, or if the predict function has not put
 * all outputs of a batch, and waits for the next batch. When the service closes the
 * connection, there are no more batches. A request to stop ends it only before it has
 * connected: batch systems signal workers together with their service, which has
 * requests to answer first. While it is connected, a thread sends signs of life
 * (life_signs.h).
 *
 * The first batch is filled up to the size in HELLO, by repeating its rows, since the
 * first batch of a predict function is never smaller than another one. The service does
 * not send larger batches.
 *
 * Each rank is a separate worker of the service; calls are not COLLECTIVE.
 */
#ifndef RAYTRAIN_SERVE_SERVICE_PREDICTOR_H
#define RAYTRAIN_SERVE_SERVICE_PREDICTOR_H

#include "config/predict_config.h"
#include "predict/predictor.h"
#include "serve/serve_inputs.h"

/* All of it outlives the predictor. */
struct service_predictor_env {
    const struct predict_config *config;
    const struct chain *chain; /* fitted preprocessors for the rows; NULL: none */
    const char *checkpoint;    /* NULL: none */
    int64_t iteration;         /* of the checkpoint */
    bool (*stops)(void *arg);  /* true if a stop was requested */
    /* Called when this rank makes progress: before each batch, and every sign_ms while
     * it waits for one; -1: only before it. */
    void (*goes_on)(void *arg);
    int sign_ms;
    /* True unless the process that predicts is stopped. Another thread calls it. */
    bool (*lives)(void *arg);
    void *arg;
};

/* Takes the inputs, which become empty, also on failure. The first next connects the
 * socket, when the outputs are known. */
int service_predictor_create(const struct service_predictor_env *env,
                             struct serve_inputs *inputs, raytrain_predictor **out,
                             struct error *err);

#endif
