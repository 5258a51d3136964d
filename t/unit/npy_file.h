/* npy_file.h - files of NumPy for tests. Included after idx_file.h. */
#ifndef RAYTRAIN_T_UNIT_NPY_FILE_H
#define RAYTRAIN_T_UNIT_NPY_FILE_H

/* An .npy file: the header with this text, padded as NumPy does, and these elements. */
static inline void npy_put(struct bytes *b, unsigned char version, const char *text,
                           const void *data, size_t n)
{
    size_t preface = version == 1 ? 10 : 12, length = strlen(text) + 1;
    unsigned char head[12] = {0x93, 'N', 'U', 'M', 'P', 'Y', version};

    length += (64 - (preface + length) % 64) % 64;
    head[8] = (unsigned char)length;
    head[9] = (unsigned char)(length >> 8);
    bytes_add(b, head, preface);
    bytes_add(b, text, strlen(text));
    for (size_t i = strlen(text) + 1; i < length; i++)
        bytes_add(b, " ", 1);
    bytes_add(b, "\n", 1);
    bytes_add(b, data, n);
}

static inline void npy_write(const char *path, unsigned char version, const char *text,
                             const void *data, size_t n)
{
    static struct bytes b;

    b.n = 0;
    npy_put(&b, version, text, data, n);
    bytes_write(&b, path);
}

/* ---- Archives ---- */

struct zip_writer {
    struct bytes file, directory;
};

static inline void zip_put(struct bytes *b, uint64_t value, size_t n)
{
    value = htole64(value);
    bytes_add(b, &value, n);
}

/* What local headers and entries of the directory have in common. With `extra` bytes of
 * extra fields, the sizes are there. */
static inline void zip_describe(struct bytes *b, const char *name, unsigned method,
                                uint32_t crc, size_t packed, size_t n, size_t extra)
{
    zip_put(b, 45, 2); /* version */
    zip_put(b, 0, 2);
    zip_put(b, method, 2);
    zip_put(b, 0, 4); /* time */
    zip_put(b, crc, 4);
    zip_put(b, extra ? UINT32_MAX : packed, 4);
    zip_put(b, extra ? UINT32_MAX : n, 4);
    zip_put(b, strlen(name), 2);
    zip_put(b, extra, 2);
}

static inline void zip_add(struct zip_writer *z, const char *name,
                           const struct bytes *content, bool deflated, bool wide)
{
    static struct bytes packed;
    uint32_t crc = (uint32_t)crc32(0, content->data, (uInt)content->n);
    size_t at = z->file.n, extra = wide ? 28 : 0;
    z_stream s = {.next_in = (unsigned char *)(uintptr_t)content->data,
                  .avail_in = (uInt)content->n,
                  .next_out = packed.data,
                  .avail_out = sizeof packed.data};

    memcpy(packed.data, content->data, packed.n = content->n);
    if (deflated) {
        assert_int_equal(deflateInit2(&s, 6, Z_DEFLATED, -15, 8, 0), Z_OK);
        assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
        packed.n = sizeof packed.data - s.avail_out;
        deflateEnd(&s);
    }
    bytes_add(&z->file, "PK\3\4", 4);
    zip_describe(&z->file, name, deflated ? 8 : 0, crc, packed.n, content->n, 0);
    bytes_add(&z->file, name, strlen(name));
    bytes_add(&z->file, packed.data, packed.n);
    bytes_add(&z->directory, "PK\1\2", 4);
    zip_put(&z->directory, 45, 2);
    zip_describe(&z->directory, name, deflated ? 8 : 0, crc, packed.n, content->n,
                 extra);
    zip_put(&z->directory, 0, 8); /* comment, disk, attributes */
    zip_put(&z->directory, 0, 2);
    zip_put(&z->directory, wide ? UINT32_MAX : at, 4);
    bytes_add(&z->directory, name, strlen(name));
    if (wide) {
        zip_put(&z->directory, 1, 2);
        zip_put(&z->directory, 24, 2);
        zip_put(&z->directory, content->n, 8);
        zip_put(&z->directory, packed.n, 8);
        zip_put(&z->directory, at, 8);
    }
}

/* The directory and the end; `wide`: with their place in 64 bits. */
static inline void zip_finish(struct zip_writer *z, bool wide, const char *comment)
{
    struct bytes *b = &z->file;
    size_t at = b->n, end64;

    bytes_add(b, z->directory.data, z->directory.n);
    end64 = b->n;
    if (wide) {
        bytes_add(b, "PK\6\6", 4);
        zip_put(b, 44, 8);
        zip_put(b, 45, 4); /* versions */
        zip_put(b, 0, 8);  /* disks */
        zip_put(b, 0, 8);
        zip_put(b, 0, 8); /* entries */
        zip_put(b, z->directory.n, 8);
        zip_put(b, at, 8);
        bytes_add(b, "PK\6\7", 4);
        zip_put(b, 0, 4);
        zip_put(b, end64, 8);
        zip_put(b, 1, 4);
    }
    bytes_add(b, "PK\5\6", 4);
    zip_put(b, 0, 8); /* disks, entries */
    zip_put(b, wide ? UINT32_MAX : z->directory.n, 4);
    zip_put(b, wide ? UINT32_MAX : at, 4);
    zip_put(b, strlen(comment), 2);
    bytes_add(b, comment, strlen(comment));
}

#endif
