/* map_function.c - see map_function.h. In order: what may be called; objects;
 * functions.
 *
 *  */
#include "preprocess/map_function.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fs.h"
#include "util/quote.h"
#include "util/run_record.h"

static const char *own_object = "";

void map_function_object(const char *path)
{
    own_object = path;
}

/* ---- What may be called ---- */

struct permit {
    struct permit *next;
    enum map_origin origin;
    void *object; /* for MAP_OF_CHECKPOINT, when it is loaded */
    char *library, *name;
};

static struct permit *permits; /* until the process ends */

static bool same_text_or_none(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static struct permit *permit_find(const char *library, const char *name)
{
    struct permit *p = permits;

    while (p && (!same_text_or_none(p->library, library) || strcmp(p->name, name) != 0))
        p = p->next;
    return p;
}

int map_function_allow(const char *library, const char *name, enum map_origin origin,
                       struct error *err)
{
    struct permit *p = permit_find(library, name);

    if (p) {
        if (origin == MAP_OF_USER)
            p->origin = origin;
        return 0;
    }
    p = calloc(1, sizeof *p);
    if (p) {
        p->origin = origin;
        p->library = library ? strdup(library) : NULL;
        p->name = strdup(name);
    }
    if (!p || !p->name || (library && !p->library)) {
        if (p) {
            free(p->library);
            free(p->name);
        }
        free(p);
        return error_no_memory(err);
    }
    p->next = permits;
    permits = p;
    return 0;
}

static int not_allowed(const char *library, const char *name, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    return error_set(err, RAYTRAIN_EINVAL,
                     "the function %s of %s is not loaded: only a checkpoint names it, "
                     "and its code would run as you\nIf you trust it, allow it: "
                     "--allow-code",
                     name, quote(library, quoted));
}

/* ---- Objects ---- */

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

/* The dynamic linker names the file by its descriptor: name it by its path instead. */
static int received_load_failed(const char *path, struct error *err)
{
    const char *why = dlerror(), *colon = why ? strstr(why, ": ") : NULL;
    char quoted[QUOTE_TEXT_MAX];

    return error_set(err, RAYTRAIN_ENOTFOUND, "cannot load %s: %s", quote(path, quoted),
                     colon && strncmp(why, "/proc/", 6) == 0 ? colon + 2
                     : why                                   ? why
                                                             : "it cannot be read");
}

static int received_open(const char *path, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    char quoted[QUOTE_TEXT_MAX];
    struct stat st;
    int rc = 0;

    if (fd < 0 && errno == ELOOP)
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s, which only a checkpoint names, is a link, and links are "
                         "not followed for it; put a copy of the file there",
                         quote(path, quoted));
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? error_set(err, RAYTRAIN_ENOTFOUND,
                               "there is no file %s, which only a checkpoint names",
                               quote(path, quoted))
                   : fs_error(err, "open", path);
    if (fstat(fd, &st) < 0)
        rc = fs_error(err, "look at", path);
    else if (!S_ISREG(st.st_mode))
        rc = error_set(err, RAYTRAIN_EINVAL, "%s is not a shared object",
                       quote(path, quoted));
    else
        rc = record_check_owner(fd, path, err);
    if (rc == 0)
        return fd;
    close(fd);
    return -1;
}

/* Load through the descriptor that was checked. It stays open: the linker would take a
 * later file with the same number for this one. */
static void *received_load(struct permit *p, struct error *err)
{
    char path[64];
    int fd;

    for (struct permit *o = permits; o && !p->object; o = o->next)
        if (o->origin == MAP_OF_CHECKPOINT && same_text_or_none(o->library, p->library))
            p->object = o->object;
    if (p->object)
        return p->object;
    fd = received_open(p->library, err);
    if (fd < 0)
        return NULL;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    p->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!p->object) {
        received_load_failed(p->library, err);
        close(fd);
    }
    return p->object;
}

/* The configuration makes paths absolute, so dlopen() does not search. It does not load
 * an object a second time. */
static void *plain_load(const char *path, struct error *err)
{
    void *object = dlopen(*path ? path : NULL, RTLD_NOW | RTLD_LOCAL);

    if (!object)
        load_failed(path, err);
    return object;
}

/* ---- Functions ---- */

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

/* dlsym() also finds the functions of the libraries that an object is linked with. */
static bool is_defined_in(void *object, const void *symbol)
{
    struct link_map *map = NULL;
    void *found = NULL;
    Dl_info info;

    return dlinfo(object, RTLD_DI_LINKMAP, &map) == 0 &&
           dladdr1(symbol, &info, &found, RTLD_DL_LINKMAP) != 0 && found == map;
}

int map_function_find(const char *library, const char *name,
                      raytrain_map_func *function, struct error *err)
{
    struct permit *permit = permit_find(library, name);
    const char *path = library ? library : own_object;
    void *object, *symbol;

    if (!path)
        return error_set(err, RAYTRAIN_ENOTFOUND,
                         "a command has no functions in C: name the shared object that "
                         "has %s with library = \"PATH\"",
                         name);
    if (library && !permit)
        return not_allowed(library, name, err);
    object = library && permit->origin == MAP_OF_CHECKPOINT ? received_load(permit, err)
                                                            : plain_load(path, err);
    if (!object)
        return -1;
    symbol = dlsym(object, name);
    if (!symbol || (!permit && !is_defined_in(object, symbol)))
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
