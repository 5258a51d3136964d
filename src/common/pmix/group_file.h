/*
 * group_file.h - the nodes and ranks of a group, as the process of an embedded PMIx
 * server gets them from its owner: a file, since no argument of a program may be longer
 * than 128 KiB, which the names of 10,000 nodes are.
 */
#ifndef RAYTRAIN_PMIX_GROUP_FILE_H
#define RAYTRAIN_PMIX_GROUP_FILE_H

#include "util/error.h"

/* hosts, ranks: the lists that pmix_group_make() takes (namespace.h). */
int group_file_write(const char *dir, const char *hosts, const char *ranks,
                     struct error *err);
/* *text is malloc'ed, and the lists are in it. */
int group_file_read(const char *dir, char **text, const char **hosts,
                    const char **ranks, struct error *err);

#endif
