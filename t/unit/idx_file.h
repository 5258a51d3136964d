/* idx_file.h - IDX files for tests. Included by one test program at a time. */
#ifndef RAYTRAIN_T_UNIT_IDX_FILE_H
#define RAYTRAIN_T_UNIT_IDX_FILE_H

#include <endian.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* The bytes of a file that is being made, up to this number unless the test says
 * otherwise. */
#ifndef BYTES_MAX
#define BYTES_MAX (1 << 16)
#endif
struct bytes {
    unsigned char data[BYTES_MAX];
    size_t n;
};

static inline void bytes_add(struct bytes *b, const void *data, size_t n)
{
    assert_true(b->n + n <= sizeof b->data);
    memcpy(b->data + b->n, data, n);
    b->n += n;
}

static inline void bytes_u32(struct bytes *b, uint32_t value)
{
    value = htobe32(value);
    bytes_add(b, &value, sizeof value);
}

static inline void idx_header(struct bytes *b, unsigned char type, unsigned char ndim,
                              const uint32_t *shape)
{
    unsigned char magic[4] = {0, 0, type, ndim};

    b->n = 0;
    bytes_add(b, magic, sizeof magic);
    for (int i = 0; i < ndim; i++)
        bytes_u32(b, shape[i]);
}

/* Rows 0, 1, 2, ... as big-endian int32. */
static inline void idx_numbers(struct bytes *b, uint32_t rows)
{
    idx_header(b, 0x0c, 1, &rows);
    for (uint32_t i = 0; i < rows; i++)
        bytes_u32(b, i);
}

/* Labels: the row modulo 251. */
static inline void idx_labels(struct bytes *b, uint32_t rows)
{
    idx_header(b, 0x08, 1, &rows);
    for (uint32_t i = 0; i < rows; i++)
        bytes_add(b, &(unsigned char){(unsigned char)(i % 251)}, 1);
}

static inline void bytes_write(const struct bytes *b, const char *path)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(b->data, 1, b->n, f), b->n);
    assert_int_equal(fclose(f), 0);
}

/* One gzip member in place of the bytes. */
static inline void bytes_gzip(struct bytes *b)
{
    static unsigned char out[sizeof b->data];
    z_stream z = {.next_in = b->data,
                  .avail_in = (uInt)b->n,
                  .next_out = out,
                  .avail_out = sizeof out};

    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    b->n = sizeof out - z.avail_out;
    memcpy(b->data, out, b->n);
    deflateEnd(&z);
}

/* A directory of the test's own, which is the working directory from now on. */
static inline int scratch_enter(void **state)
{
    char template[] = "/tmp/raytrain-test-XXXXXX";
    char *dir = mkdtemp(template);

    *state = dir && chdir(dir) == 0 ? strdup(dir) : NULL;
    return *state ? 0 : -1;
}

static inline int scratch_leave(void **state)
{
    struct error err;
    int rc = chdir("/") < 0 ? -1 : fs_remove_tree(*state, &err);

    free(*state);
    return rc;
}

/* Open files of this test's directory, and in memory. Other descriptors come and go: a
 * library of MPI may have a thread that looks for something while the program
 * starts. */
static inline int files_open(void)
{
    char link[64], path[4096];
    int n = 0;

    for (int fd = 0; fd < 4096; fd++) {
        ssize_t length;

        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        length = readlink(link, path, sizeof path - 1);
        path[length > 0 ? length : 0] = '\0';
        n += strstr(path, "/raytrain-test-") || strncmp(path, "/memfd:", 7) == 0;
    }
    return n;
}

#endif
