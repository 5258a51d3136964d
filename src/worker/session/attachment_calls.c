/* attachment_calls.c - files and opaque bytes in a checkpoint. */
#include "config.h"
#include "session/session.h"

#include <stdio.h>
#include <stdlib.h>

#include "checkpoint/new_file.h"
#include "session/checkpoints.h"
#include "util/fs.h"

#define COPY_BYTES ((uint64_t)1 << 20)

/* ---- Write ---- */

int raytrain_checkpoint_put_bytes(raytrain_checkpoint *ck, const char *name,
                                  const void *data, size_t n)
{
    const char *call = __func__;
    int bad = session_writable(ck, call);

    if (bad)
        return bad;
    if (!name || (!data && n > 0))
        return session_null(NULL, call, name ? "data" : "name");
    return session_status(
        NULL, checkpoint_attach(ck, name, data, n, NULL, NULL, session_error(NULL)));
}

static void contents_release(void *data, void *arg)
{
    (void)arg;
    free(data);
}

int raytrain_checkpoint_put_file(raytrain_checkpoint *ck, const char *name,
                                 const char *path)
{
    const char *call = __func__;
    struct error *err = session_error(NULL);
    int bad = session_writable(ck, call);
    char *data;
    size_t n;

    if (bad)
        return bad;
    if (!name || !path)
        return session_null(NULL, call, name ? "path" : "name");
    if (fs_read(path, &data, &n, err) < 0)
        return session_status(NULL, -1);
    if (checkpoint_attach(ck, name, data, n, contents_release, NULL, err) < 0) {
        free(data);
        return session_status(NULL, -1);
    }
    return RAYTRAIN_OK;
}

/* ---- Read ---- */

/* An attachment of a checkpoint that can be read: a tensor of bytes. */
struct attached {
    raytrain_checkpoint *ck;
    char *name; /* in the checkpoint */
    raytrain_tensor tensor;
};

static int attached_open(struct attached *a, raytrain_checkpoint *ck, const char *name,
                         struct error *err)
{
    a->ck = ck;
    if (asprintf(&a->name, CHECKPOINT_ATTACHED "/%s", name) < 0)
        return error_no_memory(err);
    if (checkpoint_info(ck, a->name, &a->tensor, err) == 0) {
        if (a->tensor.dtype == RAYTRAIN_BYTES && a->tensor.ndim == 1)
            return 0;
        error_set(err, RAYTRAIN_ETYPE,
                  "'%s' is a tensor; read it with raytrain_checkpoint_get()", a->name);
    }
    free(a->name);
    return -1;
}

static int attached_read(const struct attached *a, uint64_t from, uint64_t n,
                         void *data, struct error *err)
{
    const raytrain_slab slab = {.start = {from}, .count = {n}};
    raytrain_tensor tensor = a->tensor;

    tensor.data = data;
    return checkpoint_get(a->ck, a->name, &tensor, &slab, err);
}

static int bytes_get(raytrain_checkpoint *ck, const char *name, void **data, size_t *n,
                     struct error *err)
{
    struct attached a;
    void *room;
    int rc;

    if (attached_open(&a, ck, name, err) < 0)
        return -1;
    room = malloc((size_t)a.tensor.shape[0] + 1);
    rc = room ? attached_read(&a, 0, a.tensor.shape[0], room, err)
              : error_no_memory(err);
    free(a.name);
    if (rc < 0) {
        free(room);
        return -1;
    }
    *data = room;
    *n = (size_t)a.tensor.shape[0];
    ((char *)room)[*n] = '\0';
    return 0;
}

int raytrain_checkpoint_get_bytes(raytrain_checkpoint *ck, const char *name,
                                  void **data, size_t *n)
{
    const char *call = __func__;
    int bad = session_readable(ck, call);

    if (bad)
        return bad;
    if (!name || !data || !n)
        return session_null(NULL, call, !name ? "name" : !data ? "data" : "size");
    return session_status(NULL, bytes_get(ck, name, data, n, session_error(NULL)));
}

static int file_fill(const struct attached *a, const struct new_file *f,
                     struct error *err)
{
    void *buffer = malloc(COPY_BYTES);
    uint64_t bytes = a->tensor.shape[0], n;
    int rc = buffer ? 0 : error_no_memory(err);

    for (uint64_t at = 0; rc == 0 && at < bytes; at += n) {
        n = bytes - at < COPY_BYTES ? bytes - at : COPY_BYTES;
        rc = attached_read(a, at, n, buffer, err);
        if (rc == 0 && fs_pwrite_full(f->fd, buffer, n, at) < 0)
            rc = fs_error(err, "write", f->path);
    }
    free(buffer);
    return rc;
}

static int file_get(raytrain_checkpoint *ck, const char *name, const char *path,
                    struct error *err)
{
    struct new_file f = NEW_FILE(path);
    struct attached a;
    int rc;

    if (attached_open(&a, ck, name, err) < 0)
        return -1;
    rc = new_file_name(&f, err);
    if (rc == 0)
        rc = new_file_create(&f, a.tensor.shape[0], err);
    if (rc == 0)
        rc = file_fill(&a, &f, err);
    if (rc == 0)
        rc = new_file_publish(&f, err);
    new_file_clear(&f);
    free(a.name);
    return rc;
}

int raytrain_checkpoint_get_file(raytrain_checkpoint *ck, const char *name,
                                 const char *path)
{
    const char *call = __func__;
    int bad = session_readable(ck, call);

    if (bad)
        return bad;
    if (!name || !path)
        return session_null(NULL, call, name ? "path" : "name");
    return session_status(NULL, file_get(ck, name, path, session_error(NULL)));
}
