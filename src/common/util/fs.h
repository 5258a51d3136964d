/*
 * fs.h - files: whole reads and atomic whole writes, directories, and errors of the
 * file system as sentences.
 *
 * All of them fill err and return -1 on failure. A missing file is RAYTRAIN_ENOTFOUND,
 * everything else that the file system refuses RAYTRAIN_ESTORAGE; the text names the
 * path, the cause and, for a full or forbidden place, what to do about it. Paths in
 * texts have their control characters escaped.
 */
#ifndef RAYTRAIN_UTIL_FS_H
#define RAYTRAIN_UTIL_FS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"

/* mkdir -p: every missing part gets `mode` (less the umask). What is there already must
 * be a directory, or a link to one. */
int fs_mkdirs(const char *path, mode_t mode, struct error *err);

/* The same, and what it has made is there after a crash, too. */
int fs_mkdirs_durable(const char *path, mode_t mode, struct error *err);

/* Replace path by these bytes, durably: a reader sees the old file or the new one,
 * also after a crash. On failure the old one stands and no temporary is left. */
int fs_write_atomic(const char *path, const void *data, size_t n, mode_t mode,
                    struct error *err);

/* The same for what need not outlive a crash of the machine: nothing is synced. */
int fs_replace(const char *path, const void *data, size_t n, mode_t mode,
               struct error *err);

/* The same, unless there is such a file: -1 and errno EEXIST. */
int fs_create(const char *path, const void *data, size_t n, mode_t mode,
              struct error *err);

/* Make this node look again for what others have created, renamed or removed in the
 * directory of path: network storage may remember for a while that a name is not there,
 * but not beyond an open of its directory. */
void fs_look_again(const char *path);
/* Open a file for reading that another node may have just created. -1 and errno. */
int fs_open_fresh(const char *path);

/* The whole of a regular file, also one that another node has just created: *data is
 * malloc'ed and has a NUL behind its *n bytes (n may be NULL). */
int fs_read(const char *path, char **data, size_t *n, struct error *err);

/* Remove a file or a directory with all that is in it. Follows no link. What is not
 * there is no error. Goes on after a failure and tells the first. */
int fs_remove_tree(const char *path, struct error *err);

/* rename(2), unless the target exists: -1 and errno, EEXIST then. */
int fs_rename_new(const char *from, const char *to);

/* Make what anybody has written into a file durable. */
int fs_sync_file(const char *path, struct error *err);
/* Make names that were created, renamed or removed in a directory durable. */
int fs_sync_dir(const char *path, struct error *err);
/* The same for the directory that holds path. */
int fs_sync_parent(const char *path, struct error *err);

/* All n bytes, whatever signals and short writes come. 0, or -1 and errno. */
int fs_write_full(int fd, const void *data, size_t n);
int fs_pwrite_full(int fd, const void *data, size_t n, uint64_t offset);
/* The same for reading: -1 and errno, where the end of the file (before n bytes) is
 * ENODATA. */
int fs_pread_full(int fd, void *data, size_t n, uint64_t offset);

/* The current errno as a sentence, "cannot WHAT PATH: CAUSE: ADVICE". Returns -1. */
int fs_error(struct error *err, const char *what, const char *path);

/* The standard descriptors that are closed become ones that can neither be read nor
 * written, so that no file that is opened later gets their number, and with it what is
 * printed. At the start of main(). -1 and errno. */
int fs_hold_stdio(void);

/* A name next to path that does not exist, hidden, ".BASE.tmp-PID-RANDOM-PLACE-BORN":
 * malloc'ed, NULL without memory. Files of that form are nobody's once their writer is
 * dead. */
char *fs_temp_name(const char *path);

/*
 * Is this the name of such a file (without its directory), of a process that is dead, or
 * on another host or in another container, where its pid says nothing? Of the latter the
 * caller must know that they write it no more: it holds the run's lock, or works for the
 * one that does, and the name is one that no other run's processes use.
 */
bool fs_temp_is_left(const char *name);
/* Remove such files of path, under the same condition. */
void fs_remove_temps(const char *path);

/* A copy of text for a terminal or a log: control characters and bytes that are not
 * UTF-8 become \xHH. malloc'ed, NULL without memory. */
char *fs_printable(const char *text);

#endif
