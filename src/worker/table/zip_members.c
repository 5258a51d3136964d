/*
 * zip_members.c - parses the directory of a ZIP archive, and inflates deflated members.
 */
#include "table/zip_members.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "table/gunzip.h"
#include "util/fs.h"

#define LOCAL_BYTES     30
#define ENTRY_BYTES     46
#define END_BYTES       22
#define END64_BYTES     56
#define LOCATOR_BYTES   20
#define COMMENT_MAX     65535
#define DIRECTORY_MAX   (UINT64_C(64) << 20)
#define WINDOW_DEFLATE  (-15) /* largest window, no wrapping */
#define INPUT_BYTES     65536
#define EXTRA_ZIP64     1
#define FLAG_ENCRYPTED  1
#define UNKNOWN32       0xffffffffu
#define METHOD_STORED   0
#define METHOD_DEFLATED 8

static const unsigned char LOCAL[4] = "PK\3\4", ENTRY[4] = "PK\1\2", END[4] = "PK\5\6",
                           END64[4] = "PK\6\6", LOCATOR[4] = "PK\6\7";

static uint16_t get16(const unsigned char *p)
{
    uint16_t v;

    memcpy(&v, p, sizeof v);
    return le16toh(v);
}

static uint32_t get32(const unsigned char *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return le32toh(v);
}

static uint64_t get64(const unsigned char *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return le64toh(v);
}

static int zip_damaged(const struct source *s, const char *what, struct error *err)
{
    return error_set(err, RAYTRAIN_ECORRUPT,
                     "%s: %s: the archive is truncated or damaged (unzip -t checks it)",
                     s->path, what);
}

static int zip_read(const struct source *s, void *out, size_t n, uint64_t offset,
                    struct error *err)
{
    if (offset > s->size || n > s->size - offset)
        return zip_damaged(s, "its directory points behind its end", err);
    if (fs_pread_full(s->fd, out, n, offset) < 0)
        return fs_error(err, "read", s->path);
    return 0;
}

/* ---- The end of the archive, which says where its directory is ---- */

struct directory {
    uint64_t offset, bytes;
};

/* Read the end record with sizes of 64 bits, to which the locator before the end
 * points. */
static int end64_read(const struct source *s, uint64_t end, struct directory *d,
                      struct error *err)
{
    unsigned char locator[LOCATOR_BYTES], record[END64_BYTES];

    if (end < sizeof locator)
        return zip_damaged(s, "its directory is not found", err);
    if (zip_read(s, locator, sizeof locator, end - sizeof locator, err) < 0)
        return -1;
    if (memcmp(locator, LOCATOR, sizeof LOCATOR) != 0)
        return zip_damaged(s, "its directory is not found", err);
    if (zip_read(s, record, sizeof record, get64(locator + 8), err) < 0)
        return -1;
    if (memcmp(record, END64, sizeof END64) != 0)
        return zip_damaged(s, "its directory is not found", err);
    d->bytes = get64(record + 40);
    d->offset = get64(record + 48);
    return 0;
}

/* True if the end record is here: only a comment follows, with the length that it
 * says. */
static bool end_is_at(const unsigned char *tail, size_t n, size_t at)
{
    return memcmp(tail + at, END, sizeof END) == 0 &&
           get16(tail + at + 20) == n - at - END_BYTES;
}

static int zip_end_find(const struct source *s, struct directory *d, struct error *err)
{
    size_t n =
        s->size < END_BYTES + COMMENT_MAX ? (size_t)s->size : END_BYTES + COMMENT_MAX;
    unsigned char *tail = malloc(n + 1);
    size_t at = n < END_BYTES ? 0 : n - END_BYTES + 1;
    bool found = false;
    int rc;

    if (!tail)
        return error_no_memory(err);
    rc = zip_read(s, tail, n, s->size - n, err);
    while (rc == 0 && !found && at > 0)
        found = end_is_at(tail, n, --at);
    if (rc == 0 && !found)
        rc = zip_damaged(s, "its end is missing", err);
    if (rc == 0) {
        d->bytes = get32(tail + at + 12);
        d->offset = get32(tail + at + 16);
        if (d->bytes == UNKNOWN32 || d->offset == UNKNOWN32)
            rc = end64_read(s, s->size - n + at, d, err);
    }
    free(tail);
    return rc;
}

/* ---- The directory ---- */

/* Replace a size that is unknown in 32 bits by the next one of the extra field. */
static bool size64(uint64_t *size, const unsigned char **at, const unsigned char *end)
{
    if (*size != UNKNOWN32)
        return true;
    if (end - *at < 8)
        return false;
    *size = get64(*at);
    *at += 8;
    return true;
}

/* Sizes of 64 bits, in the extra fields. */
static bool entry_extend(struct zip_member *m, const unsigned char *extra, size_t n)
{
    while (n >= 4) {
        const unsigned char *at = extra + 4;
        size_t bytes = get16(extra + 2);

        if (bytes > n - 4)
            return false;
        if (get16(extra) == EXTRA_ZIP64)
            return size64(&m->bytes, &at, extra + 4 + bytes) &&
                   size64(&m->packed, &at, extra + 4 + bytes) &&
                   size64(&m->header, &at, extra + 4 + bytes);
        extra += 4 + bytes;
        n -= 4 + bytes;
    }
    return true;
}

/* An entry of the directory; returns its bytes, 0 if it is damaged. */
static size_t entry_parse(const unsigned char *p, size_t n, struct zip_member *m)
{
    size_t name, extra, total;

    *m = (struct zip_member){0};
    if (n < ENTRY_BYTES || memcmp(p, ENTRY, sizeof ENTRY) != 0)
        return 0;
    name = get16(p + 28);
    extra = get16(p + 30);
    total = ENTRY_BYTES + name + extra + get16(p + 32);
    if (total > n || name > RAYTRAIN_NAME_MAX)
        return 0;
    memcpy(m->name, p + ENTRY_BYTES, name);
    m->encrypted = get16(p + 8) & FLAG_ENCRYPTED;
    m->method = get16(p + 10);
    m->crc = get32(p + 16);
    m->packed = get32(p + 20);
    m->bytes = get32(p + 24);
    m->header = get32(p + 42);
    if (strlen(m->name) != name || !entry_extend(m, p + ENTRY_BYTES + name, extra))
        return 0;
    return total;
}

static int entries_parse(const struct source *s, const unsigned char *p, size_t n,
                         struct zip_members *out, struct error *err)
{
    struct zip_member m, *grown;

    for (size_t bytes; n > 0; p += bytes, n -= bytes) {
        bytes = entry_parse(p, n, &m);
        if (bytes == 0)
            return zip_damaged(s, "its directory cannot be read", err);
        if (m.name[0] == '\0' || m.name[strlen(m.name) - 1] == '/')
            continue;
        grown = reallocarray(out->all, out->n + 1, sizeof m);
        if (!grown)
            return error_no_memory(err);
        out->all = grown;
        out->all[out->n++] = m;
    }
    return 0;
}

int zip_list(const struct source *s, struct zip_members *out, struct error *err)
{
    struct directory d = {0};
    unsigned char *bytes;
    int rc;

    *out = (struct zip_members){0};
    if (zip_end_find(s, &d, err) < 0)
        return -1;
    if (d.bytes > DIRECTORY_MAX || d.bytes > s->size)
        return zip_damaged(s, "its directory is too large", err);
    bytes = malloc(d.bytes + 1);
    if (!bytes)
        return error_no_memory(err);
    rc = zip_read(s, bytes, d.bytes, d.offset, err);
    if (rc == 0)
        rc = entries_parse(s, bytes, d.bytes, out, err);
    free(bytes);
    if (rc < 0)
        zip_clear(out);
    return rc;
}

void zip_clear(struct zip_members *members)
{
    free(members->all);
    *members = (struct zip_members){0};
}

/* ---- Members ---- */

static int member_refuse(const struct source *s, const struct zip_member *m,
                         struct error *err)
{
    if (m->encrypted)
        return error_set(err, RAYTRAIN_ENOTSUP, "%s: \"%s\": it is encrypted", s->path,
                         m->name);
    if (m->method != METHOD_STORED && m->method != METHOD_DEFLATED)
        return error_set(
            err, RAYTRAIN_ENOTSUP,
            "%s: \"%s\": it is compressed by method %u of ZIP; only deflate is "
            "read, which numpy.savez_compressed uses",
            s->path, m->name, m->method);
    return 0;
}

int zip_locate(const struct source *s, const struct zip_member *m, uint64_t *offset,
               struct error *err)
{
    unsigned char local[LOCAL_BYTES];

    if (member_refuse(s, m, err) < 0 ||
        zip_read(s, local, sizeof local, m->header, err) < 0)
        return -1;
    if (memcmp(local, LOCAL, sizeof LOCAL) != 0)
        return zip_damaged(s, "a member is not where its directory says", err);
    *offset = m->header + LOCAL_BYTES + get16(local + 26) + get16(local + 28);
    if (*offset > s->size || m->packed > s->size - *offset)
        return zip_damaged(s, "a member ends behind its end", err);
    if (m->method == METHOD_STORED ? m->bytes != m->packed
                                   : m->bytes > gunzip_bound(m->packed))
        return zip_damaged(s, "a member has an impossible size", err);
    return 0;
}

struct inflation {
    z_stream z;
    const struct source *source;
    uint64_t at, left; /* what has not been read of the packed bytes */
    uint32_t crc;
    unsigned char input[INPUT_BYTES];
};

static int inflation_fill(struct inflation *f, struct error *err)
{
    size_t n = f->left < sizeof f->input ? (size_t)f->left : sizeof f->input;

    if (zip_read(f->source, f->input, n, f->at, err) < 0)
        return -1;
    f->at += n;
    f->left -= n;
    f->z.next_in = f->input;
    f->z.avail_in = (uInt)n;
    return 0;
}

/* Inflate *n more bytes of the content into out[0..size); *end at its end. With size 0,
 * only the end may follow. */
static int inflation_step(struct inflation *f, unsigned char *out, uint64_t size,
                          uint64_t *n, bool *end, struct error *err)
{
    unsigned char extra;
    uInt room = size == 0 ? 1 : size < INPUT_BYTES ? (uInt)size : INPUT_BYTES;
    int rc;

    if (f->z.avail_in == 0 && f->left > 0 && inflation_fill(f, err) < 0)
        return -1;
    f->z.next_out = size ? out : &extra;
    f->z.avail_out = room;
    rc = inflate(&f->z, Z_NO_FLUSH);
    *n = room - f->z.avail_out;
    *end = rc == Z_STREAM_END;
    if (rc == Z_MEM_ERROR)
        return error_no_memory(err);
    if (rc == Z_BUF_ERROR && f->left == 0)
        return zip_damaged(f->source, "a member ends too early", err);
    if ((rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR) || *n > size)
        return zip_damaged(f->source, "a member cannot be expanded", err);
    f->crc = (uint32_t)crc32(f->crc, out, (uInt)*n);
    return 0;
}

int zip_expand(const struct source *s, const struct zip_member *m, uint64_t offset,
               unsigned char *out, struct error *err)
{
    struct inflation f = {.source = s, .at = offset, .left = m->packed};
    uint64_t done = 0, n;
    bool end = false;
    int rc = 0;

    f.crc = (uint32_t)crc32(0, NULL, 0);
    if (inflateInit2(&f.z, WINDOW_DEFLATE) != Z_OK)
        return error_no_memory(err);
    while (!end && rc == 0) {
        rc = inflation_step(&f, out + done, m->bytes - done, &n, &end, err);
        if (rc == 0)
            done += n;
    }
    inflateEnd(&f.z);
    if (rc == 0 && (done != m->bytes || f.crc != m->crc))
        rc = zip_damaged(s, "a member does not match its checksum", err);
    return rc;
}
