/*
 * verify.c - the tensors' bytes against their checksums.
 *
 * They are read a piece at a time into a buffer that stays in the processor's cache, so
 * that memory is read once and never written: about a third of the cost of a read()
 * into the user's memory. The chunks of a file fall into even shares, one for each rank
 * or thread; only pread() and arithmetic happen here, so any thread may do it.
 */
#include "config.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint_impl.h"
#include "checkpoint/checksum.h"
#include "util/thread.h"

#define PIECE_BYTES (256u << 10) /* fits the second-level cache of any core */
#define THREADS_MAX 16           /* more are not faster than memory is */

/* What one thread has at hand. */
struct verifier {
    const raytrain_checkpoint *ck;
    int who, of;
    uint64_t done, total; /* bytes over all parts, and a little for each chunk */
    XXH3_state_t *hash;
    unsigned char *piece;
};

static int chunk_hash(struct verifier *v, const struct tensor_entry *e,
                      const struct slab_runs *runs, uint64_t from, uint64_t to,
                      uint64_t *hash)
{
    XXH3_64bits_reset(v->hash);
    while (from < to) {
        uint64_t n = to - from < PIECE_BYTES ? to - from : PIECE_BYTES;

        if (slab_read(v->ck->fd, e->offset, runs, from, from + n, v->piece) < 0)
            return -1;
        XXH3_64bits_update(v->hash, v->piece, n);
        from += n;
    }
    *hash = XXH3_64bits_digest(v->hash);
    return 0;
}

static int chunk_verify(struct verifier *v, const struct tensor_entry *e,
                        const struct slab_runs *runs, uint64_t from, uint64_t to,
                        uint64_t want, struct error *err)
{
    uint64_t hash, left;

    if (chunk_hash(v, e, runs, from, to, &hash) < 0)
        return checkpoint_read_error(v->ck, err);
    if (hash == want)
        return 0;
    return error_set(err, RAYTRAIN_ECORRUPT,
                     "%s: dataset '%s' is damaged (checksum of %" PRIu64
                     " bytes from byte %" PRIu64 " of the file on)",
                     v->ck->path, e->name, to - from,
                     e->offset + slab_runs_at(runs, from, &left));
}

/* This share's chunks of one part. */
static int part_verify(struct verifier *v, const struct part *p,
                       struct error *err)
{
    const raytrain_checkpoint *ck = v->ck;
    const struct tensor_entry *e = &ck->tensors[p->tensor];
    struct slab_runs runs;

    slab_runs_init(&runs, e->ndim, e->shape, e->element_bytes, &p->slab);
    for (uint64_t k = 0; k < p->n_hashes; k++) {
        uint64_t from = k * ck->head.chunk_bytes, left = runs.bytes - from;
        uint64_t n = left < ck->head.chunk_bytes ? left : ck->head.chunk_bytes;
        bool mine = share_of(v->done, v->total, v->of) == v->who;

        v->done += n + CHUNK_BYTES_MIN;
        if (mine && chunk_verify(v, e, &runs, from, from + n,
                                 ck->hashes[p->first_hash + k], err) < 0)
            return -1;
    }
    return 0;
}

int verify_share(const raytrain_checkpoint *ck, int who, int of, struct error *err)
{
    struct verifier v = {.ck = ck,
                         .who = who,
                         .of = of,
                         .total = ck->head.n_hashes * CHUNK_BYTES_MIN,
                         .hash = XXH3_createState(),
                         .piece = malloc(PIECE_BYTES)};
    int rc = v.hash && v.piece ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");

    for (size_t i = 0; i < ck->n_tensors; i++)
        v.total += ck->tensors[i].bytes;
    for (size_t i = 0; rc == 0 && i < ck->n_parts; i++)
        rc = part_verify(&v, &ck->parts[i], err);
    XXH3_freeState(v.hash);
    free(v.piece);
    return rc;
}

/* ---- In threads -------------------------------------------------------------------
 */

struct share {
    const raytrain_checkpoint *ck;
    int who, of, rc;
    struct error err;
    pthread_t thread;
};

static void *share_run(void *arg)
{
    struct share *s = arg;

    s->rc = verify_share(s->ck, s->who, s->of, &s->err);
    return NULL;
}

static int cores_usable(void)
{
    cpu_set_t set;
    int n = 1;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        n = CPU_COUNT(&set);
    return n < THREADS_MAX ? n : THREADS_MAX;
}

int checkpoint_verify(const raytrain_checkpoint *ck, struct error *err)
{
    struct share shares[THREADS_MAX];
    bool started[THREADS_MAX] = {false};
    int n = cores_usable(), rc = 0;

    for (int i = 0; i < n; i++)
        shares[i] = (struct share){.ck = ck, .who = i, .of = n};
    for (int i = 1; i < n; i++)
        started[i] = thread_start(&shares[i].thread, share_run, &shares[i], NULL) == 0;
    /* Shares without a thread are this one's. */
    for (int i = 0; i < n; i++)
        if (!started[i])
            share_run(&shares[i]);
    for (int i = 1; i < n; i++)
        if (started[i])
            pthread_join(shares[i].thread, NULL);
    for (int i = 0; i < n && rc == 0; i++) {
        rc = shares[i].rc;
        if (rc < 0 && err)
            *err = shares[i].err;
    }
    return rc;
}
