/*
 * checkpoint_directories.c - one checkpoint from the directories that ranks offer. Rank
 * 0 gets the lists of all ranks, and finds the files that several of them have. The
 * lowest of these attaches the file; a warning says if the contents differ.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "checkpoint/checkpoint.h"
#include "command/client_checkpoint.h"
#include "rank/event.h"
#include "util/quote.h"

#define WARNINGS_MAX 5 /* in one report, for files that differ */

/* A rank's copy of a file that several ranks have; all zeros if it has none. */
struct twin {
    uint64_t has, bytes, hash;
};

struct merging {
    struct client_checkpoint *m;
    /* Only on rank 0, from the lists of all ranks: */
    json_t *owners;      /* file name: the lowest rank that has it */
    json_t *shared;      /* as owners, for files that several ranks have */
    json_t *directories; /* name: true */
    json_t *names;       /* file name: the real name, in hexadecimal */
    json_t *metadata;    /* that of the lowest rank with a directory; NULL: none */
    bool any;            /* a list has been read */
    /* On every rank: */
    json_t *
        verdict; /* {"structure": TEXT, "shared": {...}}; "metadata" if there is some */
};

/* ---- Rank 0: the lists of all ranks ---- */

/* offer_parse() has checked the list on its own rank. */
static int file_take(struct merging *g, const json_t *row, int rank)
{
    const char *name = json_string_value(json_array_get(row, 0));
    json_t *owner = json_object_get(g->owners, name);
    json_t *real = json_array_get(row, 2);

    if (owner)
        return json_object_set(g->shared, name, owner);
    if (real && json_object_set(g->names, name, real) < 0)
        return -1;
    return json_object_set_new(g->owners, name, json_integer(rank));
}

static int list_take(struct merging *g, const json_t *list, int rank, struct error *err)
{
    const json_t *row;
    size_t i;

    if (!g->any)
        g->metadata = json_incref(json_object_get(list, "metadata"));
    g->any = true;
    json_array_foreach(json_object_get(list, "entries"), i, row)
    {
        if (file_take(g, row, rank) < 0)
            return error_no_memory(err);
    }
    json_array_foreach(json_object_get(list, "directories"), i, row)
    {
        if (!json_is_string(row))
            return error_set(err, RAYTRAIN_EINVAL,
                             "the checkpoint of rank %d has a directory without a name",
                             rank);
        if (json_object_set_new(g->directories, json_string_value(row), json_true()) <
            0)
            return error_no_memory(err);
    }
    return 0;
}

static int lists_take(struct merging *g, const char *lists, const size_t *sizes,
                      struct error *err)
{
    for (int r = 0; r < g->m->comm->size; r++) {
        json_t *list = sizes[r] > 0 ? json_loadb(lists, sizes[r], 0, NULL) : NULL;
        int rc = 0;

        if (sizes[r] > 0)
            rc = list ? list_take(g, list, r, err) : error_no_memory(err);
        json_decref(list);
        if (rc < 0)
            return -1;
        lists += sizes[r];
    }
    return 0;
}

/* ---- The verdict of rank 0 ---- */

static json_t *structure_make(const struct merging *g)
{
    json_t *directories = json_array();
    const char *name;
    json_t *value;

    json_object_foreach(g->directories, name, value)
        json_array_append_new(directories, json_string(name));
    return json_pack("{s:i, s:s, s:o, s:O}", "version", 1, "kind", "directory",
                     "directories", directories, "names", g->names);
}

static int verdict_make(struct merging *g, struct error *err)
{
    json_t *structure = structure_make(g);
    char *text = structure ? json_dumps(structure, JSON_COMPACT) : NULL;

    if (text)
        g->verdict = json_pack("{s:s, s:O, s:O*}", "structure", text, "shared",
                               g->shared, "metadata", g->metadata);
    json_decref(structure);
    free(text);
    return g->verdict ? 0 : error_no_memory(err);
}

/* COLLECTIVE: rank 0 gets all lists, and makes the verdict. */
static int lists_gather(struct merging *g, struct error *err)
{
    struct comm *comm = g->m->comm;
    size_t *sizes = calloc((size_t)comm->size, sizeof *sizes);
    char *list = g->m->json ? json_dumps(g->m->json, JSON_COMPACT) : NULL;
    void *lists = NULL;
    int rc = sizes && (list || !g->m->json) ? 0 : error_no_memory(err);

    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->gatherv(comm, list, list ? strlen(list) : 0, &lists, sizes, 0,
                                err);
    if (rc == 0 && comm->rank == 0) {
        g->owners = json_object();
        g->shared = json_object();
        g->directories = json_object();
        g->names = json_object();
        rc = lists_take(g, lists, sizes, err);
        if (rc == 0)
            rc = verdict_make(g, err);
    }
    free(lists);
    free(list);
    free(sizes);
    return comm_agree(comm, rc, err);
}

/* COLLECTIVE: all ranks get the verdict. */
static int verdict_share(struct merging *g, struct error *err)
{
    struct comm *comm = g->m->comm;
    char *text = g->verdict ? json_dumps(g->verdict, JSON_COMPACT) : NULL;
    uint64_t n = text ? strlen(text) : 0;
    int rc = comm->rank == 0 && !text ? error_no_memory(err) : 0;

    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->bcast(comm, &n, sizeof n, 0, err);
    if (rc == 0)
        rc = comm_bcast_alloc(comm, (void **)&text, n, 0, err);
    if (rc == 0 && !g->verdict) {
        g->verdict = json_loadb(text, n, 0, NULL);
        rc = g->verdict ? 0 : error_no_memory(err);
    }
    free(text);
    return comm_agree(comm, rc, err);
}

/* ---- Files that several ranks have ---- */

static const unsigned char *entry_data(const struct client_checkpoint *m,
                                       const struct offer_entry *e)
{
    return e->bytes > 0 ? m->buffer->data + e->offset : NULL;
}

/* This rank's copy of each file, in the order of the verdict; malloc'ed. */
static struct twin *twins_make(const struct merging *g, size_t n)
{
    const json_t *shared = json_object_get(g->verdict, "shared");
    struct twin *twins = calloc(n + 1, sizeof *twins);
    json_t *places = json_object(), *value;
    const char *name;
    json_int_t i = 0;

    json_object_foreach((json_t *)shared, name, value)
        json_object_set_new(places, name, json_integer(i++));
    for (size_t k = 0; twins && k < g->m->own.n_entries; k++) {
        const struct offer_entry *e = &g->m->own.entries[k];
        const json_t *place = json_object_get(places, e->name);

        if (place)
            twins[json_integer_value(place)] =
                (struct twin){1, e->bytes, XXH3_64bits(entry_data(g->m, e), e->bytes)};
    }
    json_decref(places);
    return twins;
}

/* A rank whose copy differs from the owner's; -1: none. */
static int odd_twin(const struct twin *all, size_t n, size_t i, int owner, int size)
{
    const struct twin *kept = &all[(size_t)owner * n + i];

    for (int r = owner + 1; r < size; r++) {
        const struct twin *t = &all[(size_t)r * n + i];

        if (t->has && (t->bytes != kept->bytes || t->hash != kept->hash))
            return r;
    }
    return -1;
}

/* On rank 0: warn about files that differ. */
static void twins_judge(const struct merging *g, const struct twin *all, size_t n)
{
    const char *log_dir = g->m->c->ctx->env.log_dir;
    char quoted[QUOTE_TEXT_MAX];
    const char *name;
    json_t *owner;
    size_t i = 0, n_odd = 0;

    json_object_foreach(json_object_get(g->verdict, "shared"), name, owner)
    {
        int kept = (int)json_integer_value(owner);
        int odd = odd_twin(all, n, i++, kept, g->m->comm->size);

        if (odd >= 0 && ++n_odd <= WARNINGS_MAX)
            event_add(log_dir, EVENT_WARNING,
                      "the file %s has one content in the checkpoint of rank %d and "
                      "another in that of rank %d: rank %d's is kept; give each file "
                      "a different name",
                      quote(name, quoted), kept, odd, kept);
    }
    if (n_odd > WARNINGS_MAX)
        event_add(log_dir, EVENT_WARNING,
                  "%zu more files of this checkpoint differ on several ranks",
                  n_odd - WARNINGS_MAX);
}

/* COLLECTIVE: compare the copies of all ranks. */
static int twins_compare(const struct merging *g, struct error *err)
{
    struct comm *comm = g->m->comm;
    size_t n = json_object_size(json_object_get(g->verdict, "shared"));
    struct twin *twins, *all;
    int rc;

    if (n == 0)
        return 0;
    twins = twins_make(g, n);
    all = calloc((size_t)comm->size * n, sizeof *all);
    rc = comm_agree(comm, twins && all ? 0 : error_no_memory(err), err);
    if (rc == 0)
        rc = comm->ops->allgather(comm, twins, n * sizeof *twins, all, err);
    if (rc == 0 && comm->rank == 0)
        twins_judge(g, all, n);
    free(twins);
    free(all);
    return rc;
}

/* ---- The checkpoint ---- */

static int files_attach(const struct merging *g, struct error *err)
{
    const json_t *shared = json_object_get(g->verdict, "shared");
    struct client_checkpoint *m = g->m;

    for (size_t i = 0; i < m->own.n_entries; i++) {
        const struct offer_entry *e = &m->own.entries[i];
        const json_t *owner = json_object_get(shared, e->name);

        if (owner && json_integer_value(owner) != m->comm->rank)
            continue;
        if (checkpoint_attach(m->ck, e->name, entry_data(m, e), e->bytes,
                              e->bytes > 0 ? client_checkpoint_release : NULL,
                              m->buffer, err) < 0)
            return -1;
        if (e->bytes > 0)
            shared_buffer_hold(m->buffer);
    }
    return 0;
}

static const char *verdict_text(const struct merging *g, const char *name)
{
    return json_string_value(json_object_get(g->verdict, name));
}

/* Attach this rank's files, and put the texts, which are the same on all ranks. */
static int contents_put(const struct merging *g, struct error *err)
{
    if (files_attach(g, err) < 0)
        return -1;
    return client_checkpoint_put_texts(g->m, verdict_text(g, "structure"),
                                       verdict_text(g, "metadata"), err);
}

int client_checkpoint_put_directories(struct client_checkpoint *m, struct error *err)
{
    struct merging g = {.m = m};
    int rc = lists_gather(&g, err);

    if (rc == 0)
        rc = verdict_share(&g, err);
    if (rc == 0)
        rc = comm_agree(m->comm, m->json ? client_checkpoint_copy(m, false, err) : 0,
                        err);
    if (rc == 0)
        rc = twins_compare(&g, err);
    if (rc == 0)
        rc = comm_agree(m->comm, contents_put(&g, err), err);
    json_decref(g.owners);
    json_decref(g.shared);
    json_decref(g.directories);
    json_decref(g.names);
    json_decref(g.metadata);
    json_decref(g.verdict);
    return rc;
}
