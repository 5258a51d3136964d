/*
 * fs_advice.h - what else a user can do if files do not fit into a directory, or may
 * not be written there: choose another place, by the option, key or variable that chose
 * this one. fs_error() adds this advice.
 */
#ifndef RAYTRAIN_UTIL_FS_ADVICE_H
#define RAYTRAIN_UTIL_FS_ADVICE_H

/* The beginning of the name of a private directory (private_dir.h), whose place TMPDIR
 * chooses. */
#define PRIVATE_DIR_PREFIX "raytrain-private-"

/* Set the advice for files below this directory. `way` is not copied; it follows an
 * "or": "choose another place with --storage". Call it before this process starts
 * threads. If several directories match, the longest counts. */
void fs_advice_set(const char *dir, const char *way);
/* Never NULL. */
const char *fs_advice(const char *path);

#endif
