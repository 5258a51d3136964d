/*
 * file_view.h - the bytes of a file as memory, which is the fastest way to bytes that
 * the system has in its cache: they are copied once, and no call is made for each row.
 *
 * A mapping has two dangers. Bytes that the file has lost, or that cannot be read,
 * cause a SIGBUS: it ends the work on the view, whose result is discarded, and pread(2)
 * then reports what is wrong. And every page that was used counts as memory of this
 * process, although the node's processes share it and the system can reclaim it: so
 * only files that are small, compared with the available memory, are viewed.
 */
#ifndef RAYTRAIN_DATA_FILE_VIEW_H
#define RAYTRAIN_DATA_FILE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_view;

/* Maps the first `size` bytes; the caller keeps fd, and keeps it open. NULL if that is
 * not possible, or reading is better, as on remote and unknown file systems. */
struct file_view *file_view_create(int fd, uint64_t size);
/*
 * Calls work() with the n bytes from offset on, which must be below `size`. False if a
 * byte could not be read: then work() may have been left at any access to the bytes,
 * and its result is useless. So work() must not hold locks or memory. The calling
 * thread no longer blocks SIGBUS. Only one thread at a time may use a view.
 */
bool file_view_use(struct file_view *v, uint64_t offset, size_t n,
                   void (*work)(void *arg, const unsigned char *bytes), void *arg);
void file_view_destroy(struct file_view *v); /* NULL is fine */

#endif
