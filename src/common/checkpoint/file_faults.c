/* file_faults.c - what is wrong with the file of a checkpoint, as errors. */
#include "config.h"

#include <errno.h>

#include "checkpoint/checkpoint_impl.h"
#include "util/fs.h"

int checkpoint_damage(const raytrain_checkpoint *ck, struct error *err,
                      const char *what)
{
    return error_set(err, RAYTRAIN_ECORRUPT, "%s: %s", ck->path, what);
}

/* The length of the file was checked: it is being truncated, or the disk fails. */
int checkpoint_read_error(const raytrain_checkpoint *ck, struct error *err)
{
    if (errno == ENODATA)
        return checkpoint_damage(ck, err, "the file is truncated");
    return fs_error(err, "read", ck->path);
}

int tensor_fault(const raytrain_checkpoint *ck, const struct tensor_entry *e,
                 const char *what, struct error *err)
{
    return error_set(err, RAYTRAIN_ECORRUPT, "%s: dataset '%s': %s", ck->path, e->name,
                     what);
}
