#include "config.h"
#include "rank/failure_record.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/fault.h"
#include "util/fs.h"
#include "util/json_text.h"

const char *failure_kind(raytrain_status code)
{
    switch (code) {
    case RAYTRAIN_ESTORAGE:
    case RAYTRAIN_ECORRUPT:
        return "storage";
    case RAYTRAIN_EINVAL:
    case RAYTRAIN_ETYPE:
    case RAYTRAIN_ENOTFOUND:
    case RAYTRAIN_ENOTSUP:
    case RAYTRAIN_EUSAGE:
    case RAYTRAIN_EFIT:
        return "config";
    case RAYTRAIN_ECOMM:
        return "comm";
    case RAYTRAIN_ENOMEM:
        return "memory";
    default:
        return "train_func";
    }
}

static char *failure_text(const struct failure *f)
{
    json_t *record =
        json_pack("{s:i, s:o, s:i, s:s, s:i, s:o}", "rank", f->rank, "host",
                  json_text(f->host), "pid", (int)getpid(), "kind", f->kind, "status",
                  f->status, "message", json_text(f->message));
    char *text = record ? json_dumps(record, JSON_COMPACT) : NULL;

    json_decref(record);
    return text;
}

static int fd_fill(int fd, const char *text)
{
    if (fs_write_full(fd, text, strlen(text)) < 0 || fs_write_full(fd, "\n", 1) < 0)
        return -1;
    return fsync(fd);
}

/* A file of its own with these bytes, on the disk. */
static int file_create(const char *path, const char *text, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int rc = 0;

    if (fd < 0)
        return fs_error(err, "create", path);
    if (fd_fill(fd, text) < 0)
        rc = fs_error(err, "write", path);
    if (close(fd) < 0 && rc == 0)
        rc = fs_error(err, "write", path);
    if (rc < 0)
        unlink(path);
    return rc;
}

/* By a file without a name, so that nothing stays if the launcher kills us on the way.
 * 1: published, or another was first; 0: not to be had here, or not this time. */
static int record_publish_unnamed(const char *log_dir, const char *path,
                                  const char *text)
{
    int fd = open(log_dir, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    char self[64];
    int done;

    if (fd < 0)
        return 0;
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    done = fd_fill(fd, text) == 0 && fault_point("failure.record", 0) == 0 &&
           (linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 ||
            errno == EEXIST);
    close(fd);
    return done;
}

/* link(2) fails where the name exists: the first one wins, and is complete at once.
 * Where the file system knows no links, creating the name decides. */
static int record_publish_named(const char *path, const char *text, struct error *err)
{
    char *temp = fs_temp_name(path);
    int rc = 0;

    if (!temp)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    if (file_create(temp, text, err) < 0) {
        free(temp);
        return -1;
    }
    if ((fault_point("failure.record", 0) < 0 || link(temp, path) < 0) &&
        errno != EEXIST) {
        if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS)
            rc = file_create(path, text, err);
        else
            rc = fs_error(err, "create", path);
    }
    unlink(temp);
    free(temp);
    return rc;
}

int failure_record(const char *log_dir, const struct failure *failure,
                   struct error *err)
{
    char *text = failure_text(failure);
    char *path = NULL;
    int rc = -1;

    if (!text || asprintf(&path, "%s/%s", log_dir, FAILURE_FILE) < 0) {
        free(text);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    }
    if (access(path, F_OK) == 0)
        rc = 0;
    else
        rc = record_publish_unnamed(log_dir, path, text)
                 ? 0
                 : record_publish_named(path, text, err);
    free(path);
    free(text);
    return rc;
}
