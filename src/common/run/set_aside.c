/*
 * set_aside.c - a damaged checkpoint is renamed, so that no run starts from it
 * again, and none of it is lost: it is still there to find out what happened, or to
 * save single tensors.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "run/checkpoint_manager.h"
#include "util/fs.h"

#define DAMAGED     ".damaged"
#define ASIDE_TRIES 1000

/* The n-th name to try: NAME.damaged, NAME.damaged.2, ... */
static char *aside_name(const char *path, int n)
{
    char *name;
    int rc = n == 1 ? asprintf(&name, "%s" DAMAGED, path)
                    : asprintf(&name, "%s" DAMAGED ".%d", path, n);

    return rc < 0 ? NULL : name;
}

int checkpoint_set_aside(const char *path, char **aside, struct error *err)
{
    for (int n = 1; n <= ASIDE_TRIES; n++) {
        char *name = aside_name(path, n);

        if (!name)
            return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
        if (fs_rename_new(path, name) == 0) {
            *aside = name;
            return fs_sync_parent(path, err);
        }
        free(name);
        if (errno != EEXIST)
            break;
    }
    *aside = NULL;
    return fs_error(err, "set aside the damaged checkpoint", path);
}
