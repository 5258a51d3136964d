/* storage_owner.c - check the owners and modes of a directory and of those above it. */
#include "site/storage_owner.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/quote.h"
#include "util/run_record.h"

/* In a user namespace with few users, such as a container without root, all other users
 * have the overflow id: the owners of the directories above are not known. */
static bool owners_hidden(const struct stat *st)
{
    FILE *map = fopen("/proc/self/uid_map", "re");
    unsigned long first, outer, n = 0;
    bool read = map && fscanf(map, "%lu %lu %lu", &first, &outer, &n) == 3;

    if (map)
        fclose(map);
    return read && n < 0xffffffffUL && st->st_uid == 65534;
}

static bool is_another(const struct stat *st)
{
    return st->st_uid != geteuid() && st->st_uid != 0 && !owners_hidden(st);
}

/* Check the directory of runs itself, which a group may share. */
static void own_judge(const char *path, json_t *facts)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct error err;
    struct stat st;

    if (fd < 0)
        return;
    if (record_check_dir(fd, path, &err) < 0)
        json_object_set_new(facts, "refused", json_text(err.text));
    if (fstat(fd, &st) == 0)
        json_object_set_new(facts, "shared", json_boolean(st.st_mode & S_IWGRP));
    close(fd);
}

/* Check one directory of the path; false: *why says who may replace what is in it. */
static bool part_judge(const char *path, bool above, char *why, size_t size)
{
    char quoted[QUOTE_TEXT_MAX];
    struct stat st;

    quote(path, quoted);
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && is_another(&st)) {
        snprintf(why, size, "%s is a link that another user (uid %lu) has made", quoted,
                 (unsigned long)st.st_uid);
        return false;
    }
    if (stat(path, &st) < 0)
        return true;
    if (above && is_another(&st)) {
        snprintf(why, size, "%s belongs to another user (uid %lu)", quoted,
                 (unsigned long)st.st_uid);
        return false;
    }
    if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX)) {
        snprintf(why, size, "all users may write to %s", quoted);
        return false;
    }
    return true;
}

/* Check a path with all directories above it, from the root on. */
static bool path_judge(const char *path, char *why, size_t size)
{
    char part[PATH_MAX];

    for (const char *end = path; *end;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
        if (!part_judge(part, end[strspn(end, "/")] != '\0', why, size))
            return false;
    }
    return true;
}

json_t *storage_owner(const char *path)
{
    json_t *facts = json_pack("{s:n, s:n, s:b}", "refused", "foreign", "shared", 0);
    char *real = realpath(path, NULL), why[QUOTE_TEXT_MAX + 128];

    if (!facts) {
        free(real);
        return NULL;
    }
    own_judge(path, facts);
    if (!path_judge(path, why, sizeof why) ||
        (real && !path_judge(real, why, sizeof why)))
        json_object_set_new(facts, "foreign", json_text(why));
    free(real);
    return facts;
}
