/*
 * device_standin.h - the stand-ins for the libraries of GPUs (t/device), for unit tests. They
 * have calls of the driver, which a test makes as the user's own program would, and
 * calls that only the stand-in has.
 */
#ifndef RAYTRAIN_TEST_DEVICE_STANDIN_H
#define RAYTRAIN_TEST_DEVICE_STANDIN_H

#include <stddef.h>
#include <stdint.h>

/* That for NVIDIA's driver, after standin_load(). */
extern struct device_standin {
    int (*primary_retain)(void **context, int device), (*primary_release)(int device);
    int (*set_current)(void *context), (*get_current)(void **context);
    int (*mem_alloc)(uint64_t *p, size_t n), (*mem_free)(uint64_t p);
    int (*stream_create)(void **stream, unsigned int flags);
    int (*stream_destroy)(void *stream), (*synchronize)(void *stream);
    int (*begin_capture)(void *stream, int mode), (*end_capture)(void *, void **graph);
    /* Run a function in the order of the stream. */
    int (*launch)(void *stream, void (*run)(void *), void *arg);
    int (*count)(void);        /* of what is held: memory, contexts, streams */
    void *(*inside)(uint64_t); /* the bytes of memory of a GPU */
    int (*fault)(void *stream);
    void (*reset)(int device);
} standin;

/* Load it, so that the library is found by its name. A set-up of cmocka. */
int standin_load(void **state);

/* Load the stand-in t/device/NAME; find a function of it. Both fail the test. */
void *standin_open(const char *name);
void standin_find(void *object, const char *symbol, void *place);

#endif
