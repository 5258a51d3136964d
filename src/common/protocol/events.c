/* events.c - a worker writes events; the launcher collects them. */
#include "config.h"

#include "protocol/events.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/run_dir.h"
#include "util/argv.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/run_record.h"

#define EVENTS_DIR "events"

/* ---- A worker ---- */

/* Names sort in order of time, as far as clocks agree. */
static char *event_path(const char *log_dir)
{
    uint64_t noise = 0;
    char *path;

    if (getrandom(&noise, sizeof noise, GRND_NONBLOCK) != sizeof noise)
        noise = (uint64_t)getpid();
    if (asprintf(&path, "%s/" EVENTS_DIR "/%017.6f-%016llx", log_dir,
                 clock_unix_double(), (unsigned long long)noise) < 0)
        return NULL;
    return path;
}

int events_put(const char *log_dir, const json_t *event, struct error *err)
{
    char *text = json_dumps(event, JSON_COMPACT), *path = event_path(log_dir);
    int rc = text && path ? 0 : error_no_memory(err);

    if (rc == 0)
        rc = fs_replace(path, text, strlen(text), 0666, err);
    free(path);
    free(text);
    return rc;
}

/* ---- The launcher ---- */

int events_create(const char *log_dir, struct error *err)
{
    char *dir = run_dir_file(log_dir, EVENTS_DIR);
    int rc = dir ? fs_mkdirs(dir, 0777, err) : error_no_memory(err);

    free(dir);
    return rc;
}

static int names_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of complete events, sorted; for argv_free(). */
static char **names_list(const char *dir)
{
    DIR *d = opendir(dir);
    char **names = NULL;
    struct dirent *e;
    size_t n = 0;

    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.' && argv_append(&names, e->d_name, NULL) == 0)
            n++;
    if (d)
        closedir(d);
    if (n > 1)
        qsort(names, n, sizeof *names, names_compare);
    return names;
}

/* Keep the line for later readers. If that fails, it has been delivered anyway. */
static void line_keep(const char *log_dir, const char *text, size_t n)
{
    char *path = run_dir_file(log_dir, EVENTS_FILE), *line = malloc(n + 1);
    int fd = path ? open(path, FS_WRITE | O_CREAT | O_APPEND, 0666) : -1;

    if (fd >= 0 && line) {
        memcpy(line, text, n);
        line[n] = '\n';
        (void)!fs_write_full(fd, line, n + 1);
    }
    if (fd >= 0)
        close(fd);
    free(line);
    free(path);
}

/* Has another user put this file into the directory, which this user has made? On
 * storage that gives all files to one user, both have the same owner. */
static bool event_is_foreign(const char *dir, const char *path)
{
    struct stat of_dir, of_event;

    return lstat(dir, &of_dir) < 0 || lstat(path, &of_event) < 0 ||
           of_dir.st_uid != of_event.st_uid;
}

/* Events by which the launcher ends an attempt. */
static bool event_is_acted_upon(const json_t *event)
{
    const char *kind = json_string_value(json_object_get(event, "kind"));

    return kind && (strcmp(kind, EVENT_TASK_FAILED) == 0 ||
                    strcmp(kind, EVENT_ATTEMPT_OVER) == 0);
}

static void event_take(const char *log_dir, const char *dir, const char *path,
                       void (*on_event)(void *arg, const json_t *event), void *arg)
{
    bool foreign = event_is_foreign(dir, path);
    char *text = NULL;
    json_t *event;
    size_t n;

    /* An event that cannot be removed would be delivered repeatedly. */
    if (record_read(path, RECORD_OF_EVENT, &text, &n, NULL) < 0 || unlink(path) < 0) {
        free(text);
        return;
    }
    event = json_loadb(text, n, 0, NULL);
    if (json_is_object(event) && !(foreign && event_is_acted_upon(event))) {
        line_keep(log_dir, text, n);
        if (on_event)
            on_event(arg, event);
    }
    json_decref(event);
    free(text);
}

void events_take(const char *log_dir, void (*on_event)(void *arg, const json_t *event),
                 void *arg)
{
    char *dir = run_dir_file(log_dir, EVENTS_DIR);
    char **names = dir ? names_list(dir) : NULL;

    for (size_t i = 0; names && names[i]; i++) {
        char *path = run_dir_file(dir, names[i]);

        if (path)
            event_take(log_dir, dir, path, on_event, arg);
        free(path);
    }
    argv_free(names);
    free(dir);
}

void events_finish(const char *log_dir,
                   void (*on_event)(void *arg, const json_t *event), void *arg)
{
    char *dir = run_dir_file(log_dir, EVENTS_DIR);

    events_take(log_dir, on_event, arg);
    if (dir)
        fs_remove_tree(dir, NULL);
    free(dir);
}
