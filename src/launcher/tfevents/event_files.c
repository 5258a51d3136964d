/* event_files.c - the names of a run's event files, and a search for the last event
 * with a tag. Their records are read by record.c. */
#include "tfevents/event_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tfevents/summary_event.h"
#include "tfevents/record.h"
#include "util/clock.h"
#include "util/fs.h"

#define PREFIX "events.out.tfevents."
#define ENDING ".raytrain"

/* ---- Names ---- */

static int is_event_file(const struct dirent *entry)
{
    return strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 &&
           isdigit((unsigned char)entry->d_name[strlen(PREFIX)]);
}

static bool ends_with(const char *name, const char *ending)
{
    size_t n = strlen(name);

    return n > strlen(ending) && strcmp(name + n - strlen(ending), ending) == 0;
}

/* All event files, in order. */
static int names_read(const char *dir, struct dirent ***names, struct error *err)
{
    int n = scandir(dir, names, is_event_file, alphasort);

    return n < 0 ? fs_error(err, "read", dir) : n;
}

static void names_free(struct dirent **names, int n)
{
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

/* A time after that of the last file, even if the clock was set back. */
static int64_t time_after(struct dirent **names, int n)
{
    int64_t now = clock_unix();

    for (int i = 0; i < n; i++) {
        int64_t time = strtoll(names[i]->d_name + strlen(PREFIX), NULL, 10);

        if (time >= now && time < INT64_MAX / 2)
            now = time + 1;
    }
    return now;
}

int event_files_new(const char *dir, char **path, struct error *err)
{
    char host[256] = "";
    struct dirent **names;
    int n = names_read(dir, &names, err), made;

    if (n < 0)
        return -1;
    gethostname(host, sizeof host - 1);
    made = asprintf(path, "%s/" PREFIX "%010" PRId64 ".%s.%d" ENDING, dir,
                    time_after(names, n), host, (int)getpid());
    names_free(names, n);
    if (made >= 0)
        return 0;
    *path = NULL;
    return error_no_memory(err);
}

/* ---- The last event with a tag ---- */

struct last {
    const char *tag;
    void *data; /* of the last record that may have it */
    size_t n, room;
    bool no_memory;
};

/* Only keep the bytes: most records are not the last one. */
static void record_keep(void *arg, const void *data, size_t n)
{
    struct last *last = arg;
    void *more;

    if (!memmem(data, n, last->tag, strlen(last->tag)))
        return;
    if (n > last->room) {
        more = realloc(last->data, n);
        if (!more) {
            last->no_memory = true;
            return;
        }
        last->data = more;
        last->room = n;
    }
    memcpy(last->data, data, n);
    last->n = n;
}

static int last_in_file(const char *dir, const char *name, struct last *last,
                        struct error *err)
{
    char *path;
    int rc;

    if (asprintf(&path, "%s/%s", dir, name) < 0)
        return error_no_memory(err);
    last->n = 0;
    rc = record_each(path, record_keep, last, err);
    free(path);
    if (rc == 0 && last->no_memory)
        rc = error_no_memory(err);
    return rc;
}

int event_files_last(const char *dir, const char *tag, bool *found, int64_t *step,
                     double *number, struct error *err)
{
    struct last last = {.tag = tag};
    struct dirent **names;
    int n = names_read(dir, &names, err), rc = 0;

    *found = false;
    if (n < 0)
        return -1;
    for (int i = n - 1; i >= 0 && rc == 0 && !*found; i--) {
        if (!ends_with(names[i]->d_name, ENDING))
            continue;
        rc = last_in_file(dir, names[i]->d_name, &last, err);
        *found = rc == 0 && tfevents_read_number(last.data, last.n, tag, step, number);
    }
    free(last.data);
    names_free(names, n);
    return rc;
}

int event_files_remove_ends(const char *dir, struct error *err)
{
    struct dirent **names;
    int n = names_read(dir, &names, err), rc = 0;
    char *path;

    if (n < 0)
        return -1;
    for (int i = 0; i < n && rc == 0; i++) {
        if (!ends_with(names[i]->d_name, ENDING EVENT_FILES_END))
            continue;
        if (asprintf(&path, "%s/%s", dir, names[i]->d_name) < 0) {
            rc = error_no_memory(err);
            break;
        }
        if (unlink(path) < 0 && errno != ENOENT)
            rc = fs_error(err, "remove", path);
        free(path);
    }
    names_free(names, n);
    return rc;
}
