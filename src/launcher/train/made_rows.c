/* made_rows.c - the directories of made rows found and removed by aside.c's process. */
#include "train/made_rows.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train/aside.h"
#include "util/fs.h"
#include "util/quote.h"
#include "util/run_record.h"

#define MARK   ".rows-"
#define MAKING ".making" /* after the name, until the directory is complete */
#define ENDING ".npz"

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The parent directory of the run, if it also contains the path; else -1. */
static int parent_open(const char *run_dir, const char *path)
{
    char *of_run = strndup(run_dir, (size_t)(base_of(run_dir) - run_dir)),
         *of_path = strndup(path, (size_t)(base_of(path) - path));
    struct stat mine, other;
    int fd = of_run && *of_run ? open(of_run, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0 && (!of_path || stat(of_path, &other) < 0 || fstat(fd, &mine) < 0 ||
                    mine.st_dev != other.st_dev || mine.st_ino != other.st_ino)) {
        close(fd);
        fd = -1;
    }
    free(of_path);
    free(of_run);
    return fd;
}

/* Does its name begin with the run's? */
static bool is_of_run(const char *run_dir, const char *path)
{
    const char *run = base_of(run_dir), *name = base_of(path);
    size_t n = strlen(run);

    return strncmp(name, run, n) == 0 && strncmp(name + n, MARK, strlen(MARK)) == 0 &&
           name[n + strlen(MARK)];
}

/* As workers name their files: 000000000012-000000.npz. */
static bool is_made(const char *name)
{
    size_t n = strspn(name, "0123456789");

    if (n == 0 || name[n] != '-')
        return false;
    name += n + 1;
    n = strspn(name, "0123456789");
    return n > 0 && strcmp(name + n, ENDING) == 0;
}

/* Remove all files that can be removed; the error is that of the first one that
 * cannot. */
static int files_remove(DIR *d, const char *path, struct error *err)
{
    struct dirent *e;
    int rc = 0;

    while ((e = readdir(d))) {
        char *file = NULL;

        if (!is_made(e->d_name) || unlinkat(dirfd(d), e->d_name, 0) == 0 ||
            errno == ENOENT)
            continue;
        if (rc == 0) {
            int why = errno;

            if (asprintf(&file, "%s/%s", path, e->d_name) < 0)
                file = NULL;
            errno = why;
            rc = fs_error(err, "remove", file ? file : path);
            free(file);
        }
    }
    return rc;
}

/* The files in a directory of the parent, and then the directory. */
static int directory_remove(int parent, const char *name, const char *path,
                            struct error *err)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = NULL;
    int rc;

    if (fd < 0)
        return errno == ENOENT ? 0 : fs_error(err, "remove", path);
    if (record_check_dir(fd, path, err) < 0) {
        close(fd);
        return -1;
    }
    if (!(d = fdopendir(fd))) {
        fs_error(err, "open directory", path);
        close(fd);
        return -1;
    }
    rc = files_remove(d, path, err);
    closedir(d);
    if (rc == 0 && unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return fs_error(err, "remove directory", path);
    return rc;
}

static int rows_remove(const char *run_dir, const char *path, struct error *err)
{
    int parent = is_of_run(run_dir, path) ? parent_open(run_dir, path) : -1, rc;
    char *making = NULL;

    if (parent < 0)
        return 0;
    rc = directory_remove(parent, base_of(path), path, err);
    if (asprintf(&making, "%s" MAKING, path) < 0)
        making = NULL;
    if (making &&
        directory_remove(parent, base_of(making), making, rc == 0 ? err : NULL) < 0)
        rc = -1;
    free(making);
    close(parent);
    return rc;
}

/* The answer is an array of what has failed. */
static int work(void *arg, json_t **notes, struct error *err)
{
    const struct run *run = arg;
    const struct train_config *cfg = run->cfg;
    struct error why;

    (void)err;
    *notes = json_array();
    for (size_t i = 0; i < cfg->n_datasets; i++)
        if (cfg->datasets[i].made &&
            rows_remove(run->dir, cfg->datasets[i].path, &why) < 0)
            json_array_append_new(*notes, json_text(why.text));
    return 0;
}

void made_rows_remove(struct run *run)
{
    json_t *notes = NULL, *note;
    struct error why;
    bool made = false;
    size_t i;

    for (i = 0; i < run->cfg->n_datasets; i++)
        made = made || run->cfg->datasets[i].made;
    if (!made || run_lock_check(run->lock, NULL) < 0)
        return;
    if (aside(run, "remove the rows that its workers have made", work, run, &notes,
              &why) < 0)
        callback_note(run->callbacks, "%s", why.text);
    json_array_foreach(notes, i, note)
        callback_note(run->callbacks, "%s", json_string_value(note));
    json_decref(notes);
}
