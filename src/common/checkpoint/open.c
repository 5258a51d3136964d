/*
 * open.c - open a checkpoint, and verify all of it.
 *
 * Rank 0 reads head and tables, and checks every number in them and the checksum of the
 * metadata; the others get head and tables from it. Then each rank verifies a share of
 * the chunks. HDF5 takes no part: a damaged or hostile file is parsed by the code here
 * and in index.c alone.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/checkpoint_impl.h"
#include "checkpoint/checksum.h"
#include "util/fs.h"
#include "util/thread.h"

static int damage(const raytrain_checkpoint *ck, struct error *err, const char *what)
{
    return error_set(err, RAYTRAIN_ECORRUPT, "%s: %s", ck->path, what);
}

/* The length of the file was checked: it is being truncated, or the disk fails. */
int checkpoint_read_error(const raytrain_checkpoint *ck, struct error *err)
{
    if (errno == ENODATA)
        return damage(ck, err, "the file is truncated");
    return fs_error(err, "read", ck->path);
}

/* ---- The head ---- */

static bool is_hdf5(int fd)
{
    static const char SIGNATURE[] = "\211HDF\r\n\032\n"; /* 8 bytes and a NUL */
    char found[8];

    /* HDF5 looks for its signature at 0, 512, 1024, 2048 ... */
    for (uint64_t at = 0; at <= (1u << 20); at = at ? 2 * at : 512)
        if (fs_pread_full(fd, found, sizeof found, at) == 0 &&
            memcmp(found, SIGNATURE, sizeof found) == 0)
            return true;
    return false;
}

/* Not a checkpoint: what is it? */
static int head_absent(const raytrain_checkpoint *ck, off_t bytes, struct error *err)
{
    if (bytes == 0)
        return damage(ck, err, "the file is empty");
    if (is_hdf5(ck->fd))
        return damage(ck, err,
                      "this is an HDF5 file, but not a checkpoint written by raytrain");
    return damage(ck, err, "this is neither a checkpoint nor an HDF5 file");
}

static int head_check(const raytrain_checkpoint *ck, uint64_t bytes, struct error *err)
{
    const struct file_head *h = &ck->head;

    if (memcmp(h->mark, HEAD_COMPLETE, sizeof h->mark) != 0)
        return damage(ck, err,
                      "the checkpoint is incomplete: its writer died, or is still "
                      "writing");
    if (h->head_hash != XXH3_64bits(h, offsetof(struct file_head, head_hash)))
        return damage(ck, err, "the head of the file is damaged (checksum)");
    if (h->version < FORMAT_OLDEST || h->version > FORMAT_VERSION)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "%s: a checkpoint of format version %" PRIu32
                         "; this raytrain reads versions %d to %d",
                         ck->path, h->version, FORMAT_OLDEST, FORMAT_VERSION);
    if (bytes != h->file_bytes)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "%s: the file is %s: it has %" PRIu64
                         " bytes, and should have "
                         "%" PRIu64,
                         ck->path, bytes < h->file_bytes ? "truncated" : "too long",
                         bytes, h->file_bytes);
    if (h->head_bytes != HEAD_BYTES || h->chunk_bytes < CHUNK_BYTES_MIN ||
        h->chunk_bytes > CHUNK_BYTES_MAX)
        return damage(ck, err, "the head of the file is invalid");
    return 0;
}

static int head_read(raytrain_checkpoint *ck, struct error *err)
{
    struct stat st;

    if (fstat(ck->fd, &st) < 0)
        return fs_error(err, "read", ck->path);
    if (!S_ISREG(st.st_mode))
        return damage(ck, err, "this is not a regular file");
    if ((uint64_t)st.st_size < sizeof ck->head.magic ||
        fs_pread_full(ck->fd, ck->head.magic, sizeof ck->head.magic, 0) < 0 ||
        memcmp(ck->head.magic, HEAD_MAGIC, sizeof ck->head.magic) != 0)
        return head_absent(ck, st.st_size, err);
    if (fs_pread_full(ck->fd, &ck->head, sizeof ck->head, 0) < 0)
        return checkpoint_read_error(ck, err);
    return head_check(ck, (uint64_t)st.st_size, err);
}

/* ---- The tables ---- */

/* Read a table to *to, and advance it. It must lie in the file, after the head. */
static int table_read(const raytrain_checkpoint *ck, uint64_t at, uint64_t bytes,
                      unsigned char **to, struct error *err)
{
    if (bytes == 0)
        return 0;
    if (at < HEAD_BYTES || at > ck->head.file_bytes || bytes > ck->head.file_bytes - at)
        return damage(ck, err, "a table exceeds the file");
    if (fs_pread_full(ck->fd, *to, bytes, at) < 0)
        return checkpoint_read_error(ck, err);
    *to += bytes;
    return 0;
}

/* Read all tables, one after the other. */
static int tables_read(const raytrain_checkpoint *ck, void **tables, uint64_t *n,
                       struct error *err)
{
    const struct file_head *h = &ck->head;
    unsigned char *at;

    if (index_bytes(h, n) < 0 || *n > h->file_bytes)
        return damage(ck, err, "the sizes of its tables are invalid");
    *tables = at = malloc(*n);
    if (!at)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    if (table_read(ck, h->report_at, sizeof(struct report_record), &at, err) < 0 ||
        table_read(ck, h->metrics_at, h->n_metrics * sizeof(struct metric_record), &at,
                   err) < 0 ||
        table_read(ck, h->tensors_at,
                   h->n_tensors * (h->name_bytes + sizeof(struct tensor_record)), &at,
                   err) < 0 ||
        table_read(ck, h->shapes_at, h->n_shapes * sizeof(uint64_t), &at, err) < 0 ||
        table_read(ck, h->hashes_at, h->n_hashes * sizeof(uint64_t), &at, err) < 0)
        return -1;
    return 0;
}

/* The metadata against their checksum. */
static int metadata_verify(const raytrain_checkpoint *ck, struct error *err)
{
    struct extent *extents = NULL;
    XXH3_state_t *hash = NULL;
    size_t n = 0, room = 1u << 20;
    char *buf = NULL;
    int rc;

    if (metadata_extents(ck, ck->head.file_bytes, &extents, &n, err) < 0)
        return error_prefix(err, "%s", ck->path);
    hash = XXH3_createState();
    buf = malloc(room);
    rc = hash && buf ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    if (rc == 0)
        XXH3_64bits_reset(hash);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        for (uint64_t at = extents[i].start; rc == 0 && at < extents[i].end;) {
            uint64_t left = extents[i].end - at;
            size_t k = left < room ? (size_t)left : room;

            if (fs_pread_full(ck->fd, buf, k, at) < 0)
                rc = checkpoint_read_error(ck, err);
            else
                XXH3_64bits_update(hash, buf, k);
            at += k;
        }
    }
    if (rc == 0 && XXH3_64bits_digest(hash) != ck->head.metadata_hash)
        rc = damage(ck, err, "the tables or the HDF5 metadata are damaged (checksum)");
    XXH3_freeState(hash);
    free(buf);
    free(extents);
    return rc;
}

/* ---- The tensors' bytes ---- */

/*
 * They are read into a small buffer that stays in the processor's cache, so that memory
 * is read once and never written: about a third of the cost of a read() into the user's
 * memory. Each rank or thread has an even share of the chunks. There is only pread()
 * and arithmetic here, so any thread may do it.
 */

#define BUFFER_BYTES (256u << 10) /* fits the second-level cache of any core */
#define THREADS_MAX  16           /* more do not help: memory is the limit */

/* The state of one thread. */
struct verifier {
    const raytrain_checkpoint *ck;
    int share, of;
    uint64_t done, total; /* bytes of all parts, and a constant for each chunk */
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

/* This share's chunks of one part. */
static int part_verify(struct verifier *v, const struct part *p, struct error *err)
{
    const raytrain_checkpoint *ck = v->ck;
    const struct tensor_entry *e = &ck->tensors[p->tensor];
    struct slab_stream stream;

    part_stream_init(e, &p->slab, p->at, &stream);
    for (uint64_t k = 0; k < p->n_hashes; k++) {
        uint64_t from = k * ck->head.chunk_bytes, left = stream.bytes - from;
        uint64_t n = left < ck->head.chunk_bytes ? left : ck->head.chunk_bytes;
        bool mine = share_of(v->done, v->total, v->of) == v->share;

        v->done += n + CHUNK_BYTES_MIN;
        if (mine && chunk_verify(v, e, &stream, from, from + n,
                                 ck->hashes[p->first_hash + k], err) < 0)
            return -1;
    }
    return 0;
}

int checkpoint_verify_share(const raytrain_checkpoint *ck, int share, int of,
                            struct error *err)
{
    struct verifier v = {.ck = ck,
                         .share = share,
                         .of = of,
                         .total = ck->head.n_hashes * CHUNK_BYTES_MIN,
                         .hash = XXH3_createState(),
                         .buffer = malloc(BUFFER_BYTES)};
    int rc = v.hash && v.buffer ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");

    for (size_t i = 0; i < ck->n_tensors; i++)
        v.total += ck->tensors[i].bytes;
    for (size_t i = 0; rc == 0 && i < ck->n_parts; i++)
        rc = part_verify(&v, &ck->parts[i], err);
    XXH3_freeState(v.hash);
    free(v.buffer);
    return rc;
}

/* ---- Opening ---- */

raytrain_checkpoint *checkpoint_for_reading(const char *path, struct error *err)
{
    raytrain_checkpoint *ck = checkpoint_create(err);

    if (!ck)
        return NULL;
    ck->restored = true;
    ck->path = strdup(path);
    if (!ck->path) {
        error_set(err, RAYTRAIN_ENOMEM, "out of memory");
        checkpoint_destroy(ck);
        return NULL;
    }
    return ck;
}

int checkpoint_file_open(raytrain_checkpoint *ck, struct error *err)
{
    ck->fd = open(ck->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (ck->fd < 0)
        return fs_error(err, "open checkpoint", ck->path);
    return 0;
}

/* Read and verify head, tables and metadata; *tables is malloc'ed. */
static int index_read(raytrain_checkpoint *ck, void **tables, uint64_t *n,
                      struct error *err)
{
    if (checkpoint_file_open(ck, err) < 0 || head_read(ck, err) < 0 ||
        tables_read(ck, tables, n, err) < 0)
        return -1;
    if (index_parse(ck, *tables, *n, err) < 0)
        return error_prefix(err, "%s", ck->path);
    if (public_names_make(ck, err) < 0)
        return -1;
    return metadata_verify(ck, err);
}

int checkpoint_open_index(const char *path, raytrain_checkpoint **out,
                          struct error *err)
{
    raytrain_checkpoint *ck = checkpoint_for_reading(path, err);
    void *tables = NULL;
    uint64_t n = 0;
    int rc;

    if (!ck)
        return -1;
    rc = index_read(ck, &tables, &n, err);
    free(tables);
    if (rc < 0)
        checkpoint_destroy(ck);
    else
        *out = ck;
    return rc;
}

static bool has_magic(int fd)
{
    char magic[sizeof((struct file_head *)0)->magic];

    return fs_pread_full(fd, magic, sizeof magic, 0) == 0 &&
           memcmp(magic, HEAD_MAGIC, sizeof magic) == 0;
}

bool checkpoint_is_one(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool is = fd >= 0 && has_magic(fd);

    if (fd >= 0)
        close(fd);
    return is;
}

bool checkpoint_is_plain_hdf5(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    bool is = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && is_hdf5(fd) &&
              !has_magic(fd);

    if (fd >= 0)
        close(fd);
    return is;
}

/* Ranks other than 0: check that this node sees the same file. */
static int file_join(raytrain_checkpoint *ck, struct error *err)
{
    struct file_head here;
    struct stat st;

    if (checkpoint_file_open(ck, err) < 0)
        return -1;
    if (fstat(ck->fd, &st) < 0 || fs_pread_full(ck->fd, &here, sizeof here, 0) < 0)
        return checkpoint_read_error(ck, err);
    if (memcmp(&here, &ck->head, sizeof here) != 0 ||
        (uint64_t)st.st_size != ck->head.file_bytes)
        return damage(ck, err, "this rank sees another file here than rank 0");
    return 0;
}

/* COLLECTIVE: the other ranks get head and tables from rank 0. */
static int index_bcast(raytrain_checkpoint *ck, struct comm *comm, void **tables,
                       uint64_t n, struct error *err)
{
    bool first = comm->rank == 0;
    int rc = 0;

    if (comm->size == 1)
        return 0;
    if (comm->ops->bcast(comm, &n, sizeof n, 0, err) < 0)
        return -1;
    if (!first && !(*tables = malloc(n)))
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    if (comm_agree(comm, rc, err) < 0 ||
        comm->ops->bcast(comm, &ck->head, sizeof ck->head, 0, err) < 0 ||
        comm->ops->bcast(comm, *tables, n, 0, err) < 0)
        return -1;
    if (!first)
        rc = index_parse(ck, *tables, n, err);
    if (!first && rc == 0)
        rc = public_names_make(ck, err);
    if (!first && rc == 0)
        rc = file_join(ck, err);
    return comm_agree(comm, rc, err);
}

/* Forget what only the verification needed: kept for the whole run, it would grow with the
 * number of ranks that wrote the file. Tensors by parts are read by means of their parts.
 */
static void index_trim(raytrain_checkpoint *ck)
{
    struct part *fewer;
    size_t n = 0;

    free(ck->hashes);
    ck->hashes = NULL;
    for (size_t i = 0; i < ck->n_tensors; i++) {
        struct tensor_entry *e = &ck->tensors[i];

        if (!e->by_parts)
            e->n_parts = 0;
        for (uint64_t k = 0; k < e->n_parts; k++) {
            ck->parts[n + k] = ck->parts[e->first_part + k];
            ck->parts[n + k].n_hashes = 0;
        }
        e->first_part = n;
        n += e->n_parts;
    }
    fewer = realloc(ck->parts, (n + 1) * sizeof *fewer);
    ck->parts = fewer ? fewer : ck->parts;
    ck->n_parts = n;
}

int checkpoint_open(struct comm *comm, const char *path, raytrain_checkpoint **out,
                    struct error *err)
{
    raytrain_checkpoint *ck = checkpoint_for_reading(path, err);
    void *tables = NULL;
    uint64_t n = 0;
    int rc = ck ? 0 : -1;

    if (rc == 0 && comm->rank == 0)
        rc = index_read(ck, &tables, &n, err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = index_bcast(ck, comm, &tables, n, err);
    free(tables);
    if (rc == 0)
        rc = comm_agree(comm, checkpoint_verify_share(ck, comm->rank, comm->size, err),
                        err);
    if (rc < 0) {
        checkpoint_destroy(ck);
        return -1;
    }
    index_trim(ck);
    *out = ck;
    return 0;
}

/* ---- Verifying in threads ---- */

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
