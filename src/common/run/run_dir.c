/*
 * run_dir.c - the names in a run directory, and how it is made, checked, entered and
 * set aside. run_lock.c locks it.
 */
#include "config.h"

#include "run/run_dir.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/fs.h"
#include "util/quote.h"
#include "util/run_record.h"

#define MARKER_NAME ".marker"
#define ID_NAME     ".id"
#define NAME_BYTES  200

#define CHECKPOINT_NAME CHECKPOINT_PREFIX "%06" PRId64 "%s"

/* How long a node may take to see what another has written. */
#define MARKER_PATIENCE_S 3.0
#define MARKER_LOOK_MS    100

#define ASIDE_MAX 99999

/* ---- Paths ---- */

char *run_dir_file(const char *path, const char *name)
{
    char *out;

    return asprintf(&out, "%s/%s", path, name) < 0 ? NULL : out;
}

char *run_dir_checkpoint(const char *path, long iteration)
{
    return checkpoint_name_path(path, iteration, CHECKPOINT_ENDING);
}

char *run_dir_log_dir(const char *path, int attempt)
{
    char *out;

    return asprintf(&out, "%s/logs/attempt-%d", path, attempt) < 0 ? NULL : out;
}

void run_dir_log_name(int workers, int rank, const char *host,
                      char name[RUN_DIR_LOG_NAME_MAX])
{
    if (workers > RUN_DIR_RANK_LOGS_MAX)
        snprintf(name, RUN_DIR_LOG_NAME_MAX, "node-%.255s", host);
    else
        snprintf(name, RUN_DIR_LOG_NAME_MAX, "rank-%05d", rank);
}

/* The same, with the path in printable form. */
static int path_error(struct error *err, raytrain_status code, const char *path,
                      const char *what)
{
    char *shown = printable_text(path);

    error_set(err, code, "%s %s", shown ? shown : "the run directory", what);
    free(shown);
    return -1;
}

/* ---- Names of checkpoints ---- */

char *checkpoint_name_path(const char *dir, int64_t iteration, const char *ending)
{
    char *path;

    return asprintf(&path, "%s/" CHECKPOINT_NAME, dir, iteration, ending) < 0 ? NULL
                                                                              : path;
}

int64_t checkpoint_name_iteration(const char *name, const char *ending)
{
    const char *digits = name + strlen(CHECKPOINT_PREFIX);
    char expected[64];
    int64_t k;

    if (strncmp(name, CHECKPOINT_PREFIX, strlen(CHECKPOINT_PREFIX)) != 0 ||
        !isdigit((unsigned char)*digits))
        return -1;
    errno = 0;
    k = strtoll(digits, NULL, 10);
    if (errno)
        return -1;
    snprintf(expected, sizeof expected, CHECKPOINT_NAME, k, ending);
    return strcmp(name, expected) == 0 ? k : -1;
}

int iteration_ascending(const void *a, const void *b)
{
    const int64_t *p = a, *q = b;

    return (*p > *q) - (*p < *q);
}

int iteration_descending(const void *a, const void *b)
{
    return iteration_ascending(b, a);
}

/* ---- Names of runs ---- */

static const char *name_fault(const char *name)
{
    if (!*name)
        return "is empty";
    if (strlen(name) > NAME_BYTES)
        return "is longer than 200 bytes";
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return "is not a name";
    if (strchr(name, '/'))
        return "holds a '/': a name is one path component, --storage says where";
    for (const char *c = name; *c; c += printable_length(c))
        if (printable_length(c) == 0)
            return "holds bytes that are not printable UTF-8";
    return NULL;
}

static int run_dir_name_check(const char *name, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    const char *fault = name_fault(name);

    if (fault)
        return error_set(err, RAYTRAIN_EINVAL,
                         "the run name %s %s; choose another one with --name",
                         quote(name, quoted), fault);
    return 0;
}

/* ---- Whose directory it is ---- */

/* What is wrong with the directory, without advice. */
static int dir_judge(const char *path, struct error *err)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), rc;

    rc = fd < 0 ? fs_error(err, "open", path) : record_check_dir(fd, path, err);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Another user's link leads to where that user wants the files. */
static int link_judge(const char *path, struct error *err)
{
    struct stat st;

    if (lstat(path, &st) < 0 || !S_ISLNK(st.st_mode) || st.st_uid == geteuid() ||
        st.st_uid == 0)
        return 0;
    return path_error(err, RAYTRAIN_EINVAL, path,
                      "is a link that another user has made");
}

static int run_check_owner(const char *path, struct error *err)
{
    struct error why;

    if (link_judge(path, &why) == 0 && dir_judge(path, &why) == 0)
        return 0;
    return error_set(
        err, why.code,
        "%s\n"
        "  start a run of your own: another --name or --storage; to continue "
        "from one of its checkpoints, name that: --resume=CHECKPOINT",
        why.text);
}

/* The owner of the storage directory can rename the run. Root may write in the
 * directory of a user: in a container it is that of the user who has started it. */
static int storage_check_owner(const char *path, struct error *err)
{
    struct error why;

    if (geteuid() == 0 || dir_judge(path, &why) == 0)
        return 0;
    return error_set(err, why.code,
                     "%s; choose a directory of your own, which may be inside it",
                     why.text);
}

/* ---- Entering ---- */

/* Rename path to the first free PATH.N, while we hold its lock. */
static int run_set_aside(const char *path, void (*tell)(const char *text), char **aside,
                         struct error *err)
{
    struct run_lock *lock;
    int rc = -1;

    if (run_lock_take(path, tell, &lock, err) < 0)
        return -1;
    errno = EEXIST;
    for (int n = 1; rc < 0 && errno == EEXIST && n <= ASIDE_MAX; n++) {
        if (asprintf(aside, "%s.%d", path, n) < 0) {
            *aside = NULL;
            break;
        }
        rc = fs_rename_new(path, *aside);
        if (rc < 0) {
            free(*aside);
            *aside = NULL;
        }
    }
    if (rc < 0)
        fs_error(err, "set aside", path);
    run_lock_release(lock);
    return rc;
}

/* Create RUN or find it; *existed says which. */
static int run_make(const char *path, bool *existed, struct error *err)
{
    struct stat st;

    *existed = false;
    if (mkdir(path, 0777) == 0)
        return fs_sync_parent(path, err);
    if (errno != EEXIST)
        return fs_error(err, "create run directory", path);
    *existed = true;
    if (stat(path, &st) < 0)
        return path_error(err, RAYTRAIN_ESTORAGE, path,
                          "is a dangling link; remove it or choose another "
                          "--name");
    if (!S_ISDIR(st.st_mode))
        return path_error(err, RAYTRAIN_ESTORAGE, path,
                          "is not a directory; move it away or choose another --name");
    return 0;
}

static int exists_error(const char *path, struct error *err)
{
    return path_error(
        err, RAYTRAIN_EINVAL, path,
        "exists already: continue that run with --resume, set it aside and start over "
        "with --fresh, or give the new run another --name");
}

static int path_enter(const char *path, enum run_dir_mode mode,
                      void (*tell)(const char *text), struct run_dir *dir,
                      bool *existed, char **set_aside, struct error *err)
{
    if (run_make(path, existed, err) < 0)
        return -1;
    if (*existed && mode == RUN_DIR_NEW)
        return exists_error(path, err);
    if (*existed && run_check_owner(path, err) < 0)
        return -1;
    if (*existed && mode == RUN_DIR_FRESH) {
        if (run_set_aside(path, tell, set_aside, err) < 0 ||
            run_make(path, existed, err) < 0)
            return -1;
        if (*existed)
            return path_error(err, RAYTRAIN_ESTORAGE, path,
                              "was just created by another process; try again");
    }
    if (run_lock_take(path, tell, &dir->lock, err) == 0) {
        if (run_lock_keep(dir->lock, err) == 0)
            return 0;
        run_lock_release(dir->lock);
        dir->lock = NULL;
    }
    /* Leave nothing half made; rmdir() fails if another process uses it already. */
    if (!*existed)
        rmdir(path);
    return -1;
}

/* RUN/logs/attempt-K, and not where a link leads. */
static bool is_own_dir(const char *logs)
{
    int fd = record_open_dir(logs, 2);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Has an attempt with this log directory begun? If so, it has a record or a worker's
 * output. */
static bool has_begun(const char *logs)
{
    DIR *d = opendir(logs);
    struct dirent *e;
    bool begun = !d;

    while (d && !begun && (e = readdir(d)))
        begun = strcmp(e->d_name, "attempt.json") == 0 ||
                strncmp(e->d_name, "rank-", strlen("rank-")) == 0;
    if (d)
        closedir(d);
    return begun;
}

/* Remove what a killed raytrain-run has left half made: temporary files, and the log
 * directory of an attempt that it never started. */
static void leftovers_remove(const struct run_dir *dir)
{
    static const char *const written[] = {"run.cfg", MARKER_NAME, ID_NAME, "result.h5",
                                          "trainer.pkl"};
    char *logs = run_dir_log_dir(dir->path, run_dir_last_attempt(dir->path));

    if (logs && is_own_dir(logs) && !has_begun(logs))
        fs_remove_tree(logs, NULL);
    free(logs);
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
        char *path = run_dir_file(dir->path, written[i]);

        if (path)
            fs_remove_temps(path);
        free(path);
    }
}

/* The real path of the storage directory, which is created if it does not exist. If it
 * cannot be created, that is an error of storage, not of input. */
static char *storage_make(const char *storage, struct error *err)
{
    char *real = NULL;

    if (fs_mkdirs_durable(storage, 0777, err) == 0 && !(real = realpath(storage, NULL)))
        fs_error(err, "find", storage);
    if (!real && err->code == RAYTRAIN_ENOTFOUND)
        err->code = RAYTRAIN_ESTORAGE;
    return real;
}

int run_dir_enter(const char *storage, const char *name, enum run_dir_mode mode,
                  void (*tell)(const char *text), struct run_dir *dir, bool *existed,
                  char **set_aside, struct error *err)
{
    char *real, *path, *aside = NULL;
    int rc;

    memset(dir, 0, sizeof *dir);
    if (set_aside)
        *set_aside = NULL;
    if (run_dir_name_check(name, err) < 0)
        return -1;
    real = storage_make(storage, err);
    if (!real || storage_check_owner(real, err) < 0) {
        free(real);
        return -1;
    }
    path = run_dir_file(strcmp(real, "/") == 0 ? "" : real, name);
    free(real);
    if (!path)
        return error_no_memory(err);
    rc = path_enter(path, mode, tell, dir, existed, &aside, err);
    if (rc < 0) {
        free(path);
        free(aside);
        return -1;
    }
    dir->path = path;
    leftovers_remove(dir);
    if (set_aside)
        *set_aside = aside;
    else
        free(aside);
    return 0;
}

void run_dir_leave(struct run_dir *dir)
{
    run_lock_release(dir->lock);
    free(dir->path);
    dir->lock = NULL;
    dir->path = NULL;
}

void run_dir_abandon(struct run_dir *dir, const char *set_aside)
{
    char *config = run_dir_file(dir->path, "run.cfg");
    char *logs = run_dir_file(dir->path, "logs");
    bool begun = !config || access(config, F_OK) == 0 || errno != ENOENT;

    if (!begun && logs && fs_remove_tree(logs, NULL) == 0) {
        run_lock_remove(dir->lock);
        dir->lock = NULL;
        if (rmdir(dir->path) == 0 && set_aside) /* it fails if there is anything else */
            fs_rename_new(set_aside, dir->path);
    }
    free(logs);
    free(config);
    run_dir_leave(dir);
}

/* ---- The marker ---- */

/* A random token, NUL-terminated. */
static int token_make(char token[RUN_ID_LENGTH + 1], struct error *err)
{
    unsigned char noise[RUN_ID_LENGTH / 2];

    if (getrandom(noise, sizeof noise, 0) != sizeof noise)
        return error_set(err, RAYTRAIN_EFAILED, "cannot get random numbers: %s",
                         strerror(errno));
    for (size_t i = 0; i < sizeof noise; i++)
        sprintf(token + 2 * i, "%02x", noise[i]);
    return 0;
}

int run_dir_write_marker(const struct run_dir *dir, const char *config, char **token,
                         struct error *err)
{
    char *path = run_dir_file(dir->path, MARKER_NAME), *text = NULL;
    char *made = calloc(1, RUN_ID_LENGTH + 1);
    int rc = path && made ? token_make(made, err) : error_no_memory(err);

    if (rc == 0 && asprintf(&text, "%s\n%s", made, config) < 0) {
        text = NULL;
        rc = error_no_memory(err);
    }
    if (rc == 0)
        rc = fs_write_atomic(path, text, strlen(text), 0600, err);
    free(text);
    free(path);
    if (rc < 0)
        free(made);
    else
        *token = made;
    return rc;
}

/* The configuration in a marker with this token; NULL: it has another one. */
static char *marker_config(char *text, const char *token)
{
    size_t n = strlen(token);

    return n == RUN_ID_LENGTH && strncmp(text, token, n) == 0 && text[n] == '\n'
               ? text + n + 1
               : NULL;
}

/* This node may still have cached the directory, or the marker, of an earlier run. */
static int marker_read(const char *path, const char *file, const char *token,
                       char **text, struct error *why)
{
    double until = clock_now() + MARKER_PATIENCE_S;
    int rc;

    for (;;) {
        fs_look_again(path);
        fs_look_again(file);
        rc = record_read(file, RECORD_OF_RUN, text, NULL, why);
        if ((rc == 0 && marker_config(*text, token)) || clock_now() > until)
            return rc;
        if (rc == 0)
            free(*text);
        *text = NULL;
        poll(NULL, 0, MARKER_LOOK_MS);
    }
}

int run_dir_check_marker(const char *path, const char *token, const char *host,
                         char **config, struct error *err)
{
    char *file = run_dir_file(path, MARKER_NAME), *text = NULL;
    struct error why;
    int rc = -1, got;

    if (!file)
        return error_no_memory(err);
    got = marker_read(path, file, token, &text, &why);
    if (got < 0)
        error_set(
            err, RAYTRAIN_ESTORAGE,
            "node %s does not see the run directory %s (%s): it must be on storage "
            "that all nodes share; choose it with --storage",
            host, path, why.text);
    else if (!marker_config(text, token))
        error_set(
            err, RAYTRAIN_ESTORAGE,
            "node %s sees another directory at %s: it must be on storage that all "
            "nodes share; choose it with --storage",
            host, path);
    else if (config && !(*config = strdup(marker_config(text, token))))
        error_no_memory(err);
    else
        rc = 0;
    free(text);
    free(file);
    return rc;
}

/* ---- The id ---- */

/*
 * After the id, the file names its home: the inode number of the directory, and its
 * path. A copy of the directory differs in both. One of them alone may change: a
 * directory that is moved keeps its inode number, and one that a host sees under
 * another path or number keeps the other.
 */
static int home_of(const char *path, char **number, char **real, struct error *err)
{
    struct stat st;

    *number = NULL;
    *real = realpath(path, NULL);
    if (!*real || stat(path, &st) < 0)
        return fs_error(err, "find", path);
    if (asprintf(number, "%llu", (unsigned long long)st.st_ino) < 0) {
        *number = NULL;
        return error_no_memory(err);
    }
    return 0;
}

static int id_write(const char *file, const char *id, const char *number,
                    const char *real, struct error *err)
{
    char *text;
    int n = asprintf(&text, "%s %s %s\n", id, number, real), rc;

    if (n < 0)
        return error_no_memory(err);
    rc = fs_write_atomic(file, text, (size_t)n, 0666, err);
    free(text);
    return rc;
}

/* Does this text belong to this directory? *settled: both number and path are
 * current. */
static bool is_id_of(char *text, const char *number, const char *real, bool *settled)
{
    char *rest = text + strspn(text, "0123456789abcdef"), *its_number, *its_real;
    bool same_number, same_path;

    if (rest - text != RUN_ID_LENGTH || *rest != ' ')
        return false;
    *rest++ = '\0';
    its_number = strsep(&rest, " ");
    its_real = strsep(&rest, "\n");
    same_number = its_number && strcmp(its_number, number) == 0;
    same_path = its_real && strcmp(its_real, real) == 0;
    *settled = same_number && same_path;
    return same_number || same_path;
}

static int id_settle(const char *path, const char *file, char *text,
                     char id[RUN_ID_LENGTH + 1], struct error *err)
{
    char *number = NULL, *real = NULL;
    bool settled = false;
    int rc = home_of(path, &number, &real, err);

    if (rc == 0 && text && is_id_of(text, number, real, &settled))
        memcpy(id, text, RUN_ID_LENGTH + 1);
    else if (rc == 0)
        rc = token_make(id, err); /* there is none, or it belongs to another run */
    if (rc == 0 && !settled)
        rc = id_write(file, id, number, real, err);
    free(number);
    free(real);
    return rc;
}

int run_dir_id(const char *path, char id[RUN_ID_LENGTH + 1], struct error *err)
{
    char *file = run_dir_file(path, ID_NAME), *text = NULL;
    int rc = file ? record_read(file, RECORD_OF_RUN, &text, NULL, err)
                  : error_no_memory(err);

    if (file && rc < 0 && access(file, F_OK) < 0 && errno == ENOENT)
        rc = 0;
    if (rc == 0)
        rc = id_settle(path, file, text, id, err);
    free(text);
    free(file);
    return rc;
}

/* ---- Logs ---- */

/* K of "attempt-K"; -1 for other names. */
static int attempt_number(const char *name)
{
    static const char PREFIX[] = "attempt-";
    const char *digits = name + sizeof PREFIX - 1;
    char *end;
    long k;

    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0 ||
        !isdigit((unsigned char)*digits))
        return -1;
    errno = 0;
    k = strtol(digits, &end, 10);
    return *end || errno || k > INT32_MAX ? -1 : (int)k;
}

int run_dir_last_attempt(const char *path)
{
    char *logs = run_dir_file(path, "logs");
    DIR *d = logs ? opendir(logs) : NULL;
    struct dirent *e;
    int last = -1;

    while (d && (e = readdir(d))) {
        int k = attempt_number(e->d_name);

        if (k > last)
            last = k;
    }
    if (d)
        closedir(d);
    free(logs);
    return last;
}

/* Make a directory of the run, of which the last `depth` parts of the path are its own. */
static int own_dir_make(const char *dir, unsigned depth, struct error *err)
{
    struct error why;
    int fd, rc;

    if (fs_mkdirs(dir, 0777, err) < 0)
        return -1;
    fd = record_open_dir(dir, depth);
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        return path_error(err, RAYTRAIN_EINVAL, dir,
                          "is a link, which another user may have made; remove it");
    if (fd < 0)
        return fs_error(err, "open", dir);
    rc = record_check_dir(fd, dir, &why);
    close(fd);
    return rc == 0 ? 0
                   : error_set(err, why.code, "%s; remove it, or choose another --name",
                               why.text);
}

int run_dir_make_logs(const char *path, struct error *err)
{
    char *logs = run_dir_file(path, "logs");
    int rc = logs ? own_dir_make(logs, 1, err) : error_no_memory(err);

    free(logs);
    return rc;
}

int run_dir_make_log_dir(const char *path, int attempt, char **log_dir,
                         struct error *err)
{
    char *dir = run_dir_log_dir(path, attempt);

    if (!dir)
        return error_no_memory(err);
    if (run_dir_make_logs(path, err) < 0 || own_dir_make(dir, 2, err) < 0) {
        free(dir);
        return -1;
    }
    *log_dir = dir;
    return 0;
}
