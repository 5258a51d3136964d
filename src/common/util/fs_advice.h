/*
 * fs_advice.h - what else a user can do about files in a directory that is full, or
 * closed to them: another place is chosen by the option, key or variable that chose
 * this one. fs_error() advises so.
 */
#ifndef RAYTRAIN_UTIL_FS_ADVICE_H
#define RAYTRAIN_UTIL_FS_ADVICE_H

/* Of files below this directory, from now on. `way`, which stays as it is, follows an
 * "or": "choose another place with --storage". Before the threads of this process
 * start. Of several directories the longest counts. */
void fs_advice_set(const char *dir, const char *way);
/* Never NULL. */
const char *fs_advice(const char *path);

#endif
