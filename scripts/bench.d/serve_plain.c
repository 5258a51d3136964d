/*
 * serve_plain.c - the network of the quick start, 784-512-512-10, called by a handler of
 * libmicrohttpd in the same thread, without anything between them: the numbers after
 * "data" in the body are pixels, and the answer has ten probabilities and a class, as JSON.
 *
 *     serve_plain PORT
 */
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mlp.h"

#define PIXELS   784
#define CLASSES  10
#define BODY_MAX 65536

static struct mlp network;

struct request {
    size_t n;
    char body[BODY_MAX];
};

static int pixels_read(const struct request *q, uint8_t pixels[PIXELS])
{
    const char *at = strstr(q->body, "\"data\"");

    at = at ? strchr(at, '[') : NULL;
    for (int i = 0; at && i < PIXELS; i++) {
        char *end;
        long value = strtol(at + 1, &end, 10);

        if (value < 0 || value > 255 || (*end != ',' && *end != ']'))
            return -1;
        pixels[i] = (uint8_t)value;
        at = end;
    }
    return at ? 0 : -1;
}

static char *predict(const uint8_t pixels[PIXELS])
{
    char *text = malloc(1024);
    float probability[CLASSES];
    uint8_t class;
    int n;

    if (!text)
        return NULL;
    mlp_load_pixels(&network, pixels, 1);
    mlp_forward(&network, 1);
    mlp_classify(&network, 1, probability, &class);
    n = sprintf(text, "{\"class\": %d, \"probability\": [", class);
    for (int i = 0; i < CLASSES; i++)
        n += sprintf(text + n, "%s%.9g", i ? "," : "", probability[i]);
    strcpy(text + n, "]}");
    return text;
}

static enum MHD_Result answer(struct MHD_Connection *connection, struct request *q)
{
    uint8_t pixels[PIXELS];
    char *text = NULL;
    struct MHD_Response *r;
    enum MHD_Result rc;

    q->body[q->n] = '\0';
    if (pixels_read(q, pixels) < 0 || !(text = predict(pixels)))
        return MHD_NO;
    r = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    MHD_add_response_header(r, "Content-Type", "application/json");
    rc = MHD_queue_response(connection, 200, r);
    MHD_destroy_response(r);
    return rc;
}

static enum MHD_Result turn(void *arg, struct MHD_Connection *connection,
                            const char *url, const char *method, const char *version,
                            const char *upload, size_t *n, void **state)
{
    struct request *q = *state;

    (void)arg, (void)url, (void)method, (void)version;
    if (!q) {
        *state = q = malloc(sizeof *q);
        if (!q)
            return MHD_NO;
        q->n = 0;
        return MHD_YES;
    }
    if (*n == 0)
        return answer(connection, q);
    if (*n >= BODY_MAX - q->n)
        return MHD_NO;
    memcpy(q->body + q->n, upload, *n);
    q->n += *n;
    *n = 0;
    return MHD_YES;
}

static void end(void *arg, struct MHD_Connection *connection, void **state,
                enum MHD_RequestTerminationCode why)
{
    (void)arg, (void)connection, (void)why;
    free(*state);
}

int main(int argc, char *argv[])
{
    const int widths[] = {PIXELS, 512, 512, CLASSES};
    struct MHD_Daemon *daemon;

    if (argc != 2 || mlp_create(&network, widths, 3, 1) < 0)
        return 1;
    network.params = malloc(network.n_params * sizeof(float));
    if (!network.params)
        return 1;
    for (size_t i = 0; i < network.n_params; i++)
        network.params[i] = 0.1 * (rand() / (double)RAND_MAX - 0.5);
    daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, (uint16_t)atoi(argv[1]),
                              NULL, NULL, turn, NULL, MHD_OPTION_NOTIFY_COMPLETED, end,
                              NULL, MHD_OPTION_END);
    if (!daemon)
        return 1;
    pause(); /* until a signal ends it */
    MHD_stop_daemon(daemon);
    return 0;
}
