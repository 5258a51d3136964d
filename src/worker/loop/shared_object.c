/*
 * shared_object.c - the loop that calls `train_func`, or `predict_func`, of a shared
 * object.
 */
#include "loop/loop.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/fs.h"
#include "util/quote.h"

/* Advice for errors that the user can correct, recognised by the dynamic linker's
 * message. */
static int load_failed(const char *path, struct error *err)
{
    const char *why = dlerror();

    if (!why)
        why = path;
    if (strstr(why, "undefined symbol"))
        return error_set(err, RAYTRAIN_ENOTFOUND,
                         "cannot load %s\nLink it with the library that defines this "
                         "symbol (raytrain's own: -lraytrain)",
                         why);
    if (strstr(why, "cannot open shared object file"))
        return error_set(err, RAYTRAIN_ENOTFOUND,
                         "cannot load %s: a library that it needs is missing: %s\n"
                         "Set LD_LIBRARY_PATH to that library's directory, or link the "
                         "training function with -Wl,-rpath,DIRECTORY",
                         path, why);
    return error_set(err, RAYTRAIN_EINVAL,
                     "cannot load %s\nA training function is a shared object: "
                     "cc -shared -fPIC -o train.so train.c -lraytrain",
                     why);
}

static int fail_symbol(const char *path, bool predicts, struct error *err)
{
    char name[QUOTE_TEXT_MAX];

    return error_set(err, RAYTRAIN_ENOTFOUND,
                     predicts
                         ? "%s has no predict function: define `int predict_func("
                           "raytrain_context *ctx, raytrain_predictor *p)`, and in "
                           "C++ put extern \"C\" before it"
                         : "%s has no training function: define `int "
                           "train_func(raytrain_context *ctx)`, and in C++ put "
                           "extern \"C\" before it",
                     quote(path, name));
}

/*
 * The object stays loaded until the process ends, since what it has registered
 * (threads, handlers) may be called until then. RAYTRAIN_ENOTFOUND: the file, a library
 * that it needs, or the function is missing; RAYTRAIN_EINVAL: it is not a shared
 * object.
 */
static int shared_object_open(struct loop *loop, struct error *err)
{
    const char *path = loop->source.path;
    char name[QUOTE_TEXT_MAX];
    struct stat st;
    char *absolute;
    void *object, *symbol;

    if (stat(path, &st) < 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return error_set(err, RAYTRAIN_ENOTFOUND,
                             "there is no training function %s on this node: is the "
                             "directory shared between the nodes?",
                             quote(path, name));
        return fs_error(err, "read", path);
    }
    if (!S_ISREG(st.st_mode))
        return error_set(err, RAYTRAIN_EINVAL, "%s is not a shared object",
                         quote(path, name));
    /* Without a slash, dlopen would search the library path. */
    absolute = realpath(path, NULL);
    if (!absolute)
        return fs_error(err, "resolve", path);
    object = dlopen(absolute, RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        load_failed(absolute, err);
        free(absolute);
        return -1;
    }
    free(absolute);
    symbol = dlsym(object, loop->source.predicts ? "predict_func" : "train_func");
    if (!symbol) {
        dlclose(object);
        return fail_symbol(path, loop->source.predicts, err);
    }
    if (loop->source.predicts)
        memcpy(&loop->predict_func, &symbol, sizeof loop->predict_func);
    else
        memcpy(&loop->func, &symbol, sizeof loop->func);
    return 0;
}

const struct loop_ops loop_shared_object = {
    .open = shared_object_open,
    .run = loop_run_func,
};
