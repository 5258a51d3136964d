/*
 * service_predictor.h - the predictor of a worker of a service: batches come over a
 * socket from the service, and the predictions go back (protocol/service_wire.h).
 *
 * Rows that cannot be used, and a batch whose outputs the predict function has not all
 * put, are answered with FAILED, and the next batch is awaited. The predict function
 * hears of the end when the service closes the connection. A request to stop ends it
 * only until it has connected: batch systems signal workers together with their
 * service, which has requests to answer first. While it is connected, a thread gives
 * signs of life (life_signs.h).
 *
 * The first batch is filled up to the size that HELLO has, by repeating its rows, since
 * the first batch of a predict function is never smaller than another one. The service
 * sends no batches that are larger.
 *
 * Each rank is a worker of the service of its own; no call is COLLECTIVE.
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
    int64_t iteration;         /* of it */
    bool (*stops)(void *arg);  /* was a stop asked for? */
    /* This rank makes progress: before each batch, and while it waits for one, every
     * sign_ms; -1: only before it. */
    void (*goes_on)(void *arg);
    int sign_ms;
    /* Is what predicts not stopped? By another thread. */
    bool (*lives)(void *arg);
    void *arg;
};

/* Takes the inputs, which become empty, also on failure. The socket is connected at the
 * first next, when the outputs are known. */
int service_predictor_create(const struct service_predictor_env *env,
                             struct serve_inputs *inputs, raytrain_predictor **out,
                             struct error *err);

#endif
