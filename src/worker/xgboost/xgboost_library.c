/* xgboost_library.c - finds libxgboost.so, and looks up its functions. */
#include "config.h"

#include "xgboost/xgboost_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "xgboost/xgboost_text.h"

static const char *const system_names[] = {"libxgboost.so.0", "libxgboost.so"};

struct function {
    const char *name;
    size_t offset; /* of the pointer in struct xgboost_library */
    bool needed;
};

#define NEEDED(name, result, parameters)                                               \
    {#name, offsetof(struct xgboost_library, name), true},
#define NEWER(name, result, parameters)                                                \
    {#name, offsetof(struct xgboost_library, name), false},

static const struct function functions[] = {XGBOOST_FUNCTIONS(NEEDED)
                                                XGBOOST_TRACKER_FUNCTIONS(NEWER)};

#define N_FUNCTIONS (sizeof functions / sizeof functions[0])

static void *library_find(const char **name, struct error *err)
{
    const char *path = getenv(XGBOOST_LIBRARY_VARIABLE);
    void *handle = NULL;

    if (path && *path) {
        *name = path;
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!handle)
            error_set(err, RAYTRAIN_ENOTFOUND,
                      XGBOOST_LIBRARY_VARIABLE ": cannot open this library: %s",
                      dlerror());
        return handle;
    }
    for (size_t i = 0; !handle && i < sizeof system_names / sizeof *system_names; i++) {
        *name = system_names[i];
        handle = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
    }
    if (!handle)
        error_set(err, RAYTRAIN_ENOTFOUND,
                  "trainer xgboost: the library XGBoost is not installed on this node "
                  "(%s); install the package libxgboost-dev or libxgboost0, or "
                  "set " XGBOOST_LIBRARY_VARIABLE
                  " to the libxgboost.so of a Python package xgboost",
                  dlerror());
    return handle;
}

static int library_fill(void *handle, const char *name, struct xgboost_library *x,
                        struct error *err)
{
    const char *missing = NULL;

    for (size_t i = 0; i < N_FUNCTIONS; i++) {
        void *symbol = dlsym(handle, functions[i].name);

        memcpy((char *)x + functions[i].offset, &symbol, sizeof symbol);
        if (!symbol && functions[i].needed && !missing)
            missing = functions[i].name;
    }
    if (x->XGBoostVersion)
        x->XGBoostVersion(&x->major, &x->minor, &x->patch);
    if (!missing)
        return 0;
    return error_set(err, RAYTRAIN_ENOTSUP,
                     "trainer xgboost: %s is XGBoost %d.%d.%d, which has no function "
                     "%s; raytrain needs 1.7 or later",
                     name, x->major, x->minor, x->patch, missing);
}

const struct xgboost_library *xgboost_library(struct error *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct xgboost_library library;
    static bool opened;
    const char *name;
    void *handle;
    bool ok;

    pthread_mutex_lock(&lock);
    if (!opened) {
        handle = library_find(&name, err);
        if (handle && library_fill(handle, name, &library, err) == 0)
            opened = true;
        else if (handle)
            dlclose(handle);
    }
    ok = opened;
    pthread_mutex_unlock(&lock);
    return ok ? &library : NULL;
}

int xgboost_fail(const struct xgboost_library *x, raytrain_status code,
                 const char *what, struct error *err)
{
    char text[ERROR_TEXT_MAX / 2];

    xgboost_text_clean(x->XGBGetLastError(), text, sizeof text);
    return error_set(err, code, "%s: %s", what, text);
}
