/* device_standin.c - loads a stand-in, and finds its functions. */
#include "device_standin.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct device_standin standin;

void *standin_open(const char *name)
{
    const char *build = getenv("top_builddir");
    char path[4096];
    void *object;

    snprintf(path, sizeof path, "%s/t/device/%s", build ? build : ".", name);
    object = dlopen(path, RTLD_NOW);
    if (!object)
        fail_msg("%s", dlerror());
    return object;
}

void standin_find(void *object, const char *symbol, void *place)
{
    void *found = dlsym(object, symbol);

    assert_non_null(found);
    memcpy(place, &found, sizeof found);
}

int standin_load(void **state)
{
    void *object = standin_open("libcuda.so.1");

    (void)state;
    standin_find(object, "cuDevicePrimaryCtxRetain", &standin.primary_retain);
    standin_find(object, "cuDevicePrimaryCtxRelease_v2", &standin.primary_release);
    standin_find(object, "cuCtxSetCurrent", &standin.set_current);
    standin_find(object, "cuCtxGetCurrent", &standin.get_current);
    standin_find(object, "cuMemAlloc_v2", &standin.mem_alloc);
    standin_find(object, "cuMemFree_v2", &standin.mem_free);
    standin_find(object, "cuStreamCreate", &standin.stream_create);
    standin_find(object, "cuStreamDestroy_v2", &standin.stream_destroy);
    standin_find(object, "cuStreamSynchronize", &standin.synchronize);
    standin_find(object, "cuStreamBeginCapture_v2", &standin.begin_capture);
    standin_find(object, "cuStreamEndCapture", &standin.end_capture);
    standin_find(object, "standin_launch", &standin.launch);
    standin_find(object, "standin_count", &standin.count);
    standin_find(object, "standin_inside", &standin.inside);
    standin_find(object, "standin_fault", &standin.fault);
    standin_find(object, "standin_reset", &standin.reset);
    return 0;
}
