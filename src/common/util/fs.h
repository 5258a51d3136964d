/*
 * fs.h - files: whole reads and atomic whole writes, directories, and errors of the
 * file system as sentences.
 *
 * All functions fill err and return -1 on failure. A missing file is
 * RAYTRAIN_ENOTFOUND, every other error of the file system RAYTRAIN_ESTORAGE. The text
 * names the path, the cause and, if the place is full or not writable, what to do about
 * it. Control characters in paths are escaped.
 */
#ifndef RAYTRAIN_UTIL_FS_H
#define RAYTRAIN_UTIL_FS_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"

/* For open(2), to create a file that is written in pieces. It is not write-only,
 * because storage that caches pages, such as FUSE, may read the rest of a page that is
 * written in part, by this descriptor. (A file that several nodes write, with parts of
 * one page each, is opened for writing only: see new_file.h.) A link is not followed,
 * since another user may have made it. */
#define FS_CREATE (O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC)
/* The same for a file that may exist. It also does not wait for the reader of a
 * FIFO. */
#define FS_WRITE (O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* mkdir -p: every missing component gets `mode` (minus the umask). Existing ones must
 * be directories, or links to directories. */
int fs_mkdirs(const char *path, mode_t mode, struct error *err);

/* The same, and the new directories survive a crash. */
int fs_mkdirs_durable(const char *path, mode_t mode, struct error *err);

/* Replace path by these bytes, durably: a reader sees the old file or the new one, even
 * after a crash. On failure the old one remains, and no temporary file is left. */
int fs_write_atomic(const char *path, const void *data, size_t n, mode_t mode,
                    struct error *err);

/* The same for data that need not survive a crash of the machine: nothing is synced. */
int fs_replace(const char *path, const void *data, size_t n, mode_t mode,
               struct error *err);

/* The same, with zero bytes after these n up to a length of at least n. */
int fs_replace_padded(const char *path, const void *data, size_t n, uint64_t length,
                      mode_t mode, struct error *err);

/* The same as fs_replace(), unless the file exists: -1 and errno EEXIST. */
int fs_create(const char *path, const void *data, size_t n, mode_t mode,
              struct error *err);

/* Make this node see names that others have created, renamed or removed in the
 * directory of path. Network storage may cache that a name does not exist, but drops
 * this when its directory is opened. */
void fs_look_again(const char *path);

/* Read a whole regular file that the user has named. It may be a link, and another node
 * may just have created it. *data is malloc'ed, with a NUL after its *n bytes (n may be
 * NULL). For the files of a run directory see util/run_record.h. */
int fs_read(const char *path, char **data, size_t *n, struct error *err);

/* Remove a file, or a directory with all its contents, without following links. It is
 * not an error if it does not exist. Continues after a failure, and reports the first
 * one. */
int fs_remove_tree(const char *path, struct error *err);

/* rename(2), unless the target exists: -1 and errno, EEXIST then. */
int fs_rename_new(const char *from, const char *to);

/* Make durable all data that any process has written to a file. */
int fs_sync_file(const char *path, struct error *err);
/* Make durable all names that were created, renamed or removed in a directory. */
int fs_sync_dir(const char *path, struct error *err);
/* The same for the directory that contains path. */
int fs_sync_parent(const char *path, struct error *err);

/* Write all n bytes, despite signals and short writes. 0, or -1 and errno. */
int fs_write_full(int fd, const void *data, size_t n);
int fs_pwrite_full(int fd, const void *data, size_t n, uint64_t offset);
/* The same for reading: -1 and errno, ENODATA if the file ends before n bytes. */
int fs_pread_full(int fd, void *data, size_t n, uint64_t offset);

/* The current errno as a sentence, "cannot WHAT PATH: CAUSE: ADVICE". Returns -1. */
int fs_error(struct error *err, const char *what, const char *path);

/* Open closed standard descriptors so that they can be neither read nor written: no
 * file that is opened later gets their numbers, and the output that was meant for them.
 * Call it at the start of main(). -1 and errno. */
int fs_hold_stdio(void);

/* A hidden name next to path that does not exist, ".BASE.tmp-PID-RANDOM-PLACE-BORN";
 * malloc'ed, NULL without memory. Such a file may be removed once its writer is
 * dead. */
char *fs_temp_name(const char *path);

/*
 * Is this the name (without directory) of such a file, left by a dead process, or by
 * one on another host or in another container, where its pid is not valid? For the
 * latter, the caller must be sure that they no longer write: it holds the lock of the
 * run, or works for the process that holds it, and processes of other runs do not use
 * the name.
 */
bool fs_temp_is_left(const char *name);
/* Remove such files next to path, under the same condition. */
void fs_remove_temps(const char *path);

#endif
