/*
 * file_view.h - the bytes of a file as memory, which is the fastest way to bytes that
 * the system has in its cache: they are copied once, and no call is made for each row.
 *
 * A mapping has two dangers, which are dealt with here. Bytes that the file has lost,
 * or that cannot be read, are a SIGBUS: it ends the work on the view, which then was in
 * vain, and pread(2) says what is wrong. And every page that was used counts as this
 * process's memory, although the node's processes share it and the system may take it
 * back: so only files are viewed that are small against the memory that is available.
 */
#ifndef RAYTRAIN_DATA_FILE_VIEW_H
#define RAYTRAIN_DATA_FILE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_view;

/* Map the first `size` bytes; fd stays the caller's, and open. NULL if that is not
 * possible, or reading is better, as on other nodes' and unknown file systems. */
struct file_view *file_view_create(int fd, uint64_t size);
/*
 * Call work() with the n bytes from offset on, which must be below `size`. False if
 * they were not all there: then what work() did is of no use, and it may have been left
 * at any access to the bytes. So it holds no lock and no memory. The calling thread no
 * longer blocks SIGBUS. One thread at a time.
 */
bool file_view_use(struct file_view *v, uint64_t offset, size_t n,
                   void (*work)(void *arg, const unsigned char *bytes), void *arg);
void file_view_destroy(struct file_view *v); /* NULL is fine */

#endif
