/*
 * data_files.h - the files of a dataset. Its path is a file, a directory or a pattern
 * of glob(7). If a file or directory has exactly this name, the path is not taken for a
 * pattern.
 */
#ifndef RAYTRAIN_CONFIG_DATA_FILES_H
#define RAYTRAIN_CONFIG_DATA_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

struct data_files {
    char **paths; /* in the order of their bytes, in any locale */
    size_t n;     /* at least 1 */
    /* The other files in the directory, or that match the pattern, and are not hidden;
     * in the same order. Labels of IDX files are not among these. */
    char **others;
    size_t n_others;
};

/*
 * For a directory: those of its files that are not hidden and have an ending of the
 * format, in upper or lower case (NULL: of any format, but then *.txt files are not
 * data). For a pattern: the matches that are not directories. RAYTRAIN_ENOTFOUND if
 * there is none. On failure *out is empty.
 */
int data_files_list(const char *path, const char *format, struct data_files *out,
                    struct error *err);
void data_files_clear(struct data_files *files);

/* The text format of a file with this name, such as "csv", or NULL. */
const char *data_files_text_format(const char *path);
/* Is this a text format? */
bool data_files_is_text(const char *format);

/* Is there such a file or directory, or one that matches the pattern? */
bool data_files_exist(const char *path);

/* Make a path absolute. The working directory is escaped, so that a pattern
 * stays one. */
int data_files_absolute(char **path, struct error *err);

#endif
