/* checkpoint_hdf5.c - open a checkpoint with HDF5, and look for a group. */
#include "config.h"
#include "checkpoint/checkpoint_hdf5.h"

#include <string.h>

#include "checkpoint/checkpoint_impl.h"

#define GROUP_ROOM 256

hid_t checkpoint_hdf5_open(const raytrain_checkpoint *ck, struct error *err)
{
    struct h5_quiet quiet;
    hid_t file;

    h5_quiet_begin(&quiet);
    file = h5_open_fd(ck->fd, err);
    h5_quiet_end(&quiet);
    if (file < 0)
        error_prefix(err, "%s", ck->path);
    return file;
}

/* Each group on the way must exist, or HDF5 takes the question for an error. */
bool checkpoint_hdf5_has(hid_t file, const char *group)
{
    char path[GROUP_ROOM];
    size_t n = strlen(group);

    if (n >= sizeof path)
        return false;
    for (size_t i = 1; i <= n; i++) {
        if (group[i] != '/' && group[i] != '\0')
            continue;
        memcpy(path, group, i);
        path[i] = '\0';
        if (H5Lexists(file, path, H5P_DEFAULT) <= 0)
            return false;
    }
    return true;
}
