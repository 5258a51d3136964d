/*
 * fs.h - files: whole reads and atomic whole writes, directories, and errors of the
 * file system as sentences.
 *
 * All functions fill err and return -1 on failure. A missing file is
 * RAYTRAIN_ENOTFOUND, every other error of the file system RAYTRAIN_ESTORAGE. The text
 * names the path, the cause and, if the place is full or forbidden, what to do about
 * it; control characters in paths are escaped.
 */
#ifndef RAYTRAIN_UTIL_FS_H
#define RAYTRAIN_UTIL_FS_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"

/* For open(2), to create a file that is written in pieces. Not write-only: storage that
 * caches pages, such as FUSE, may read the rest of a page of which a part is written, and
 * does so by this descriptor. But a file of which several nodes write parts of one page
 * is opened for writing only, see new_file.h. A link is not followed: another user may
 * have made it. */
#define FS_CREATE (O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC)
/* The same for a file that may be there: nor does it wait for the reader of a FIFO. */
#define FS_WRITE (O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* mkdir -p: every missing component gets `mode` (minus the umask). Existing ones must
 * be directories, or links to them. */
int fs_mkdirs(const char *path, mode_t mode, struct error *err);

/* The same, and what was created survives a crash. */
int fs_mkdirs_durable(const char *path, mode_t mode, struct error *err);

/* Replace path by these bytes, durably: a reader sees the old file or the new one, also
 * after a crash. On failure the old one remains, and no temporary file is left. */
int fs_write_atomic(const char *path, const void *data, size_t n, mode_t mode,
                    struct error *err);

/* The same for what need not survive a crash of the machine: nothing is synced. */
int fs_replace(const char *path, const void *data, size_t n, mode_t mode,
               struct error *err);

/* The same, with zero bytes after these n up to a length of at least n. */
int fs_replace_padded(const char *path, const void *data, size_t n, uint64_t length,
                      mode_t mode, struct error *err);

/* The same as fs_replace(), unless the file exists: -1 and errno EEXIST. */
int fs_create(const char *path, const void *data, size_t n, mode_t mode,
              struct error *err);

/* Make this node notice what others have created, renamed or removed in the directory
 * of path: network storage may cache for a while that a name does not exist, but not
 * beyond opening its directory. */
void fs_look_again(const char *path);

/* Read a whole regular file that the user has named, which may be a link, also one that
 * another node has just created: *data is malloc'ed, with a NUL after its *n bytes (n
 * may be NULL). For the files of a run directory see util/run_record.h. */
int fs_read(const char *path, char **data, size_t *n, struct error *err);

/* Remove a file, or a directory with all that is in it. Follows no links. If it does
 * not exist, that is no error. Goes on after a failure, and reports the first one. */
int fs_remove_tree(const char *path, struct error *err);

/* rename(2), unless the target exists: -1 and errno, EEXIST then. */
int fs_rename_new(const char *from, const char *to);

/* Make durable what any process has written to a file. */
int fs_sync_file(const char *path, struct error *err);
/* Make durable which names were created, renamed or removed in a directory. */
int fs_sync_dir(const char *path, struct error *err);
/* The same for the directory that contains path. */
int fs_sync_parent(const char *path, struct error *err);

/* Write all n bytes, in spite of signals and short writes. 0, or -1 and errno. */
int fs_write_full(int fd, const void *data, size_t n);
int fs_pwrite_full(int fd, const void *data, size_t n, uint64_t offset);
/* The same for reading: -1 and errno, ENODATA if the file ends before n bytes. */
int fs_pread_full(int fd, void *data, size_t n, uint64_t offset);

/* The current errno as a sentence, "cannot WHAT PATH: CAUSE: ADVICE". Returns -1. */
int fs_error(struct error *err, const char *what, const char *path);

/* Open closed standard descriptors as ones that can be neither read nor written, so
 * that no file that is opened later gets their numbers, and the output. At the start of
 * main(). -1 and errno. */
int fs_hold_stdio(void);

/* A hidden name next to path that does not exist, ".BASE.tmp-PID-RANDOM-PLACE-BORN";
 * malloc'ed, NULL without memory. Such a file may be removed once its writer is
 * dead. */
char *fs_temp_name(const char *path);

/*
 * Is this the name (without directory) of such a file left by a dead process, or by one
 * on another host or in another container, where its pid is not valid? About the latter
 * the caller must know that they no longer write: it holds the lock of the run, or
 * works for the process that does, and processes of other runs do not use the name.
 */
bool fs_temp_is_left(const char *name);
/* Remove such files next to path, under the same condition. */
void fs_remove_temps(const char *path);

#endif
