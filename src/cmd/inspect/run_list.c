/*
 * run_list.c - search directories for runs, level by level; symbolic links come last.
 */
#include "config.h"

#include "inspect/run_list.h"

#include <dirent.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "inspect/views.h"
#include "util/array.h"
#include "util/fs.h"
#include "util/quote.h"

#define DIRECTORIES_MAX 100000

/* A directory to search. */
struct place {
    char *path;
    int depth;
};

struct places {
    struct place *list;
    size_t n, room;
};

struct seen {
    dev_t dev;
    ino_t number;
};

struct search {
    struct run_list *list;
    struct places places, links; /* those to search; links after all others */
    size_t searched;
    void *seen; /* a tree of struct seen */
    bool no_memory;
};

/* Takes ownership of the path. */
static void run_add(struct search *s, char *path)
{
    struct run_list *l = s->list;

    if (!path || array_grow(&l->paths, &l->room, l->n, sizeof *l->paths) < 0) {
        free(path);
        s->no_memory = true;
        return;
    }
    l->paths[l->n++] = path;
}

static void place_add(struct search *s, struct places *p, const char *dir,
                      const char *name, int depth)
{
    size_t n = strlen(dir);
    char *path;

    if (asprintf(&path, "%s%s%s", dir, n > 0 && dir[n - 1] == '/' ? "" : "/", name) < 0)
        path = NULL;
    if (!path || array_grow(&p->list, &p->room, p->n, sizeof *p->list) < 0) {
        free(path);
        s->no_memory = true;
        return;
    }
    p->list[p->n++] = (struct place){path, depth};
}

static int seen_order(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;

    if (x->dev != y->dev)
        return x->dev < y->dev ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Remember a directory; false: it has been searched already. */
static bool seen_add(struct search *s, int fd)
{
    struct seen *one = malloc(sizeof *one), **found;
    struct stat st;

    if (!one || fstat(fd, &st) < 0) {
        free(one);
        return false;
    }
    *one = (struct seen){st.st_dev, st.st_ino};
    found = tsearch(one, &s->seen, seen_order);
    if (found && *found == one)
        return true;
    free(one);
    s->no_memory = s->no_memory || !found;
    return false;
}

/* The files that mark a directory as a run, found while it is listed. */
static bool is_mark(const char *name)
{
    return strcmp(name, "run.cfg") == 0 || strcmp(name, "result.json") == 0 ||
           strcmp(name, ".marker") == 0;
}

/* Queue the directories in an open directory. Returns true if it is a run. */
static bool entries_look(struct search *s, DIR *d, const struct place *p,
                         struct places *found, struct places *links)
{
    struct dirent *e;
    bool run = false, logs = false;

    while (!run && (e = readdir(d))) {
        struct stat st;

        run = is_mark(e->d_name);
        logs = logs || strcmp(e->d_name, "logs") == 0;
        if (e->d_name[0] == '.' || p->depth >= RUN_LIST_DEPTH)
            continue;
        if (e->d_type == DT_DIR)
            place_add(s, found, p->path, e->d_name, p->depth + 1);
        else if ((e->d_type == DT_LNK || e->d_type == DT_UNKNOWN) &&
                 fstatat(dirfd(d), e->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode))
            place_add(s, links, p->path, e->d_name, p->depth + 1);
    }
    return run || (logs && inspect_is_run(p->path));
}

static void places_clear(struct places *p, size_t from)
{
    for (size_t i = from; i < p->n; i++)
        free(p->list[i].path);
    p->n = from;
}

/* -1: it cannot be opened. */
static int place_search(struct search *s, const struct place *p)
{
    size_t n = s->places.n, n_links = s->links.n;
    DIR *d = opendir(p->path);

    if (!d)
        return -1;
    if (seen_add(s, dirfd(d)) && entries_look(s, d, p, &s->places, &s->links)) {
        places_clear(&s->places, n);
        places_clear(&s->links, n_links);
        run_add(s, strdup(p->path));
    }
    closedir(d);
    s->searched++;
    return 0;
}

/* Search all that is queued, in order, then the links, each with what is below it. */
static void queue_search(struct search *s)
{
    size_t next = 0, next_link = 0;

    while (!s->no_memory && s->searched < DIRECTORIES_MAX &&
           (next < s->places.n || next_link < s->links.n)) {
        struct place p =
            next < s->places.n ? s->places.list[next++] : s->links.list[next_link++];

        (void)place_search(s, &p); /* an unreadable one has no runs */
    }
    s->list->cut = s->list->cut || next < s->places.n || next_link < s->links.n;
}

static int paths_compare(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

int run_list_find(const char *dir, struct run_list *list, struct error *err)
{
    struct search s = {.list = list};
    struct place first = {strdup(dir), 0};
    size_t before = list->n;
    int rc = 0;

    if (!first.path)
        return error_no_memory(err);
    if (place_search(&s, &first) < 0)
        rc = fs_error(err, "open", dir);
    else
        queue_search(&s);
    if (list->n > before + 1)
        qsort(list->paths + before, list->n - before, sizeof *list->paths,
              paths_compare);
    free(first.path);
    places_clear(&s.places, 0);
    places_clear(&s.links, 0);
    free(s.places.list);
    free(s.links.list);
    tdestroy(s.seen, free);
    if (rc == 0 && s.no_memory)
        rc = error_no_memory(err);
    return rc;
}

int run_list_add(const char *path, struct run_list *list, struct error *err)
{
    size_t n = list->n;
    char quoted[QUOTE_TEXT_MAX];
    struct stat st;

    if (stat(path, &st) < 0)
        return fs_error(err, "open", path);
    if (!S_ISDIR(st.st_mode))
        return error_set(err, RAYTRAIN_EUSAGE,
                         "%s has no metrics; name the directory of a run",
                         quote(path, quoted));
    if (run_list_find(path, list, err) < 0)
        return -1;
    if (list->n > n)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "%s: this directory is not a run of raytrain, and there is none "
                     "below it",
                     quote(path, quoted));
}

void run_list_clear(struct run_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->paths[i]);
    free(list->paths);
    *list = (struct run_list){0};
}
