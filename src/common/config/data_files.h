/*
 * data_files.h - the files of a dataset. Its path is a file, a directory or a pattern of
 * glob(7); what is there under that very name is never taken for a pattern.
 */
#ifndef RAYTRAIN_CONFIG_DATA_FILES_H
#define RAYTRAIN_CONFIG_DATA_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

struct data_files {
    char **paths; /* in the order of their bytes, in any locale */
    size_t n;     /* at least 1 */
    /* What else there is in the directory, or matches the pattern, and is not hidden;
     * in the same order. Labels of IDX files are not among these. */
    char **others;
    size_t n_others;
};

/*
 * Of a directory, those of its files that are not hidden and have an ending of the
 * format in any case of its letters (NULL: of any format, but *.txt are no data then);
 * of a pattern, what matches it and is no directory. RAYTRAIN_ENOTFOUND if there is
 * none. On failure *out is empty.
 */
int data_files_list(const char *path, const char *format, struct data_files *out,
                    struct error *err);
void data_files_clear(struct data_files *files);

/* The format of text of a file with this name, "csv", or NULL. */
const char *data_files_text_format(const char *path);
/* Is this a format of text? */
bool data_files_is_text(const char *format);

/* Is there such a file or directory, or one that matches the pattern? */
bool data_files_exist(const char *path);

/* Make a path absolute; a pattern remains one, wherever the working directory is. */
int data_files_absolute(char **path, struct error *err);

#endif
