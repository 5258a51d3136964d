#include "preprocess/map_function.h"

#include <dlfcn.h>
#include <string.h>

#include "util/quote.h"

static const char *own_object = "";

void map_function_object(const char *path)
{
    own_object = path;
}

static int load_failed(const char *path, struct error *err)
{
    const char *why = dlerror();

    return error_set(
        err, RAYTRAIN_ENOTFOUND,
        "cannot load %s\nThe key `library` is the path of a shared object, "
        "which every node can read: cc -shared -fPIC -o maps.so maps.c "
        "-lraytrain",
        why ? why : path);
}

static int function_missing(const char *path, const char *name, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    return error_set(
        err, RAYTRAIN_ENOTFOUND,
        "%s has no function %s: define `int %s(raytrain_batch *batch)`%s, or "
        "name the shared object that has it with library = \"PATH\"",
        *path ? quote(path, quoted) : "this program", name, name,
        *path ? ", and in C++ put extern \"C\" before it"
              : " and link the program with -rdynamic");
}

/* A path has a slash, as the configuration makes it absolute: dlopen() does not search. A
 * shared object that is loaded already is not loaded again. */
int map_function_find(const char *library, const char *name,
                      raytrain_map_func *function, struct error *err)
{
    const char *path = library ? library : own_object;
    void *object, *symbol;

    if (!path)
        return error_set(err, RAYTRAIN_ENOTFOUND,
                         "a command has no functions in C: name the shared object that "
                         "has %s with library = \"PATH\"",
                         name);
    object = dlopen(*path ? path : NULL, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        return load_failed(path, err);
    symbol = dlsym(object, name);
    if (!symbol)
        return function_missing(path, name, err);
    memcpy(function, &symbol, sizeof *function);
    return 0;
}

int map_function_no_python(const char *name, struct error *err)
{
    return error_set(
        err, RAYTRAIN_ENOTSUP,
        "batch_mapper \"%s\": a function in Python needs a worker in Python: "
        "raytrain-run [OPTIONS] -- python3 SCRIPT",
        name);
}
