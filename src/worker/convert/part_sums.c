/* part_sums.c - see part_sums.h. In order: hashing, "sums" in JSON, verifying. */
#include "convert/part_sums.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "util/fs.h"
#include "util/run_record.h"

#define PIECE_BYTES ((uint64_t)16 << 20) /* at most */
#define BLOCK_BYTES ((size_t)1 << 20)    /* read at once */
#define SUM_TEXT    64

struct part_stream {
    uint64_t offset, bytes; /* of the piece; bytes 0: there is none */
    XXH3_state_t *state;
};

/* ---- Hashing ---- */

static int piece_end(struct part_sums *s, struct part_stream *stream, struct error *err)
{
    if (stream->bytes == 0)
        return 0;
    if (s->n == s->room) {
        size_t room = s->room * 2 + 64;
        struct part_piece *grown = reallocarray(s->pieces, room, sizeof *grown);

        if (!grown)
            return error_no_memory(err);
        s->pieces = grown;
        s->room = room;
    }
    s->pieces[s->n++] = (struct part_piece){s->part, stream->offset, stream->bytes,
                                            XXH3_64bits_digest(stream->state)};
    stream->bytes = 0;
    return 0;
}

static int stream_find(struct part_sums *s, size_t number, struct part_stream **out,
                       struct error *err)
{
    if (number >= s->n_streams) {
        size_t n = number * 2 + 4;
        struct part_stream *grown = reallocarray(s->streams, n, sizeof *grown);

        if (!grown)
            return error_no_memory(err);
        memset(grown + s->n_streams, 0, (n - s->n_streams) * sizeof *grown);
        s->streams = grown;
        s->n_streams = n;
    }
    *out = &s->streams[number];
    if (!(*out)->state && !((*out)->state = XXH3_createState()))
        return error_no_memory(err);
    return 0;
}

int part_sums_add(struct part_sums *s, size_t stream, uint64_t offset, const void *data,
                  size_t n, struct error *err)
{
    const unsigned char *bytes = data;
    struct part_stream *to = NULL;

    if (stream_find(s, stream, &to, err) < 0)
        return -1;
    if (to->offset + to->bytes != offset && piece_end(s, to, err) < 0)
        return -1;
    while (n > 0) {
        uint64_t left = PIECE_BYTES - to->bytes;
        size_t k = n < left ? n : (size_t)left;

        if (to->bytes == 0) {
            to->offset = offset;
            XXH3_64bits_reset(to->state);
        }
        XXH3_64bits_update(to->state, bytes, k);
        to->bytes += k;
        bytes += k;
        offset += k;
        n -= k;
        if (to->bytes == PIECE_BYTES && piece_end(s, to, err) < 0)
            return -1;
    }
    return 0;
}

int part_sums_end(struct part_sums *s, struct error *err)
{
    for (size_t i = 0; i < s->n_streams; i++)
        if (piece_end(s, &s->streams[i], err) < 0)
            return -1;
    return 0;
}

void part_sums_clear(struct part_sums *s)
{
    for (size_t i = 0; i < s->n_streams; i++)
        XXH3_freeState(s->streams[i].state);
    free(s->streams);
    free(s->pieces);
    *s = (struct part_sums)PART_SUMS_INIT;
}

/* ---- JSON ---- */

/* Append "OFFSET+BYTES HASH" to the "sums" of the part. */
static int piece_append(json_t *parts, const struct part_piece *p)
{
    json_t *part = json_array_get(parts, p->part),
           *sums = json_object_get(part, "sums");
    char text[SUM_TEXT];

    if (!sums && json_object_set_new(part, "sums", sums = json_array()) < 0)
        return -1;
    snprintf(text, sizeof text, "%" PRIu64 "+%" PRIu64 " %016" PRIx64, p->offset,
             p->bytes, p->hash);
    return json_array_append_new(sums, json_string(text));
}

int part_sums_gather(const struct part_sums *own, struct comm *all, json_t *parts,
                     struct error *err)
{
    size_t *sizes = calloc((size_t)all->size, sizeof *sizes), n = 0;
    void *pieces = NULL;
    int rc = comm_agree(all, sizes ? 0 : error_no_memory(err), err);

    if (rc == 0)
        rc = all->ops->gatherv(all, own->pieces, own->n * sizeof *own->pieces, &pieces,
                               sizes, 0, err);
    for (int r = 0; rc == 0 && all->rank == 0 && r < all->size; r++)
        n += sizes[r] / sizeof *own->pieces;
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (piece_append(parts, (const struct part_piece *)pieces + i) < 0)
            rc = error_no_memory(err);
    free(pieces);
    free(sizes);
    return comm_agree(all, rc, err);
}

static bool piece_parse(const json_t *sum, struct part_piece *p)
{
    const char *text = json_string_value(sum);
    int end = 0;

    return text &&
           sscanf(text, "%" SCNu64 "+%" SCNu64 " %" SCNx64 "%n", &p->offset, &p->bytes,
                  &p->hash, &end) == 3 &&
           text[end] == '\0';
}

/* ---- Verifying ---- */

struct verifying {
    const char *directory;
    const struct text_watch *watch;
    uint64_t from, to, done; /* bytes of all pieces: this rank's share, those passed */
    char path[PATH_MAX];     /* of the open part */
    int fd;
    unsigned char *block;
    XXH3_state_t *state;
};

static int part_damaged(const struct verifying *v, const struct part_piece *p,
                        struct error *err)
{
    return error_set(err, RAYTRAIN_ECORRUPT,
                     "%s: the %" PRIu64 " bytes from byte %" PRIu64 " are not those "
                     "that were written there",
                     v->path, p->bytes, p->offset);
}

static int piece_verify(const struct verifying *v, const struct part_piece *p,
                        struct error *err)
{
    uint64_t done = 0;

    XXH3_64bits_reset(v->state);
    while (done < p->bytes) {
        uint64_t left = p->bytes - done;
        size_t n = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;

        if (text_proceed(v->watch, err) < 0)
            return -1;
        if (fs_pread_full(v->fd, v->block, n, p->offset + done) < 0)
            return errno == ENODATA ? part_damaged(v, p, err)
                                    : fs_error(err, "read", v->path);
        XXH3_64bits_update(v->state, v->block, n);
        done += n;
    }
    return XXH3_64bits_digest(v->state) == p->hash ? 0 : part_damaged(v, p, err);
}

static int verified_part_open(struct verifying *v, const json_t *part,
                              struct error *err)
{
    const char *name = json_string_value(json_object_get(part, "name"));

    if ((size_t)snprintf(v->path, sizeof v->path, "%s/%s", v->directory,
                         name ? name : "") >= sizeof v->path)
        return error_set(err, RAYTRAIN_EINVAL, "%s: the path is too long",
                         v->directory);
    v->fd = record_open(v->path, RECORD_OF_RUN);
    return v->fd < 0 ? fs_error(err, "read", v->path) : 0;
}

/* Verify those pieces of a part that begin in this rank's share. */
static int part_verify(struct verifying *v, const json_t *part, struct error *err)
{
    const json_t *sums = json_object_get(part, "sums");
    struct part_piece p = {0};
    int rc = 0;

    v->fd = -1;
    for (size_t i = 0; rc == 0 && i < json_array_size(sums); i++) {
        if (!piece_parse(json_array_get(sums, i), &p))
            rc = error_set(err, RAYTRAIN_ECORRUPT, "%s: index.json has no checksums",
                           v->directory);
        else if (v->from <= v->done && v->done < v->to) {
            rc = v->fd < 0 ? verified_part_open(v, part, err) : 0;
            if (rc == 0)
                rc = piece_verify(v, &p, err);
        }
        v->done += p.bytes;
    }
    if (v->fd >= 0)
        close(v->fd);
    return rc;
}

static uint64_t bytes_count(const json_t *parts)
{
    struct part_piece p;
    uint64_t all = 0;

    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *sums = json_object_get(json_array_get(parts, i), "sums");

        for (size_t k = 0; k < json_array_size(sums); k++)
            if (piece_parse(json_array_get(sums, k), &p))
                all += p.bytes;
    }
    return all;
}

int part_sums_verify(const char *directory, const json_t *parts, const struct comm *all,
                     const struct text_watch *watch, struct error *err)
{
    struct verifying v = {.directory = directory, .watch = watch};
    unsigned __int128 bytes = bytes_count(parts);
    int rc = 0;

    v.from = (uint64_t)(bytes * (unsigned)all->rank / (unsigned)all->size);
    v.to = (uint64_t)(bytes * ((unsigned)all->rank + 1) / (unsigned)all->size);
    v.block = malloc(BLOCK_BYTES);
    v.state = XXH3_createState();
    if (!v.block || !v.state)
        rc = error_no_memory(err);
    for (size_t i = 0; rc == 0 && i < json_array_size(parts); i++)
        rc = part_verify(&v, json_array_get(parts, i), err);
    XXH3_freeState(v.state);
    free(v.block);
    return rc;
}
