/* save.h - a save between its stages. */
#ifndef RAYTRAIN_CHECKPOINT_SAVE_H
#define RAYTRAIN_CHECKPOINT_SAVE_H

#include "checkpoint/chunks.h"
#include "checkpoint/new_file.h"

struct shared_file;
struct save_layout;
struct checkpoint_save {
    raytrain_checkpoint *ck;
    struct comm *comm; /* of the stage */
    char *path;
    struct new_file file;            /* its temporary name is the same on every rank */
    struct shared_file *shared_file; /* while it is written */
    struct shares shares;
    uint64_t *hashes; /* of the chunks that this rank has written, in that order */
    size_t n_hashes;
    struct save_layout *layout;     /* with the plan and the image */
    struct save_layout *own_layout; /* NULL: the caller keeps it */
    struct plan mine;               /* of several nodes: what this rank needs of it */
    struct file_head head;          /* on rank 0 */
};

#endif
