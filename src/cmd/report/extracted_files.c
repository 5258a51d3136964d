/* extracted_files.c - ask the session for the names and the bytes of a checkpoint's
 * files, and write them below a directory. */
#include "config.h"
#include "report/extracted_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/fs.h"
#include "util/quote.h"

/* Bytes of a file that are read in one request. */
#define PIECE ((json_int_t)64 << 20)

/* The files of a checkpoint are datasets below this group. */
static const char group[] = "files/";

struct extraction {
    struct session_client *client;
    const char *directory;
    json_int_t id;
    json_t *names;       /* {short name: the real one, in hexadecimal} */
    json_t *directories; /* those that are empty */
};

/* ---- Names ---- */

static int name_refuse(const char *name, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    return error_set(err, RAYTRAIN_ECORRUPT, "the checkpoint has a file of the name %s",
                     quote(name, quoted));
}

/* A name must not lead out of the directory. */
static bool name_is_inside(const char *name)
{
    if (*name == '/' || *name == '\0')
        return false;
    for (;;) {
        size_t n = strcspn(name, "/");

        if (n == 2 && strncmp(name, "..", 2) == 0)
            return false;
        if (name[n] == '\0')
            return true;
        name += n + 1;
    }
}

/* NULL: it is not hexadecimal, or there is no memory. */
static char *hex_decode(const char *hex)
{
    size_t n = strlen(hex) / 2;
    char *name = malloc(n + 1), digits[3] = "";

    for (size_t i = 0; name && i < n; i++) {
        char *end;

        memcpy(digits, hex + 2 * i, 2);
        name[i] = (char)strtoul(digits, &end, 16);
        if (end != digits + 2) {
            free(name);
            return NULL;
        }
    }
    if (name)
        name[n] = '\0';
    return name;
}

/* DIRECTORY/NAME, malloc'ed. */
static int path_of(const struct extraction *x, const char *name, char **path,
                   struct error *err)
{
    const char *hex = json_string_value(json_object_get(x->names, name));
    char *real = hex ? hex_decode(hex) : strdup(name);
    int rc = 0;

    *path = NULL;
    if (!real || !name_is_inside(real))
        rc = name_refuse(name, err);
    else if (asprintf(path, "%s/%s", x->directory, real) < 0)
        rc = error_no_memory(err);
    free(real);
    return rc;
}

static int parent_make(char *path, struct error *err)
{
    char *slash = strrchr(path, '/');
    int rc;

    *slash = '\0';
    rc = fs_mkdirs(path, 0777, err);
    *slash = '/';
    return rc;
}

/* ---- Contents ---- */

/* Handle the reply to checkpoint_read of one item: write its bytes to the file. */
static int piece_write(int fd, const char *path, const struct wire_message *reply,
                       json_int_t at, json_int_t n, struct error *err)
{
    const json_t *item = json_array_get(json_object_get(reply->text, "items"), 0);
    json_int_t offset = json_integer_value(json_array_get(item, 0));
    json_int_t size = json_integer_value(json_object_get(reply->text, "bytes"));
    unsigned char *memory;
    int rc;

    if (reply->n_fds < 1 || json_integer_value(json_array_get(item, 1)) != n ||
        offset < 0 || offset > size || n > size - offset)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "the worker's reply does not have what was asked for");
    memory = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, reply->fds[0], 0);
    if (memory == MAP_FAILED)
        return error_set(err, RAYTRAIN_ENOMEM,
                         "cannot map a part of the checkpoint: %s", strerror(errno));
    rc = fs_pwrite_full(fd, memory + offset, (size_t)n, (uint64_t)at);
    if (rc < 0)
        fs_error(err, "write", path);
    munmap(memory, (size_t)size);
    return rc;
}

static int piece_get(struct extraction *x, const char *dataset, int fd,
                     const char *path, json_int_t at, json_int_t n, struct error *err)
{
    struct wire_message reply;
    json_t *request =
        json_pack("{s:s, s:I, s:[[s, [I], [I]]]}", "op", "checkpoint_read", "id", x->id,
                  "items", dataset, at, n);
    int rc;

    if (session_client_call(x->client, request, NULL, NULL, &reply, err) < 0)
        return -1;
    rc = piece_write(fd, path, &reply, at, n, err);
    wire_clear(&reply);
    return rc;
}

static int file_write(struct extraction *x, const char *dataset, const char *path,
                      json_int_t size, struct error *err)
{
    int fd = open(path, FS_CREATE | O_TRUNC, 0666), rc = 0;

    if (fd < 0)
        return fs_error(err, "create", path);
    for (json_int_t at = 0, n; rc == 0 && at < size; at += n) {
        n = size - at < PIECE ? size - at : PIECE;
        rc = piece_get(x, dataset, fd, path, at, n, err);
    }
    if (close(fd) < 0 && rc == 0)
        rc = fs_error(err, "write", path);
    return rc;
}

/* Take a row of checkpoint_names, [NAME, TYPE, [SHAPE...]]; only files count. */
static int row_extract(struct extraction *x, const json_t *row, int *n_files,
                       struct error *err)
{
    const char *dataset = json_string_value(json_array_get(row, 0));
    const char *type = json_string_value(json_array_get(row, 1));
    const json_t *shape = json_array_get(row, 2);
    char *path;
    int rc;

    if (!dataset || !type || strncmp(dataset, group, sizeof group - 1) != 0 ||
        strcmp(type, "bytes") != 0 || json_array_size(shape) != 1)
        return 0;
    if (path_of(x, dataset + sizeof group - 1, &path, err) < 0)
        return -1;
    rc = parent_make(path, err);
    if (rc == 0)
        rc = file_write(x, dataset, path, json_integer_value(json_array_get(shape, 0)),
                        err);
    free(path);
    ++*n_files;
    return rc;
}

static int directories_make(struct extraction *x, struct error *err)
{
    const json_t *name;
    size_t i;

    json_array_foreach(x->directories, i, name)
    {
        char *path;
        int rc;

        if (!json_is_string(name))
            continue;
        if (path_of(x, json_string_value(name), &path, err) < 0)
            return -1;
        rc = fs_mkdirs(path, 0777, err);
        free(path);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int rows_extract(struct extraction *x, const json_t *rows, struct error *err)
{
    const json_t *row;
    int n_files = 0;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        if (row_extract(x, row, &n_files, err) < 0)
            return -1;
    }
    if (n_files > 0 || json_array_size(x->directories) > 0)
        return 0;
    return error_set(
        err, RAYTRAIN_ENOTFOUND,
        "the checkpoint that this attempt starts from has no files: it was "
        "not made by raytrain-report --checkpoint, nor from a directory");
}

static int all_extract(struct extraction *x, struct error *err)
{
    struct wire_message reply;
    json_t *request = json_pack("{s:s, s:I}", "op", "checkpoint_names", "id", x->id);
    int rc;

    if (fs_mkdirs(x->directory, 0777, err) < 0 ||
        session_client_call(x->client, request, NULL, NULL, &reply, err) < 0)
        return -1;
    rc = rows_extract(x, json_object_get(reply.text, "names"), err);
    wire_clear(&reply);
    return rc == 0 ? directories_make(x, err) : -1;
}

int extracted_files_write(struct session_client *c, const char *directory, bool *found,
                          struct error *err)
{
    struct extraction x = {.client = c, .directory = directory};
    struct wire_message reply;
    const char *text;
    json_t *structure;
    int rc = 0;

    if (session_client_call(c, json_pack("{s:s}", "op", "checkpoint_open"), NULL, NULL,
                            &reply, err) < 0)
        return -1;
    *found = json_is_integer(json_object_get(reply.text, "id"));
    x.id = json_integer_value(json_object_get(reply.text, "id"));
    text = json_string_value(json_object_get(reply.text, "structure"));
    structure = text ? json_loads(text, 0, NULL) : NULL;
    x.names = json_object_get(structure, "names");
    x.directories = json_object_get(structure, "directories");
    if (*found)
        rc = all_extract(&x, err);
    json_decref(structure);
    wire_clear(&reply);
    return rc;
}
