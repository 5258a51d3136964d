/* heartbeats.c - write and read the lines of the file of heartbeats. */
#include "config.h"

#include "protocol/heartbeats.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/run_dir.h"
#include "util/clock.h"
#include "util/fs.h"

int heartbeats_create(const char *log_dir, size_t nodes, struct error *err)
{
    char *path = run_dir_file(log_dir, HEARTBEATS_FILE);
    int rc;

    if (!path)
        return error_no_memory(err);
    rc = fs_replace_padded(path, "", 0, (uint64_t)nodes * HEARTBEATS_NODE_BYTES, 0666,
                           err);
    free(path);
    return rc;
}

/* A network file system keeps what was written until the file is closed or synced. This
 * sends it, but does not make the server wait for its disks. */
static int range_send(int fd, off_t from, off_t n)
{
    const unsigned all = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                         SYNC_FILE_RANGE_WAIT_AFTER;

    return sync_file_range(fd, from, n, all) == 0 ? 0 : fdatasync(fd);
}

int heartbeats_write(int fd, size_t place, unsigned long count, const char *node)
{
    off_t at = (off_t)place * HEARTBEATS_NODE_BYTES;
    char line[HEARTBEAT_BYTES + 1];
    int n = snprintf(line, sizeof line, "%lu %.3f %ld %.*s", count, clock_unix_double(),
                     (long)getpid(), HEARTBEAT_NAME_MAX, node);

    memset(line + n, ' ', HEARTBEAT_BYTES - (size_t)n);
    line[HEARTBEAT_BYTES - 1] = '\n';
    if (fs_pwrite_full(fd, line, HEARTBEAT_BYTES, (uint64_t)at) < 0)
        return -1;
    return range_send(fd, at, HEARTBEAT_BYTES);
}

bool heartbeats_read(int fd, size_t place, char line[HEARTBEAT_BYTES + 1])
{
    off_t at = (off_t)place * HEARTBEATS_NODE_BYTES;

    line[HEARTBEAT_BYTES] = '\0';
    return pread(fd, line, HEARTBEAT_BYTES, at) == HEARTBEAT_BYTES && line[0];
}

bool heartbeats_node(const char *line, char node[HEARTBEAT_NAME_MAX + 1])
{
    return sscanf(line, "%*u %*f %*d %64s", node) == 1;
}
