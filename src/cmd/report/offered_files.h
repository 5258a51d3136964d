/* offered_files.h - the files that are reported as a checkpoint. */
#ifndef RAYTRAIN_CMD_REPORT_OFFERED_FILES_H
#define RAYTRAIN_CMD_REPORT_OFFERED_FILES_H

#include <jansson.h>
#include <stdint.h>

#include "protocol/session_wire.h"
#include "util/error.h"

struct offered_file {
    char *name; /* name in the checkpoint */
    char *path;
    uint64_t bytes;
};

struct offered_files {
    struct offered_file *list;
    size_t n;
    json_t *directories; /* names of empty directories; NULL: none */
};

/* Add a file by its own name, or the contents of a directory. Symbolic links to files
 * are followed, as long as they do not lead out of the directory. */
int offered_files_add(struct offered_files *f, const char *path, struct error *err);
void offered_files_clear(struct offered_files *f);

/* The member "checkpoint" of a report (worker/command/checkpoint_offer.h); NULL without
 * memory. */
json_t *offered_files_json(const struct offered_files *f);
/* Answer the question "copy": read all files into the shared memory. */
int offered_files_copy(const struct offered_files *f,
                       const struct wire_message *question, struct error *err);

#endif
