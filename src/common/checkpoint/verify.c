/*
 * verify.c - the tensors' bytes against their checksums: cut this work into even shares,
 * and do one.
 *
 * They are read into a small buffer that stays in the processor's cache, so that memory
 * is read once and never written: about a third of the cost of a read() into the user's
 * memory. Each rank or thread has an even share of the chunks, in their order. There is
 * only pread() and arithmetic here, so any thread may do it.
 */
#include "config.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/by_parts.h"
#include "checkpoint/checksum.h"
#include "checkpoint/part_reader.h"
#include "checkpoint/slab_io.h"
#include "checkpoint/verify.h"
#include "util/thread.h"

#define BUFFER_BYTES (256u << 10) /* fits the second-level cache of any core */
#define THREADS_MAX  16           /* more do not help: memory is the limit */

/* ---- Cut the work ---- */

void verify_cut_start(struct verify_cut *cut, const raytrain_checkpoint *ck, int of)
{
    /* Besides its bytes, each chunk costs a little. */
    *cut = (struct verify_cut){
        .ck = ck, .of = of, .total = ck->head.n_hashes * CHUNK_BYTES_MIN};
    part_reader_start(&cut->parts, ck);
    hashes_start(&cut->hashes, ck);
    for (size_t i = 0; i < ck->n_tensors; i++)
        cut->total += ck->tensors[i].bytes;
}

static uint64_t part_bytes(const raytrain_checkpoint *ck, const struct part *p)
{
    struct slab_stream stream;

    part_stream_init(&ck->tensors[p->tensor], &p->slab, p->at, &stream);
    return stream.bytes;
}

/* The number of chunks of the current part that belong to this share. */
static uint64_t cut_chunks(struct verify_cut *cut, int share)
{
    uint64_t chunk_bytes = cut->ck->head.chunk_bytes;
    uint64_t bytes = part_bytes(cut->ck, &cut->part), n = 0;

    while (cut->chunk < cut->part.n_hashes &&
           share_of(cut->done, cut->total, cut->of) == share) {
        uint64_t left = bytes - cut->chunk * chunk_bytes;

        cut->done += (left < chunk_bytes ? left : chunk_bytes) + CHUNK_BYTES_MIN;
        cut->chunk++;
        n++;
    }
    return n;
}

/* Add chunks [first, first + n) of the current part. */
static int work_add(struct verify_work *work, struct verify_cut *cut, uint64_t first,
                    uint64_t n, struct error *err)
{
    const struct part *p = &cut->part;

    if (work->pieces &&
        (work->n == work->room || n > work->hashes_room - work->n_hashes))
        return error_set(err, RAYTRAIN_ECORRUPT, "%s: the file is changing",
                         cut->ck->path);
    if (work->pieces)
        work->pieces[work->n] = (struct verify_piece){*p, first, n};
    for (uint64_t k = 0; work->pieces && k < n; k++)
        if (table_get(cut->ck, &cut->hashes, p->first_hash + first + k,
                      &work->hashes[work->n_hashes + k], err) < 0)
            return -1;
    work->n++;
    work->n_hashes += n;
    return 0;
}

int verify_cut_next(struct verify_cut *cut, int share, struct verify_work *work,
                    struct error *err)
{
    work->n = work->n_hashes = 0;
    for (;;) {
        uint64_t first, n;

        if (cut->chunk == cut->part.n_hashes) {
            int more = part_reader_next(&cut->parts, &cut->part, err);

            if (more <= 0)
                return more;
            cut->chunk = 0;
        }
        first = cut->chunk;
        n = cut_chunks(cut, share);
        if (n > 0 && work_add(work, cut, first, n, err) < 0)
            return -1;
        if (cut->chunk < cut->part.n_hashes)
            return 0; /* the next share's */
    }
}

int verify_work_room(struct verify_work *work, size_t n, size_t n_hashes,
                     struct error *err)
{
    work->pieces = calloc(n + 1, sizeof *work->pieces);
    work->hashes = calloc(n_hashes + 1, sizeof *work->hashes);
    if (!work->pieces || !work->hashes)
        return error_no_memory(err);
    work->room = n;
    work->hashes_room = n_hashes;
    return 0;
}

void verify_work_clear(struct verify_work *work)
{
    free(work->pieces);
    free(work->hashes);
    *work = (struct verify_work){0};
}

/* ---- Do it ---- */

/* The state of one thread. */
struct verifier {
    const raytrain_checkpoint *ck;
    XXH3_state_t *hash;
    unsigned char *buffer;
};

static int chunk_hash(struct verifier *v, const struct tensor_entry *e,
                      const struct slab_stream *stream, uint64_t from, uint64_t to,
                      uint64_t *hash)
{
    XXH3_64bits_reset(v->hash);
    while (from < to) {
        uint64_t n = to - from < BUFFER_BYTES ? to - from : BUFFER_BYTES;

        if (slab_read(v->ck->fd, e->offset, stream, from, from + n, v->buffer) < 0)
            return -1;
        XXH3_64bits_update(v->hash, v->buffer, n);
        from += n;
    }
    *hash = XXH3_64bits_digest(v->hash);
    return 0;
}

static int chunk_verify(struct verifier *v, const struct tensor_entry *e,
                        const struct slab_stream *stream, uint64_t from, uint64_t to,
                        uint64_t want, struct error *err)
{
    uint64_t hash, left;

    if (chunk_hash(v, e, stream, from, to, &hash) < 0)
        return checkpoint_read_error(v->ck, err);
    if (hash == want)
        return 0;
    return error_set(err, RAYTRAIN_ECORRUPT,
                     "%s: dataset '%s' is damaged (checksum of %" PRIu64
                     " bytes from byte %" PRIu64 " of the file on)",
                     v->ck->path, e->name, to - from,
                     e->offset + slab_stream_at(stream, from, &left));
}

static int piece_verify(struct verifier *v, const struct verify_piece *piece,
                        const uint64_t *hashes, struct error *err)
{
    uint64_t chunk_bytes = v->ck->head.chunk_bytes;
    const struct tensor_entry *e = &v->ck->tensors[piece->part.tensor];
    struct slab_stream stream;

    part_stream_init(e, &piece->part.slab, piece->part.at, &stream);
    for (uint64_t k = 0; k < piece->n; k++) {
        uint64_t from = (piece->first + k) * chunk_bytes, left = stream.bytes - from;
        uint64_t n = left < chunk_bytes ? left : chunk_bytes;

        if (chunk_verify(v, e, &stream, from, from + n, hashes[k], err) < 0)
            return -1;
    }
    return 0;
}

int verify_work_do(const raytrain_checkpoint *ck, const struct verify_work *work,
                   struct error *err)
{
    struct verifier v = {
        .ck = ck, .hash = XXH3_createState(), .buffer = malloc(BUFFER_BYTES)};
    int rc = v.hash && v.buffer ? 0 : error_no_memory(err);
    const uint64_t *hashes = work->hashes;

    for (size_t i = 0; rc == 0 && i < work->n; i++) {
        rc = piece_verify(&v, &work->pieces[i], hashes, err);
        hashes += work->pieces[i].n;
    }
    XXH3_freeState(v.hash);
    free(v.buffer);
    return rc;
}

int checkpoint_verify_share(const raytrain_checkpoint *ck, int share, int of,
                            struct error *err)
{
    struct verify_work work = {0};
    struct verify_cut cut, before;
    int rc = 0;

    verify_cut_start(&cut, ck, of);
    for (int s = 0; rc == 0 && s < share; s++)
        rc = verify_cut_next(&cut, s, &work, err);
    before = cut;
    if (rc == 0)
        rc = verify_cut_next(&cut, share, &work, err); /* only counts it */
    if (rc == 0)
        rc = verify_work_room(&work, work.n, work.n_hashes, err);
    if (rc == 0)
        rc = verify_cut_next(&before, share, &work, err);
    if (rc == 0)
        rc = verify_work_do(ck, &work, err);
    verify_work_clear(&work);
    return rc;
}

/* ---- In threads ---- */

struct verify_thread {
    const raytrain_checkpoint *ck;
    int share, of, rc;
    struct error err;
    pthread_t thread;
};

static void *verify_thread_run(void *arg)
{
    struct verify_thread *s = arg;

    s->rc = checkpoint_verify_share(s->ck, s->share, s->of, &s->err);
    return NULL;
}

int checkpoint_verify(const raytrain_checkpoint *ck, struct error *err)
{
    struct verify_thread threads[THREADS_MAX];
    bool started[THREADS_MAX] = {false};
    int n = thread_cores(THREADS_MAX), rc = 0;

    for (int i = 0; i < n; i++)
        threads[i] = (struct verify_thread){.ck = ck, .share = i, .of = n};
    for (int i = 1; i < n; i++)
        started[i] =
            thread_start(&threads[i].thread, verify_thread_run, &threads[i], NULL) == 0;
    /* This thread takes the shares that got no thread. */
    for (int i = 0; i < n; i++)
        if (!started[i])
            verify_thread_run(&threads[i]);
    for (int i = 1; i < n; i++)
        if (started[i])
            pthread_join(threads[i].thread, NULL);
    for (int i = 0; i < n && rc == 0; i++) {
        rc = threads[i].rc;
        if (rc < 0 && err)
            *err = threads[i].err;
    }
    return rc;
}
