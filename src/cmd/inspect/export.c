/*
 * export.c - write the tensors of a checkpoint as files that NumPy reads.
 *
 * "model/fc1/weight" becomes DIR/model/fc1/weight.npy. NumPy has no bfloat16: its bits
 * are exported as uint16, in NAME.bfloat16.npy. Raw bytes are uint8; a string is
 * NAME.txt. What a rank attached becomes the file that it was, DIR/files/NAME. The
 * library's own part of a checkpoint is skipped.
 *
 * Everything is written to a temporary directory beside DIR, which is renamed once all
 * of it is there and durable. Names were checked when the checkpoint was opened: no
 * component is empty, "." or "..", so that no path leaves that directory.
 */
#include "config.h"

#include "inspect/model.h"
#include "inspect/output.h"
#include "inspect/views.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fs.h"
#include "util/quote.h"
#include "util/process.h"
#include "util/size.h"

#define BUFFER_BYTES (1u << 20)
#define NPY_ALIGN    64 /* alignment of the array's bytes */

/* ---- The format of NumPy's files, version 1.0 ---- */

static const char *npy_type(raytrain_dtype dtype)
{
    switch (dtype) {
    case RAYTRAIN_FLOAT32:
        return "<f4";
    case RAYTRAIN_FLOAT64:
        return "<f8";
    case RAYTRAIN_FLOAT16:
        return "<f2";
    case RAYTRAIN_BFLOAT16:
    case RAYTRAIN_UINT16:
        return "<u2";
    case RAYTRAIN_INT8:
        return "|i1";
    case RAYTRAIN_INT16:
        return "<i2";
    case RAYTRAIN_INT32:
        return "<i4";
    case RAYTRAIN_INT64:
        return "<i8";
    case RAYTRAIN_UINT32:
        return "<u4";
    case RAYTRAIN_UINT64:
        return "<u8";
    case RAYTRAIN_UINT8:
    case RAYTRAIN_BYTES:
        break;
    }
    return "|u1";
}

/* Magic, version, length of the rest, and a Python dictionary padded with spaces to a
 * line. Eight dimensions fit into 512 bytes. Returns the header's length. */
static size_t npy_header(const struct checkpoint_item *item, char header[512])
{
    static const char magic[8] = "\x93NUMPY\x01"; /* with a NUL: 1.0 */
    char *text = header + sizeof magic + 2;
    int n = sprintf(text, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                    npy_type(item->dtype));
    size_t total;

    for (int d = 0; d < item->ndim; d++)
        n += sprintf(text + n, "%" PRIu64 ",%s", item->shape[d],
                     d + 1 < item->ndim ? " " : "");
    n += sprintf(text + n, "), }");
    total = (sizeof magic + 2 + (size_t)n + 1 + NPY_ALIGN - 1) / NPY_ALIGN * NPY_ALIGN;
    memset(text + n, ' ', total - sizeof magic - 2 - (size_t)n);
    header[total - 1] = '\n';
    memcpy(header, magic, sizeof magic);
    header[8] = (char)((total - sizeof magic - 2) & 0xff);
    header[9] = (char)((total - sizeof magic - 2) >> 8);
    return total;
}

static const char *suffix_of(const struct checkpoint_item *item)
{
    if (item->is_attachment)
        return "";
    if (item->is_string)
        return ".txt";
    return item->dtype == RAYTRAIN_BFLOAT16 ? ".bfloat16.npy" : ".npy";
}

/* ---- One tensor ---- */

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* The i-th item, without the NUL of a string. */
static int item_copy(const raytrain_checkpoint *ck, size_t i,
                     const struct checkpoint_item *item, int fd, const char *file,
                     char *buffer, struct error *err)
{
    uint64_t end = item->bytes - item->is_string;
    char header[512];

    if (!item->is_string && !item->is_attachment &&
        fs_write_full(fd, header, npy_header(item, header)) < 0)
        return fs_error(err, "write", file);
    for (uint64_t at = 0; at < end;) {
        size_t n = end - at < BUFFER_BYTES ? (size_t)(end - at) : BUFFER_BYTES;

        if (interrupted)
            return error_set(err, RAYTRAIN_EFAILED, "interrupted; nothing is exported");
        if (checkpoint_item_read(ck, i, at, buffer, n, err) < 0)
            return -1;
        if (fs_write_full(fd, buffer, n) < 0)
            return fs_error(err, "write", file);
        at += n;
    }
    return 0;
}

static int item_export(const raytrain_checkpoint *ck, size_t i,
                       const struct checkpoint_item *item, const char *dir,
                       char *buffer, struct error *err)
{
    char *file, *slash;
    int fd, rc;

    if (asprintf(&file, "%s/%s%s", dir, item->name, suffix_of(item)) < 0)
        return error_no_memory(err);
    slash = strrchr(file, '/');
    *slash = '\0';
    rc = fs_mkdirs(file, 0777, err);
    *slash = '/';
    if (rc < 0) {
        free(file);
        return -1;
    }
    fd = open(file, FS_CREATE | O_EXCL, 0666);
    rc = fd < 0 ? fs_error(err, "create", file)
                : item_copy(ck, i, item, fd, file, buffer, err);
    if (fd >= 0 && close(fd) < 0 && rc == 0)
        rc = fs_error(err, "write", file);
    free(file);
    return rc;
}

static int items_export(const raytrain_checkpoint *ck, const char *dir, json_int_t *n,
                        json_int_t *bytes, struct error *err)
{
    struct checkpoint_item item;
    char *buffer = malloc(BUFFER_BYTES);
    int rc = buffer ? 0 : error_no_memory(err);

    for (size_t i = 0; rc == 0 && checkpoint_item(ck, i, &item); i++) {
        if (item.is_internal)
            continue;
        rc = item_export(ck, i, &item, dir, buffer, err);
        *n += 1;
        *bytes += (json_int_t)item.bytes;
    }
    free(buffer);
    return rc;
}

/* ---- The directory ---- */

static bool is_working_directory(const char *dir)
{
    struct stat a, b;

    return stat(dir, &a) == 0 && stat(".", &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* `dir` without trailing slashes, and resolved if it exists, when it must be an empty
 * directory. malloc'ed. */
static char *target_name(const char *dir, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX], *target = realpath(dir, NULL);
    size_t n = strlen(dir), names = 0;
    DIR *d;

    if (!target && errno == ENOENT) {
        while (n > 1 && dir[n - 1] == '/')
            n--;
        target = strndup(dir, n);
        if (!target)
            error_no_memory(err);
        return target;
    }
    d = target ? opendir(target) : NULL;
    if (!d) {
        fs_error(err, "export to directory", dir);
        free(target);
        return NULL;
    }
    while (readdir(d))
        names++;
    closedir(d);
    if (names > 2 || is_working_directory(target)) {
        error_set(err, RAYTRAIN_EINVAL,
                  "%s is %s: export to a directory that does not exist yet",
                  quote(dir, quoted),
                  names > 2 ? "not empty" : "the current directory");
        free(target);
        return NULL;
    }
    return target;
}

static int tree_sync(const char *dir, struct error *err)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

    rc = fd < 0 || syncfs(fd) < 0 ? fs_error(err, "write", dir) : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

static int tree_export(const raytrain_checkpoint *ck, const char *target, json_int_t *n,
                       json_int_t *bytes, struct error *err)
{
    char *temp = fs_temp_name(target);
    int rc;

    if (!temp)
        return error_no_memory(err);
    if (mkdir(temp, 0777) < 0) {
        fs_error(err, "create", target);
        free(temp);
        return -1;
    }
    rc = items_export(ck, temp, n, bytes, err);
    if (rc == 0)
        rc = tree_sync(temp, err);
    if (rc == 0 && rename(temp, target) < 0)
        rc = fs_error(err, "create", target);
    if (rc == 0)
        rc = fs_sync_parent(target, err);
    else
        fs_remove_tree(temp, NULL);
    free(temp);
    return rc;
}

json_t *inspect_export(const char *path, const char *dir, struct error *err)
{
    struct sigaction act = {.sa_handler = on_signal};
    char *target = target_name(dir, err);
    raytrain_checkpoint *ck = NULL;
    json_int_t n = 0, bytes = 0;
    json_t *out = NULL;

    if (!target)
        return NULL;
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    if (!signals_hangup_is_ignored())
        sigaction(SIGHUP, &act, NULL);
    if (inspect_open(path, &ck, err) == 0 && model_check_directory(ck, dir, err) == 0 &&
        tree_export(ck, target, &n, &bytes, err) == 0) {
        out = json_pack("{s:s, s:o, s:o, s:I, s:I}", "kind", "export", "path",
                        json_text(path), "directory", json_text(target), "tensors", n,
                        "bytes", bytes);
        if (!out)
            error_no_memory(err);
    }
    checkpoint_destroy(ck);
    free(target);
    return out;
}

void inspect_export_print(FILE *out, const json_t *export)
{
    const json_t *n = json_object_get(export, "tensors");
    char size[SIZE_TEXT_MAX];

    if (n)
        fprintf(out, "%lld tensor%s", (long long)json_integer_value(n),
                json_integer_value(n) == 1 ? "" : "s");
    else
        fprintf(out, "a model of %s", string_of(export, "trainer"));
    fprintf(out, ", %s, in ", size_format((uint64_t)integer_of(export, "bytes"), size));
    output_text(out, string_of(export, n ? "directory" : "file"));
    fputc('\n', out);
}
