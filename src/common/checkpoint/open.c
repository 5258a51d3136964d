/*
 * open.c - open a checkpoint, and verify all of it.
 *
 * Rank 0 reads head and tables, and checks every number in them and the checksum of the
 * metadata. Each rank gets from it the tensors, and verifies a share of the chunks; the
 * list of all parts and their checksums, which grows with the number of ranks that wrote
 * the file, stays in the file. HDF5 takes no part: a damaged or hostile file is parsed by
 * the code here and in index.c alone.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/checkpoint_impl.h"
#include "checkpoint/checksum.h"
#include "checkpoint/index.h"
#include "checkpoint/index_share.h"
#include "checkpoint/verify.h"
#include "util/fs.h"

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
        return checkpoint_damage(ck, err, "the file is empty");
    if (is_hdf5(ck->fd))
        return checkpoint_damage(
            ck, err, "this is an HDF5 file, but not a checkpoint written by raytrain");
    return checkpoint_damage(ck, err, "this is neither a checkpoint nor an HDF5 file");
}

static int head_check(const raytrain_checkpoint *ck, uint64_t bytes, struct error *err)
{
    const struct file_head *h = &ck->head;

    if (memcmp(h->mark, HEAD_COMPLETE, sizeof h->mark) != 0)
        return checkpoint_damage(
            ck, err,
            "the checkpoint is incomplete: its writer died, or is still "
            "writing");
    if (h->head_hash != XXH3_64bits(h, offsetof(struct file_head, head_hash)))
        return checkpoint_damage(ck, err, "the head of the file is damaged (checksum)");
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
        return checkpoint_damage(ck, err, "the head of the file is invalid");
    return 0;
}

static int head_read(raytrain_checkpoint *ck, struct error *err)
{
    struct stat st;

    if (fstat(ck->fd, &st) < 0)
        return fs_error(err, "read", ck->path);
    if (!S_ISREG(st.st_mode))
        return checkpoint_damage(ck, err, "this is not a regular file");
    if ((uint64_t)st.st_size < sizeof ck->head.magic ||
        fs_pread_full(ck->fd, ck->head.magic, sizeof ck->head.magic, 0) < 0 ||
        memcmp(ck->head.magic, HEAD_MAGIC, sizeof ck->head.magic) != 0)
        return head_absent(ck, st.st_size, err);
    if (fs_pread_full(ck->fd, &ck->head, sizeof ck->head, 0) < 0)
        return checkpoint_read_error(ck, err);
    return head_check(ck, (uint64_t)st.st_size, err);
}

/* ---- The tables ---- */

/* It must lie in the file, after the head. */
static int table_check(const raytrain_checkpoint *ck, uint64_t at, uint64_t bytes,
                       struct error *err)
{
    if (bytes > 0 && (at < HEAD_BYTES || at > ck->head.file_bytes ||
                      bytes > ck->head.file_bytes - at))
        return checkpoint_damage(ck, err, "a table exceeds the file");
    return 0;
}

/* Read a table to *to, and advance it. */
static int table_read(const raytrain_checkpoint *ck, uint64_t at, uint64_t bytes,
                      unsigned char **to, struct error *err)
{
    if (table_check(ck, at, bytes, err) < 0)
        return -1;
    if (bytes > 0 && fs_pread_full(ck->fd, *to, bytes, at) < 0)
        return checkpoint_read_error(ck, err);
    *to += bytes;
    return 0;
}

/* Read those that index_parse() needs, one after the other. The others stay in the file. */
static int tables_read(const raytrain_checkpoint *ck, void **tables, uint64_t *n,
                       struct error *err)
{
    const struct file_head *h = &ck->head;
    unsigned char *at;

    if (index_bytes(h, n) < 0 || *n > h->file_bytes)
        return checkpoint_damage(ck, err, "the sizes of its tables are invalid");
    *tables = at = malloc(*n);
    if (!at)
        return error_no_memory(err);
    if (table_read(ck, h->report_at, sizeof(struct report_record), &at, err) < 0 ||
        table_read(ck, h->metrics_at, h->n_metrics * sizeof(struct metric_record), &at,
                   err) < 0 ||
        table_read(ck, h->tensors_at,
                   h->n_tensors * (h->name_bytes + sizeof(struct tensor_record)), &at,
                   err) < 0 ||
        table_check(ck, h->shapes_at, h->n_shapes * sizeof(uint64_t), err) < 0 ||
        table_check(ck, h->hashes_at, h->n_hashes * sizeof(uint64_t), err) < 0)
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
    rc = hash && buf ? 0 : error_no_memory(err);
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
        rc = checkpoint_damage(
            ck, err, "the tables or the HDF5 metadata are damaged (checksum)");
    XXH3_freeState(hash);
    free(buf);
    free(extents);
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
        error_no_memory(err);
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

/* Read and verify head, tables and metadata. */
static int index_read(raytrain_checkpoint *ck, struct error *err)
{
    void *tables = NULL;
    uint64_t n = 0;
    int rc = 0;

    if (checkpoint_file_open(ck, err) < 0 || head_read(ck, err) < 0 ||
        tables_read(ck, &tables, &n, err) < 0 || index_parse(ck, tables, n, err) < 0 ||
        public_names_make(ck, err) < 0 || metadata_verify(ck, err) < 0)
        rc = -1;
    free(tables);
    return rc;
}

static int open_here(const char *path, bool without_parts, raytrain_checkpoint **out,
                     struct error *err)
{
    raytrain_checkpoint *ck = checkpoint_for_reading(path, err);

    if (!ck)
        return -1;
    ck->without_parts = without_parts;
    if (index_read(ck, err) < 0) {
        checkpoint_destroy(ck);
        return -1;
    }
    *out = ck;
    return 0;
}

int checkpoint_open_index(const char *path, raytrain_checkpoint **out,
                          struct error *err)
{
    return open_here(path, false, out, err);
}

int checkpoint_open_layout(const char *path, raytrain_checkpoint **out,
                           struct error *err)
{
    return open_here(path, true, out, err);
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
        return checkpoint_damage(ck, err,
                                 "this rank sees another file here than rank 0");
    return 0;
}

/* COLLECTIVE: rank 0 has read the index. Each rank gets its share of the work, and then
 * what is left of the index. */
static int index_share(raytrain_checkpoint *ck, struct comm *comm,
                       struct verify_work *work, struct error *err)
{
    int rc = 0;

    if (verify_work_scatter(ck, comm, work, err) < 0)
        return -1;
    free(ck->shape_sums); /* they grow with the number of ranks that wrote the file */
    ck->shape_sums = NULL;
    if (comm->size == 1)
        return 0;
    if (index_bcast(ck, comm, err) < 0)
        return -1;
    if (comm->rank > 0)
        rc = file_join(ck, err);
    return comm_agree(comm, rc, err);
}

int checkpoint_open(struct comm *comm, const char *path, raytrain_checkpoint **out,
                    struct error *err)
{
    raytrain_checkpoint *ck = checkpoint_for_reading(path, err);
    struct verify_work work = {0};
    int rc = ck ? 0 : -1;

    if (rc == 0 && comm->rank == 0)
        rc = index_read(ck, err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = index_share(ck, comm, &work, err);
    if (rc == 0)
        rc = comm_agree(comm, verify_work_do(ck, &work, err), err);
    verify_work_clear(&work);
    if (rc < 0) {
        checkpoint_destroy(ck);
        return -1;
    }
    *out = ck;
    return 0;
}
