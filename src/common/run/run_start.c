/*
 * run_start.c - measure the checkpoint that a run was started from, record the result,
 * and compare it later.
 */
#include "config.h"

#include "run/run_start.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checksum.h"
#include "checkpoint/file_format.h"
#include "config/config_diff.h"
#include "run/attempt_config.h"
#include "run/run_dir.h"
#include "util/fs.h"
#include "util/quote.h"
#include "util/run_record.h"

#define BLOCK_BYTES (4u << 20)
#define NS          1000000000LL

void run_start_clear(struct run_start *start)
{
    free(start->path);
    *start = (struct run_start){.path = NULL};
}

/* ---- Measure ---- */

/* Hash the first n bytes. *hashed: go_on() has let it finish. */
static int hash_read(int fd, const char *path, uint64_t n, bool (*go_on)(void *arg),
                     void *arg, uint64_t *hash, bool *hashed, struct error *err)
{
    unsigned char *block = malloc(BLOCK_BYTES);
    XXH3_state_t *state = XXH3_createState();
    uint64_t at = 0;
    int rc =
        block && state && XXH3_64bits_reset(state) == XXH_OK ? 0 : error_no_memory(err);

    while (rc == 0 && at < n && (!go_on || go_on(arg))) {
        size_t some = n - at < BLOCK_BYTES ? (size_t)(n - at) : BLOCK_BYTES;

        if (fs_pread_full(fd, block, some, at) < 0)
            rc = fs_error(err, "read", path);
        else if (XXH3_64bits_update(state, block, some) != XXH_OK)
            rc = error_no_memory(err);
        at += some;
    }
    *hashed = rc == 0 && at == n;
    if (*hashed)
        *hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    free(block);
    return rc;
}

/* The number of bytes that identify the contents of a file of this length. */
static uint64_t telling_bytes(const char *path, uint64_t length)
{
    return checkpoint_is_one(path) && length >= HEAD_BYTES ? HEAD_BYTES : length;
}

static int file_stat(const char *path, int *fd, struct run_start *start,
                     struct error *err)
{
    struct stat st;

    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0 || fstat(*fd, &st) < 0)
        return fs_error(err, "read", path);
    if (!S_ISREG(st.st_mode)) {
        errno = EINVAL;
        return fs_error(err, "read", path);
    }
    start->measured = true;
    start->bytes = (uint64_t)st.st_size;
    start->modified = (int64_t)st.st_mtim.tv_sec * NS + st.st_mtim.tv_nsec;
    return 0;
}

int run_start_measure(const char *path, bool (*go_on)(void *arg), void *arg,
                      struct run_start *start, struct error *err)
{
    int fd = -1, rc = 0;

    *start = (struct run_start){.known = true};
    if (!path)
        return 0;
    if (!(start->path = strdup(path)))
        return error_no_memory(err);
    rc = file_stat(path, &fd, start, err);
    if (rc == 0)
        rc = hash_read(fd, path, telling_bytes(path, start->bytes), go_on, arg,
                       &start->hash, &start->hashed, err);
    if (fd >= 0)
        close(fd);
    if (rc < 0)
        run_start_clear(start);
    return rc;
}

/* ---- The record ---- */

json_t *run_start_json(const struct run_start *start)
{
    char hash[17];

    if (!start->path)
        return json_null();
    snprintf(hash, sizeof hash, "%016" PRIx64, start->hash);
    return json_pack("{s:o, s:I, s:I, s:o}", "path", json_text(start->path), "bytes",
                     (json_int_t)start->bytes, "modified", (json_int_t)start->modified,
                     "hash", start->hashed ? json_string(hash) : json_null());
}

static void record_take(const json_t *record, struct run_start *start)
{
    const json_t *from = json_object_get(record, RUN_START_KEY);
    const char *hash = json_string_value(json_object_get(from, "hash")),
               *path = json_string_value(json_object_get(from, "path"));
    const json_t *bytes = json_object_get(from, "bytes");
    char *end;

    if (!from)
        return;
    start->known = true;
    start->measured = json_is_integer(bytes) && json_integer_value(bytes) >= 0;
    start->bytes = (uint64_t)json_integer_value(bytes);
    start->modified = json_integer_value(json_object_get(from, "modified"));
    if (path)
        start->path = strdup(path);
    if (!hash || strlen(hash) != 16)
        return;
    start->hash = strtoull(hash, &end, 16);
    start->hashed = start->measured && !*end;
}

static void first_record_read(const char *run_dir, struct run_start *start)
{
    char *log_dir = run_dir_log_dir(run_dir, 0), *text = NULL;
    char *path = log_dir ? run_dir_file(log_dir, "attempt.json") : NULL;
    json_t *record;
    size_t n;

    if (path && record_read_judged(path, RECORD_OF_ATTEMPT, &text, &n, &start->foreign,
                                   NULL) == 0) {
        record = json_loadb(text, n, 0, NULL);
        record_take(record, start);
        json_decref(record);
    }
    free(text);
    free(path);
    free(log_dir);
}

int run_start_read(const char *run_dir, struct run_start *start, struct error *err)
{
    struct error foreign;
    char *config = attempt_config_judged(run_dir, 0, &foreign), *path = NULL;
    bool recorded;

    *start = (struct run_start){.path = NULL};
    first_record_read(run_dir, start);
    recorded = start->known;
    start->known = recorded || config;
    if (config)
        path = config_string_of(config, "resume_from_checkpoint");
    free(config);
    /* JSON may not hold the path as it is. */
    if (path && (!recorded || start->path || start->foreign.code)) {
        start->foreign = foreign;
        free(start->path);
        start->path = path;
        path = NULL;
    }
    free(path);
    if (!start->path && start->measured)
        return error_no_memory(err);
    return 0;
}

/* ---- Compare ---- */

int run_start_compare(const struct run_start *start, const char *path, bool *same,
                      struct error *err)
{
    struct run_start now;
    bool in_place = start->path && strcmp(start->path, path) == 0;

    *same = in_place;
    if (!start->path || !start->measured)
        return 0;
    now = (struct run_start){.path = NULL};
    int fd, rc = file_stat(path, &fd, &now, err);

    if (fd >= 0)
        close(fd);
    if (rc < 0)
        return -1;
    if (now.bytes != start->bytes)
        *same = false;
    if (now.bytes != start->bytes || (in_place && now.modified == start->modified) ||
        !start->hashed)
        return 0;
    if (run_start_measure(path, NULL, NULL, &now, err) < 0)
        return -1;
    *same = now.hash == start->hash;
    run_start_clear(&now);
    return 0;
}
