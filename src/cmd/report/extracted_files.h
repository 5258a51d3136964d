/* extracted_files.h - the files of the checkpoint that this attempt starts from. */
#ifndef RAYTRAIN_CMD_REPORT_EXTRACTED_FILES_H
#define RAYTRAIN_CMD_REPORT_EXTRACTED_FILES_H

#include <stdbool.h>

#include "protocol/session_client.h"

/* Write them into a directory, which is created; *found: whether there is such a
 * checkpoint. */
int extracted_files_write(struct session_client *c, const char *directory, bool *found,
                          struct error *err);

#endif
