/* failure_record.c - creates error.json so that only the first rank that fails does. */
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

static char *failure_text(const struct failure *f)
{
    json_t *record = failure_json(f);
    char *text = NULL;

    if (json_object_set_new(record, "kind", json_string(f->kind)) == 0 &&
        json_object_set_new(record, "pid", json_integer(getpid())) == 0)
        text = json_dumps(record, JSON_COMPACT);
    json_decref(record);
    return text;
}

static int fd_fill(int fd, const char *text)
{
    if (fs_write_full(fd, text, strlen(text)) < 0 || fs_write_full(fd, "\n", 1) < 0)
        return -1;
    return fsync(fd);
}

/* Create a file with this text, and sync it. */
static int record_file_create(const char *path, const char *text, struct error *err)
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

/* Use an unnamed file, so that nothing is left if the launcher kills this process
 * meanwhile. 1: published, or another rank was first; 0: it failed, or is not supported
 * here. */
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

/* link(2) fails if the name exists: the first rank wins, and the file is complete at
 * once. If the file system does not support links, creating the name decides. */
static int record_publish_named(const char *path, const char *text, struct error *err)
{
    char *temp = fs_temp_name(path);
    int rc = 0;

    if (!temp)
        return error_no_memory(err);
    if (record_file_create(temp, text, err) < 0) {
        free(temp);
        return -1;
    }
    if ((fault_point("failure.record", 0) < 0 || link(temp, path) < 0) &&
        errno != EEXIST) {
        if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS)
            rc = record_file_create(path, text, err);
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
    char *text = failure_text(failure), *path = failure_path(log_dir);
    int rc = 0;

    if (!text || !path)
        rc = error_no_memory(err);
    else if (access(path, F_OK) < 0 && !record_publish_unnamed(log_dir, path, text))
        rc = record_publish_named(path, text, err);
    free(path);
    free(text);
    return rc;
}
