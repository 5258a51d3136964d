#include "data/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fs.h"

#define ROW(name) {#name, &reader_##name},

static const struct {
    const char *format;
    const struct reader_ops *ops;
} readers[] = {DATASET_FORMATS(ROW)};

#define N_READERS (sizeof readers / sizeof *readers)

const char *reader_formats(void)
{
    return &DATASET_FORMATS(REGISTRY_TEXT)[2];
}

bool reader_wants(const struct dataset_config *cfg, const char *column)
{
    for (size_t i = 0; i < cfg->n_columns; i++)
        if (strcmp(cfg->columns[i], column) == 0)
            return true;
    return cfg->columns == NULL;
}

int reader_open_file(const char *path, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

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

static int reader_by_name(const char *format, const struct reader_ops **out,
                          struct error *err)
{
    for (size_t i = 0; i < N_READERS; i++)
        if (strcmp(readers[i].format, format) == 0) {
            *out = readers[i].ops;
            return 0;
        }
    return error_set(err, RAYTRAIN_EINVAL, "unknown format \"%s\": one of %s is needed",
                     format, reader_formats());
}

static int reader_by_content(const struct source *s, const struct reader_ops **out,
                             struct error *err)
{
    unsigned char head[READER_HEAD];
    size_t n = s->size < sizeof head ? (size_t)s->size : sizeof head;

    if (fs_pread_full(s->fd, head, n, 0) < 0)
        return fs_error(err, "read", s->path);
    for (size_t i = 0; i < N_READERS; i++)
        if (readers[i].ops->probe(head, n, s->path)) {
            *out = readers[i].ops;
            return 0;
        }
    return error_set(err, RAYTRAIN_EINVAL,
                     "%s: %s; the known formats are %s (set the option `format` if the "
                     "content does not tell)",
                     s->path,
                     n ? "its content is in no known format" : "the file is empty",
                     reader_formats());
}

static int columns_check(const struct dataset_config *cfg, const struct table *t,
                         struct error *err)
{
    char names[512];

    for (size_t i = 0; i < cfg->n_columns; i++)
        if (!table_column(t, cfg->columns[i])) {
            table_names(t, names, sizeof names);
            return error_set(err, RAYTRAIN_ENOTFOUND,
                             "%s: no column \"%s\"; the columns are: %s", cfg->path,
                             cfg->columns[i], names);
        }
    if (t->n_columns == 0)
        return error_set(err, RAYTRAIN_EINVAL, "%s: no columns", cfg->path);
    return 0;
}

int reader_open(const struct reader_job *job, struct table *out, struct error *err)
{
    const struct dataset_config *cfg = job->config;
    const struct reader_ops *reader = NULL;
    size_t index;
    int fd = reader_open_file(cfg->path, err);

    *out = (struct table){0};
    if (fd < 0)
        return -1;
    if (table_add_source(out, fd, false, cfg->path, &index, err) < 0 ||
        (cfg->format ? reader_by_name(cfg->format, &reader, err)
                     : reader_by_content(&out->sources[index], &reader, err)) < 0 ||
        reader->open(job, out, err) < 0 || columns_check(cfg, out, err) < 0) {
        table_clear(out);
        return -1;
    }
    table_prune(out);
    return 0;
}
