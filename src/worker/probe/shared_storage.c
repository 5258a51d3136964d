/*
 * shared_storage.c - the steps of the trial: rank 0 acts, all wait for each other, and
 * the first rank of each node looks at the files.
 */
#include "probe/shared_storage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fs.h"
#include "util/run_record.h"

#define PIECE ((size_t)100) /* bytes; many of them share a page */

enum file { FILE_NEW, FILE_LATE, FILE_OTHER, FILE_LOCK, FILE_PAGE, FILES };

struct storage_trial {
    struct comm *comm;
    const struct world *world;
    char *path[FILES];
    int lock; /* rank 0's descriptor */
    json_t *seen;
};

static bool looks(const struct storage_trial *t)
{
    return t->world->local_rank == 0;
}

static void note(struct storage_trial *t, const char *key, bool is)
{
    json_object_set_new(t->seen, key, json_boolean(is));
}

/* ---- Rank 0 ---- */

static int piece_write(const char *path, int flags, char byte, uint64_t offset,
                       struct error *err)
{
    char piece[PIECE];
    int fd = open(path, flags | O_CLOEXEC, 0666), rc;

    if (fd < 0)
        return fs_error(err, "open", path);
    memset(piece, byte, sizeof piece);
    rc = fs_pwrite_full(fd, piece, sizeof piece, offset) < 0 || fsync(fd) < 0
             ? fs_error(err, "write", path)
             : 0;
    close(fd);
    return rc;
}

static int act_create(struct storage_trial *t, struct error *err)
{
    if (piece_write(t->path[FILE_NEW], FS_CREATE, 'a', 0, err) < 0 ||
        piece_write(t->path[FILE_LATE], FS_CREATE, 'a', 0, err) < 0)
        return -1;
    return piece_write(t->path[FILE_PAGE], FS_CREATE, '0', 0, err);
}

static int act_change(struct storage_trial *t, struct error *err)
{
    if (piece_write(t->path[FILE_NEW], O_RDWR, 'b', 0, err) < 0)
        return -1;
    return piece_write(t->path[FILE_NEW], O_RDWR, 'b', PIECE, err);
}

static int act_rename(struct storage_trial *t, struct error *err)
{
    if (piece_write(t->path[FILE_OTHER], FS_CREATE, 'c', 0, err) < 0)
        return -1;
    return rename(t->path[FILE_OTHER], t->path[FILE_NEW]) < 0
               ? fs_error(err, "rename", t->path[FILE_OTHER])
               : 0;
}

static int act_lock(struct storage_trial *t, struct error *err)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    t->lock = open(t->path[FILE_LOCK], FS_CREATE, 0666);
    if (t->lock < 0)
        return fs_error(err, "create", t->path[FILE_LOCK]);
    /* The ranks that look find out, too, if a lock has failed. */
    (void)fcntl(t->lock, F_SETLK, &whole);
    (void)flock(t->lock, LOCK_EX | LOCK_NB);
    return 0;
}

/* ---- The first rank of each node ---- */

/* The first byte at an offset; 0: there is none. */
static char byte_at(const char *path, uint64_t offset, uint64_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st = {0};
    char byte = 0;

    if (fd < 0)
        return 0;
    if (fstat(fd, &st) < 0 || fs_pread_full(fd, &byte, 1, offset) < 0)
        byte = 0;
    if (size)
        *size = (uint64_t)st.st_size;
    close(fd);
    return byte;
}

/* A node may cache for some time that the file does not exist. */
static void look_absent(struct storage_trial *t)
{
    struct stat st;

    (void)stat(t->path[FILE_LATE], &st);
}

static void look_new(struct storage_trial *t)
{
    note(t, "appears", byte_at(t->path[FILE_NEW], 0, NULL) == 'a');
    note(t, "absent", byte_at(t->path[FILE_LATE], 0, NULL) == 'a');
}

static void look_changed(struct storage_trial *t)
{
    uint64_t size = 0;

    note(t, "changes", byte_at(t->path[FILE_NEW], 0, &size) == 'b');
    note(t, "grows", size == 2 * PIECE);
}

static void look_renamed(struct storage_trial *t)
{
    note(t, "renamed", byte_at(t->path[FILE_NEW], 0, NULL) == 'c');
}

/* rc: the result of an attempt to take a lock that rank 0 holds. */
static void lock_note(struct storage_trial *t, const char *key, int rc)
{
    if (rc == 0 || errno == EWOULDBLOCK || errno == EACCES)
        note(t, key, rc < 0);
    else
        json_object_set_new(t->seen, key, json_string(strerror(errno)));
}

static void look_locked(struct storage_trial *t)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd;

    if (t->comm->rank == 0)
        return;
    fd = record_open(t->path[FILE_LOCK], RECORD_OF_RUN);
    if (fd >= 0)
        close(fd);
    fd = open(t->path[FILE_LOCK], O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        const char *why = strerror(errno);

        json_object_set_new(t->seen, "flock", json_string(why));
        json_object_set_new(t->seen, "fcntl", json_string(why));
        return;
    }
    lock_note(t, "flock", flock(fd, LOCK_EX | LOCK_NB));
    lock_note(t, "fcntl", fcntl(fd, F_SETLK, &whole));
    close(fd);
}

static void look_page(struct storage_trial *t)
{
    int node = t->world->node_rank;
    struct error unheard;

    piece_write(t->path[FILE_PAGE], O_WRONLY, (char)('A' + node % 26),
                (uint64_t)node * PIECE, &unheard);
}

/* Rank 0 checks what all nodes wrote, for all of them. */
static void page_judge(struct storage_trial *t, bool *kept)
{
    fs_look_again(t->path[FILE_PAGE]);
    for (int i = 0; i < t->world->n_nodes; i++)
        kept[i] =
            byte_at(t->path[FILE_PAGE], (uint64_t)i * PIECE, NULL) == 'A' + i % 26;
}

/* ---- The steps ---- */

static const struct {
    int (*act)(struct storage_trial *t, struct error *err);
    void (*look)(struct storage_trial *t);
} steps[] = {
    {NULL, look_absent},        {act_create, look_new},  {act_change, look_changed},
    {act_rename, look_renamed}, {act_lock, look_locked}, {NULL, look_page},
};

static int trial_steps_make(struct storage_trial *t, struct error *err)
{
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        int rc = 0;

        if (t->comm->rank == 0 && steps[i].act)
            rc = steps[i].act(t, err);
        if (comm_agree(t->comm, rc, err) < 0)
            return -1;
        if (looks(t))
            steps[i].look(t);
        if (t->comm->ops->barrier(t->comm, err) < 0)
            return -1;
    }
    return 0;
}

static int page_share(struct storage_trial *t, struct error *err)
{
    size_t n = (size_t)t->world->n_nodes;
    bool *kept = calloc(n, sizeof *kept);
    int rc = kept ? 0 : error_no_memory(err);

    rc = comm_agree(t->comm, rc, err);
    if (rc == 0 && t->comm->rank == 0)
        page_judge(t, kept);
    if (rc == 0)
        rc = t->comm->ops->bcast(t->comm, kept, n * sizeof *kept, 0, err);
    if (rc == 0 && looks(t))
        note(t, "same_page", kept[t->world->node_rank]);
    free(kept);
    return rc;
}

static int paths_make(struct storage_trial *t, const char *dir, struct error *err)
{
    for (int i = 0; i < FILES; i++)
        if (asprintf(&t->path[i], "%s/shared-%d", dir, i) < 0) {
            t->path[i] = NULL;
            return error_no_memory(err);
        }
    return 0;
}

int shared_storage_try(struct comm *comm, const struct world *world, const char *dir,
                       json_t **seen, struct error *err)
{
    struct storage_trial t = {
        .comm = comm, .world = world, .lock = -1, .seen = json_object()};
    int rc = comm_agree(comm, paths_make(&t, dir, err), err);

    if (rc == 0)
        rc = trial_steps_make(&t, err);
    if (rc == 0)
        rc = page_share(&t, err);
    if (t.lock >= 0)
        close(t.lock);
    for (int i = 0; i < FILES; i++) {
        if (comm->rank == 0 && t.path[i])
            unlink(t.path[i]);
        free(t.path[i]);
    }
    if (rc < 0)
        json_decref(t.seen);
    else
        *seen = t.seen;
    return rc;
}
