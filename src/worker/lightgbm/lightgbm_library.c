/*
 * lightgbm_library.c - finds liblightgbm.so, and looks up its functions.
 */
#include "config.h"

#include "lightgbm/lightgbm_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/quote.h"

#define VARIABLE  "RAYTRAIN_LIGHTGBM_LIBRARY"
#define FILE_NAME "lib_lightgbm.so"
#define HOW_TO_GET                                                                     \
    "Build it with scripts/install-lightgbm of raytrain's source, or set " VARIABLE    \
    " to the path of a " FILE_NAME " (the Python module has one)"

static struct lightgbm library;
static bool loaded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Open it in lib/raytrain beside libexec/raytrain, so that an installed tree can be
 * moved; or beside bin, since the worker may be a program of the user. */
static void *beside_open(void)
{
    static const int ups[] = {3, 2};
    char self[PATH_MAX], path[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    void *object = NULL;

    for (size_t i = 0; n > 0 && !object && i < sizeof ups / sizeof ups[0]; i++) {
        self[n] = '\0';
        snprintf(path, sizeof path, "%s", self);
        for (int up = 0; up < ups[i]; up++) {
            char *slash = strrchr(path, '/');

            if (slash)
                *slash = '\0';
        }
        snprintf(path + strlen(path), sizeof path - strlen(path),
                 "/lib/raytrain/" FILE_NAME);
        if (access(path, R_OK) == 0)
            object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return object;
}

static void *liblightgbm_open(struct error *err)
{
    const char *named = getenv(VARIABLE);
    void *object;

    if (named && *named) {
        object = dlopen(named, RTLD_NOW | RTLD_LOCAL);
        if (!object)
            error_set(err, RAYTRAIN_ENOTFOUND,
                      "cannot load LightGBM from " VARIABLE ": %s\n" HOW_TO_GET,
                      dlerror());
        return object;
    }
    object = beside_open();
    if (!object)
        object = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        error_set(err, RAYTRAIN_ENOTFOUND,
                  "the trainer lightgbm needs LightGBM's library, which was not found: "
                  "%s\n" HOW_TO_GET,
                  dlerror());
    return object;
}

static int symbol_find(void *object, const char *name, void *pointer, struct error *err)
{
    void *symbol = dlsym(object, name);

    if (!symbol)
        return error_set(
            err, RAYTRAIN_ENOTFOUND,
            "the library of LightGBM is too old, or is not LightGBM: %s\n" HOW_TO_GET,
            dlerror());
    memcpy(pointer, &symbol, sizeof symbol);
    return 0;
}

#define FIND(name, arguments)                                                          \
    if (symbol_find(object, "LGBM_" #name, &library.name, err) < 0)                    \
        return -1;

static int liblightgbm_load(struct error *err)
{
    void *object = liblightgbm_open(err);

    if (!object)
        return -1;
    LIGHTGBM_FUNCTIONS(FIND)
    return symbol_find(object, "LGBM_GetLastError", &library.GetLastError, err);
}

const struct lightgbm *lightgbm_library(struct error *err)
{
    const struct lightgbm *found;

    pthread_mutex_lock(&lock);
    if (!loaded)
        loaded = liblightgbm_load(err) == 0;
    found = loaded ? &library : NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

int lightgbm_fail(const struct lightgbm *l, raytrain_status code, const char *what,
                  struct error *err)
{
    return error_set(err, code, "LightGBM %s: %s", what, l->GetLastError());
}
