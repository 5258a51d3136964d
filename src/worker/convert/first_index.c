/*
 * first_index.c - finds out whether LIBSVM files number their features from 0 or 1: it
 * selects the datasets and decompresses their files; text/libsvm.c reads the lines.
 */
#include "convert/first_index.h"

#include <stdlib.h>
#include <string.h>

#include "convert/conversion_key.h"
#include "convert/decompress.h"
#include "convert/json_share.h"
#include "text/libsvm.h"
#include "util/fs.h"

/* COLLECTIVE: the key of a dataset; *key is NULL if it is not LIBSVM text. */
static int key_find(struct comm *all, const struct dataset_config *cfg, json_t **key,
                    struct error *err)
{
    int rc = 0;

    *key = NULL;
    if (all->rank == 0)
        rc = conversion_key_make(cfg, key, err);
    if (*key && strcmp(conversion_key_format(*key), "libsvm") != 0) {
        json_decref(*key);
        *key = NULL;
    }
    rc = comm_agree(all, rc, err);
    return rc == 0 ? json_share(all, key, err) : rc;
}

int first_index_applies(struct comm *all, const struct dataset_config *cfg, bool *is,
                        struct error *err)
{
    json_t *key;
    int rc = key_find(all, cfg, &key, err);

    *is = key != NULL;
    json_decref(key);
    return rc;
}

/* COLLECTIVE */
static int directory_make(struct comm *all, const char *directory, struct error *err)
{
    int rc = 0;

    if (directory && all->rank == 0)
        rc = fs_mkdirs_durable(directory, 0777, err);
    return comm_agree(all, rc, err);
}

/* COLLECTIVE */
static int text_look(struct comm *all, const json_t *key, const char *directory,
                     const struct text_watch *watch, bool *zero, struct error *err)
{
    struct decompressed plain = {.n = 0};
    size_t n = 0;
    struct text_source *sources = conversion_key_sources(key, &n);
    int rc = sources ? 0 : error_no_memory(err);

    for (size_t i = 0; rc == 0 && i < n; i++)
        sources[i].watch = watch;
    rc = comm_agree(all, rc, err);
    if (rc == 0)
        rc = directory_make(all, directory, err);
    if (rc == 0)
        rc = sources_decompress(all, directory, sources, n, &plain, err);
    if (rc == 0)
        rc = libsvm_has_zero(all, sources, n, zero, err);
    decompressed_clear(&plain);
    free(sources);
    return rc;
}

int first_index_find(struct comm *all, const struct dataset_config cfgs[], size_t n,
                     const char *directory, const struct text_watch *watch,
                     enum first_index *found, struct error *err)
{
    bool zero = false;
    int rc = 0;

    for (size_t i = 0; rc == 0 && !zero && i < n; i++) {
        json_t *key;

        rc = key_find(all, &cfgs[i], &key, err);
        if (rc == 0 && key)
            rc = text_look(all, key, directory, watch, &zero, err);
        json_decref(key);
        if (rc < 0)
            error_prefix(err, "dataset \"%s\"", cfgs[i].name);
    }
    *found = zero ? FIRST_INDEX_ZERO : FIRST_INDEX_ONE;
    return rc;
}
