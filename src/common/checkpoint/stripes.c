/*
 * stripes.c - ask lfs, the tool of Lustre, for the layout of a directory, and let it
 * create a file with stripes.
 */
#include "checkpoint/stripes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "util/command_output.h"

#define LUSTRE       0x0bd00bd0 /* its number in statfs(2) */
#define STRIPE_BYTES (UINT64_C(1) << 30)
#define LIMIT_S      5.0 /* for each of two calls of lfs */

static atomic_int most_stripes;

/* ---- Failures ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct error failure;
static bool has_failed, was_told;

static void failure_keep(const struct error *err)
{
    if (err->code == RAYTRAIN_ENOTFOUND)
        return; /* lfs is not installed on this node */
    pthread_mutex_lock(&lock);
    has_failed = true;
    failure = *err;
    pthread_mutex_unlock(&lock);
}

bool stripes_failed(struct error *why)
{
    bool news;

    pthread_mutex_lock(&lock);
    news = has_failed && !was_told;
    if (news) {
        was_told = true;
        *why = failure;
    }
    pthread_mutex_unlock(&lock);
    if (news)
        error_prefix(why, "a checkpoint lies on one disk of the Lustre file system, "
                          "which may be slow");
    return news;
}

/* ---- lfs ---- */

/* The last line that it prints counts, since it may warn first. */
static int lfs_run(char *const *argv, char last[32], struct error *err)
{
    char *text = NULL, *line;
    int rc = command_output(argv, LIMIT_S, &text, err);

    if (rc == 0 && last) {
        line = strrchr(text, '\n');
        snprintf(last, 32, "%s", line ? line + 1 : text);
    }
    free(text);
    return rc;
}

/* Has a new file there one stripe, unless something else is asked for? */
static bool directory_is_plain(const char *dir, struct error *err)
{
    char *argv[] = {(char *)"lfs", (char *)"getstripe", (char *)"-d",
                    (char *)"-c",  (char *)dir,         NULL};
    char count[32];

    if (lfs_run(argv, count, err) < 0) {
        failure_keep(err);
        return false;
    }
    return strcmp(count, "1") == 0 || strcmp(count, "0") == 0;
}

static bool striped_file_create(const char *path, int stripes, struct error *err)
{
    char count[16];
    char *argv[] = {(char *)"lfs", (char *)"setstripe", (char *)"-c",
                    count,         (char *)path,        NULL};

    snprintf(count, sizeof count, "%d", stripes);
    if (lfs_run(argv, NULL, err) == 0 && access(path, F_OK) == 0)
        return true;
    failure_keep(err);
    unlink(path); /* if it was killed, it may have created it */
    return false;
}

/* ---- A new file ---- */

void stripes_set(int most)
{
    atomic_store(&most_stripes, most);
}

int stripes_choose(int most, uint64_t bytes)
{
    uint64_t wanted = bytes / STRIPE_BYTES + (bytes % STRIPE_BYTES > 0);

    return wanted < (uint64_t)most ? (int)wanted : most;
}

static bool on_lustre(const char *dir)
{
    struct statfs fs;

    return statfs(dir, &fs) == 0 && ((unsigned long)fs.f_type & 0xffffffff) == LUSTRE;
}

bool stripes_create(const char *path, uint64_t bytes)
{
    int stripes = stripes_choose(atomic_load(&most_stripes), bytes);
    const char *slash = strrchr(path, '/');
    char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    struct error err;
    bool done = stripes > 1 && dir && on_lustre(dir) && directory_is_plain(dir, &err) &&
                striped_file_create(path, stripes, &err);

    free(dir);
    return done;
}
