/* reader_file.c - what readers of all formats use. */
#include "table/reader_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fs.h"

bool reader_wants(const struct dataset_config *cfg, const char *column)
{
    for (size_t i = 0; i < cfg->n_columns; i++)
        if (strcmp(cfg->columns[i], column) == 0)
            return true;
    return cfg->columns == NULL;
}

int reader_too_many_files(const char *path, struct error *err)
{
    return error_set(err, RAYTRAIN_EFIT,
                     "cannot open %s: this process has as many files open as it may "
                     "have; put the rows into fewer files, or raise the hard limit of "
                     "open files (ulimit -Hn shows it)",
                     path);
}

int reader_open_file(const char *path, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd < 0 && errno == EMFILE)
        return reader_too_many_files(path, err);
    if (fd < 0)
        return fs_error(err, "open", path);
    if (fstat(fd, &st) < 0) {
        fs_error(err, "open", path);
    } else if (!S_ISREG(st.st_mode)) {
        error_set(err, RAYTRAIN_EINVAL, "%s is %s, not a file", path,
                  S_ISDIR(st.st_mode) ? "a directory" : "a device or a pipe");
    } else {
        return fd;
    }
    close(fd);
    return -1;
}
