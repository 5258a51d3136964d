/*
 * output_part.c - writes a complete part under a hidden name, and verifies existing
 * parts. predict_plan.c decides which rows a part has.
 */
#include "predict/output_part.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "run/predicted_parts.h"
#include "util/fault.h"
#include "util/fs.h"
#include "util/run_record.h"

#define MAGIC       UINT64_C(0x3264726168735452) /* "RTshard2" */
#define BLOCK_BYTES ((size_t)256 * 1024)

struct head {
    uint64_t magic, index, rows, n_streams;
    uint64_t data; /* the hash of all streams, one after the other */
    uint64_t hash; /* of the lengths, seeded with the other numbers */
};

static uint64_t head_hash(const struct head *head, const uint64_t bytes[])
{
    return XXH3_64bits_withSeed(bytes, head->n_streams * sizeof *bytes,
                                head->data ^ head->index ^ head->rows << 32);
}

static int part_name_make(char path[PATH_MAX], const char *dir, const char *form,
                          uint64_t index, struct error *err)
{
    int n = snprintf(path, PATH_MAX, "%s/", dir);

    if (n >= 0 && n < PATH_MAX)
        n += snprintf(path + n, (size_t)(PATH_MAX - n), "%s%06" PRIu64, form, index);
    if (n >= 0 && n < PATH_MAX)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL, "the path of the predictions is too long");
}

/* ---- Writing ---- */

static int streams_put(int fd, const struct head *head, const uint64_t lengths[],
                       const struct predicted_stream *streams)
{
    int rc = fs_write_full(fd, head, sizeof *head);

    if (rc == 0)
        rc = fs_write_full(fd, lengths, head->n_streams * sizeof *lengths);
    for (size_t i = 0; i < head->n_streams && rc == 0; i++)
        rc = fs_write_full(fd, streams[i].data, streams[i].n);
    if (rc == 0)
        rc = fault_point("predict.write", (int)head->index);
    return rc;
}

static int part_file_put(const char *path, const struct head *head,
                         const uint64_t lengths[],
                         const struct predicted_stream *streams, struct error *err)
{
    int fd = open(path, FS_CREATE | O_TRUNC, 0666), rc;

    if (fd < 0)
        return fs_error(err, "create", path);
    rc = streams_put(fd, head, lengths, streams);
    if (rc < 0)
        fs_error(err, "write", path);
    if (close(fd) < 0 && rc == 0)
        rc = fs_error(err, "write", path);
    if (rc < 0)
        unlink(path);
    return rc;
}

static int streams_hash(const struct predicted_stream *streams, size_t n,
                        uint64_t *hash, struct error *err)
{
    XXH3_state_t *state = XXH3_createState();

    if (!state)
        return error_no_memory(err);
    XXH3_64bits_reset(state);
    for (size_t i = 0; i < n; i++)
        XXH3_64bits_update(state, streams[i].data, streams[i].n);
    *hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return 0;
}

int output_part_write(const char *dir, uint64_t index, uint64_t rows,
                      const struct predicted_stream *streams, size_t n,
                      struct error *err)
{
    struct head head = {.magic = MAGIC, .index = index, .rows = rows, .n_streams = n};
    uint64_t *lengths = calloc(n, sizeof *lengths);
    char path[PATH_MAX], hidden[PATH_MAX];
    int rc;

    if (!lengths)
        return error_no_memory(err);
    for (size_t i = 0; i < n; i++)
        lengths[i] = streams[i].n;
    rc = streams_hash(streams, n, &head.data, err);
    head.hash = head_hash(&head, lengths);
    if (rc == 0)
        rc = part_name_make(path, dir, RUN_PART, index, err);
    if (rc == 0)
        rc = part_name_make(hidden, dir, ".shard-", index, err);
    if (rc == 0)
        rc = part_file_put(hidden, &head, lengths, streams, err);
    if (rc == 0 && rename(hidden, path) < 0)
        rc = fs_error(err, "rename", hidden);
    free(lengths);
    return rc;
}

/* ---- Reading ---- */

uint64_t output_part_data(size_t n)
{
    return sizeof(struct head) + n * sizeof(uint64_t);
}

int output_part_open(const char *dir, uint64_t index, struct error *err)
{
    char path[PATH_MAX];
    int fd;

    if (part_name_make(path, dir, RUN_PART, index, err) < 0)
        return -1;
    fd = record_open(path, RECORD_OF_RUN);
    return fd >= 0 ? fd : fs_error(err, "read", path);
}

/* True if the length of the file agrees with those of the streams. */
static bool length_agrees(const struct stat *st, const uint64_t bytes[], size_t n)
{
    uint64_t length = output_part_data(n);

    for (size_t i = 0; i < n; i++)
        if (__builtin_add_overflow(length, bytes[i], &length))
            return false;
    return S_ISREG(st->st_mode) && (uint64_t)st->st_size == length;
}

/* Check the streams, which end at `end`. 1, 0, or -1 and errno, as
 * output_part_look(). */
static int streams_check(int fd, uint64_t at, uint64_t end, uint64_t hash)
{
    XXH3_state_t *state = XXH3_createState();
    unsigned char *block = malloc(BLOCK_BYTES);
    int good = -1, rc = state && block ? 0 : -1;

    if (state)
        XXH3_64bits_reset(state);
    for (size_t n; rc == 0 && at < end; at += n) {
        n = end - at < BLOCK_BYTES ? (size_t)(end - at) : BLOCK_BYTES;
        rc = fs_pread_full(fd, block, n, at);
        if (rc == 0)
            XXH3_64bits_update(state, block, n);
    }
    if (rc == 0)
        good = XXH3_64bits_digest(state) == hash;
    else if (errno == ENODATA)
        good = 0;
    free(block);
    XXH3_freeState(state);
    return good;
}

/* Check the head. The same result. */
static int head_check(int fd, const struct head *wanted, uint64_t bytes[])
{
    struct head head;
    struct stat st;
    size_t n = wanted->n_streams;

    if (fstat(fd, &st) < 0)
        return -1;
    if (fs_pread_full(fd, &head, sizeof head, 0) < 0 ||
        fs_pread_full(fd, bytes, n * sizeof *bytes, sizeof head) < 0)
        return errno == ENODATA ? 0 : -1;
    if (head.magic != MAGIC || head.index != wanted->index ||
        head.rows != wanted->rows || head.n_streams != n ||
        head.hash != head_hash(&head, bytes) || !length_agrees(&st, bytes, n))
        return 0;
    return streams_check(fd, output_part_data(n), (uint64_t)st.st_size, head.data);
}

int output_part_look(const char *dir, uint64_t index, uint64_t rows, size_t n,
                     uint64_t bytes[], struct error *err)
{
    const struct head wanted = {.index = index, .rows = rows, .n_streams = n};
    char path[PATH_MAX];
    int fd, there;

    if (part_name_make(path, dir, RUN_PART, index, err) < 0)
        return -1;
    fd = record_open(path, RECORD_OF_RUN);
    if (fd < 0)
        return errno == ENOENT ? 0 : fs_error(err, "read", path);
    there = head_check(fd, &wanted, bytes);
    if (there < 0)
        fs_error(err, "read", path);
    close(fd);
    return there;
}
