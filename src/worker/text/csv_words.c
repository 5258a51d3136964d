/*
 * csv_words.c - gathers the words of all ranks, sorts them, and gives each rank the new
 * codes.
 */
#include "text/csv_words.h"

#include <stdlib.h>

/* On rank 0: merge the words of all ranks, sort them, and make bytes of them. */
static int words_sorted(int ranks, const unsigned char *gathered, const size_t sizes[],
                        unsigned char **bytes, size_t *n, struct error *err)
{
    struct dictionary *d = dictionary_create();
    int rc = d ? 0 : error_no_memory(err);

    for (int r = 0; r < ranks && rc == 0; r++) {
        rc = dictionary_unpack(d, gathered, sizes[r], NULL, err);
        gathered += sizes[r];
    }
    if (rc == 0)
        rc = dictionary_sort(d, NULL, err);
    if (rc == 0)
        rc = dictionary_pack(d, bytes, n, err);
    dictionary_destroy(d);
    return rc;
}

/* COLLECTIVE: *bytes, malloc'ed, are the bytes that words_sorted() makes. */
static int words_exchange(struct comm *comm, const unsigned char *own, size_t n_own,
                          unsigned char **bytes, size_t *n, struct error *err)
{
    size_t *sizes = calloc((size_t)comm->size, sizeof *sizes);
    int rc = comm_agree(comm, sizes ? 0 : error_no_memory(err), err);
    void *gathered = NULL, *result = NULL;

    if (rc == 0)
        rc = comm->ops->gatherv(comm, own, n_own, &gathered, sizes, 0, err);
    if (rc == 0) {
        if (comm->rank == 0)
            rc = words_sorted(comm->size, gathered, sizes, bytes, n, err);
        rc = comm_agree(comm, rc, err);
    }
    free(gathered);
    free(sizes);
    if (rc < 0 || comm->ops->bcast(comm, n, sizeof *n, 0, err) < 0)
        return -1;
    result = *bytes;
    rc = comm_bcast_alloc(comm, &result, *n, 0, err);
    *bytes = result;
    return rc;
}

static int codes_find(const struct dictionary *own, const struct dictionary *all,
                      int32_t **codes, struct error *err)
{
    size_t count = dictionary_count(own), n;

    *codes = malloc((count + 1) * sizeof **codes);
    if (!*codes)
        return error_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const char *word = dictionary_word(own, i, &n);

        (*codes)[i] = dictionary_find(all, word, n);
    }
    return 0;
}

/* A single rank has all words already. */
static int sort_own(struct dictionary **own, struct dictionary **all, int32_t **codes,
                    struct error *err)
{
    *codes = malloc((dictionary_count(*own) + 1) * sizeof **codes);
    if (!*codes)
        return error_no_memory(err);
    if (dictionary_sort(*own, *codes, err) < 0) {
        free(*codes);
        *codes = NULL;
        return -1;
    }
    *all = *own;
    *own = NULL;
    return 0;
}

static int merge(struct comm *comm, const struct dictionary *own,
                 struct dictionary **all, int32_t **codes, struct error *err)
{
    unsigned char *packed = NULL, *bytes = NULL;
    size_t n_packed = 0, n = 0;
    int rc = dictionary_pack(own, &packed, &n_packed, err);

    *all = dictionary_create();
    if (rc == 0 && !*all)
        rc = error_no_memory(err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = words_exchange(comm, packed, n_packed, &bytes, &n, err);
    free(packed);
    if (rc == 0) {
        rc = dictionary_unpack(*all, bytes, n, NULL, err);
        if (rc == 0)
            rc = codes_find(own, *all, codes, err);
        rc = comm_agree(comm, rc, err);
    }
    free(bytes);
    if (rc < 0) {
        dictionary_destroy(*all);
        free(*codes);
        *all = NULL;
        *codes = NULL;
    }
    return rc;
}

int csv_words_merge(struct comm *comm, struct dictionary **own, struct dictionary **all,
                    int32_t **codes, struct error *err)
{
    *all = NULL;
    *codes = NULL;
    return comm->size == 1 ? sort_own(own, all, codes, err)
                           : merge(comm, *own, all, codes, err);
}
