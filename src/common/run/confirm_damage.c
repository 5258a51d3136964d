/*
 * confirm_damage.c - is a checkpoint that seemed damaged? One rank's word is not
 * enough to give it another name: a node may have had an old page of it, or half of it.
 */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "checkpoint/checkpoint_impl.h"
#include "run/checkpoint_manager.h"

/* Ask this node to drop its cached pages of the file; it may not do so. */
static void cache_drop(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return;
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

/* This rank's look, by a new descriptor, at everything but the tensors, and at the parts
 * of the tensors that are its to read. *ck is NULL if it cannot be opened. */
static bool looks_damaged(const struct comm *comm, const char *path,
                          raytrain_checkpoint **ck)
{
    struct error why = {0};

    cache_drop(path);
    *ck = NULL;
    return (checkpoint_open_index(path, ck, &why) < 0 ||
            verify_share(*ck, comm->rank, comm->size, &why) < 0) &&
           why.code == RAYTRAIN_ECORRUPT;
}

/* Rank 0: does it see any of the damage that others have? */
static bool damage_seen(const raytrain_checkpoint *ck, const char *damaged, int size)
{
    struct error why = {0};

    for (int r = 0; r < size; r++)
        if (damaged[r] && verify_share(ck, r, size, &why) < 0 &&
            why.code == RAYTRAIN_ECORRUPT)
            return true;
    return false;
}

int checkpoint_confirm_damage(struct comm *comm, const char *path, enum damage *damage,
                              struct error *err)
{
    char *damaged = calloc((size_t)comm->size, 1), mine;
    raytrain_checkpoint *ck = NULL;
    uint32_t found = DAMAGE_NONE;
    int rc = comm_agree(
        comm, damaged ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory"), err);

    mine = rc == 0 && looks_damaged(comm, path, &ck);
    if (rc == 0)
        rc = comm->ops->allgather(comm, &mine, sizeof mine, damaged, err);
    for (int r = 0; rc == 0 && r < comm->size; r++)
        if (damaged[r])
            found = DAMAGE_DOUBTED;
    if (found == DAMAGE_DOUBTED && comm->rank == 0 &&
        (mine || (ck && damage_seen(ck, damaged, comm->size))))
        found = DAMAGE_CONFIRMED;
    if (rc == 0)
        rc = comm->ops->bcast(comm, &found, sizeof found, 0, err);
    *damage = (enum damage)found;
    checkpoint_destroy(ck);
    free(damaged);
    return rc;
}
