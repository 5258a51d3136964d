/* storage_facts.c - try the calls and the speed of a directory's file system. */
#include "site/storage_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/fs.h"
#include "util/quote.h"

#define BLOCK     ((size_t)1 << 20)
#define PAGE      4096
#define SYNC_MANY 5

/* Magic numbers of file systems, from <linux/magic.h> and the file systems
 * themselves. */
static const struct {
    unsigned long magic;
    const char *name;
} types[] = {
    {0xef53, "ext4"},      {0x58465342, "xfs"},      {0x9123683e, "btrfs"},
    {0x01021994, "tmpfs"}, {0x6969, "nfs"},          {0x0bd00bd0, "lustre"},
    {0x65735546, "fuse"},  {0x794c7630, "overlay"},  {0x19830326, "beegfs"},
    {0x47504653, "gpfs"},  {0x00c36400, "ceph"},     {0x2fc12fc1, "zfs"},
    {0x517b, "smb"},       {0xff534d42, "cifs"},     {0xfe534d42, "smb2"},
    {0x01021997, "9p"},    {0xaad7aaea, "panfs"},    {0x20030528, "orangefs"},
    {0x858458f6, "ramfs"}, {0x7461636f, "ocfs2"},    {0x01161970, "gfs2"},
    {0xf2f52010, "f2fs"},  {0x6a656a63, "virtiofs"},
};

void storage_type(const char *path, char type[32])
{
    struct statfs fs;

    snprintf(type, 32, "unknown");
    if (statfs(path, &fs) < 0)
        return;
    snprintf(type, 32, "0x%lx", (unsigned long)fs.f_type);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].magic == ((unsigned long)fs.f_type & 0xffffffff))
            snprintf(type, 32, "%s", types[i].name);
}

static void facts_of_space(json_t *facts, const char *dir)
{
    struct statvfs fs;
    char type[32];

    storage_type(dir, type);
    json_object_set_new(facts, "type", json_string(type));
    if (statvfs(dir, &fs) < 0)
        return;
    json_object_set_new(
        facts, "size", json_integer((json_int_t)fs.f_blocks * (json_int_t)fs.f_frsize));
    json_object_set_new(
        facts, "free", json_integer((json_int_t)fs.f_bavail * (json_int_t)fs.f_frsize));
    json_object_set_new(
        facts, "inodes_free",
        json_integer(fs.f_files > 0 ? (json_int_t)fs.f_favail : (json_int_t)-1));
    json_object_set_new(facts, "read_only", json_boolean(fs.f_flag & ST_RDONLY));
}

/* Set the outcome of a step: true, or the reason; returns ok. */
static bool tried(json_t *facts, const char *step, bool ok)
{
    json_object_set_new(facts, step, ok ? json_true() : json_string(strerror(errno)));
    return ok;
}

static int blocks_write(int fd, size_t n_bytes)
{
    char *block = malloc(BLOCK);
    int rc = block ? 0 : -1;

    if (block)
        memset(block, 0x5a, BLOCK);
    for (size_t at = 0; rc == 0 && at < n_bytes; at += BLOCK)
        rc = fs_pwrite_full(fd, block, n_bytes - at < BLOCK ? n_bytes - at : BLOCK, at);
    free(block);
    return rc;
}

static void speed_try(json_t *facts, int fd, size_t n_bytes)
{
    double start = clock_now(), took;

    if (!tried(facts, "write", blocks_write(fd, n_bytes) == 0) ||
        !tried(facts, "sync", fsync(fd) == 0))
        return;
    took = clock_now() - start;
    json_object_set_new(facts, "write_bytes_s",
                        json_real((double)n_bytes / (took > 1e-9 ? took : 1e-9)));
}

/* Time the sync of a changed page. */
static void sync_try(json_t *facts, int fd)
{
    char page[PAGE];
    double start = clock_now();

    for (int i = 0; i < SYNC_MANY; i++) {
        memset(page, i, sizeof page);
        if (fs_pwrite_full(fd, page, sizeof page, 0) < 0 || fsync(fd) < 0)
            return;
    }
    json_object_set_new(facts, "sync_s", json_real((clock_now() - start) / SYNC_MANY));
}

static void locks_try(json_t *facts, int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    tried(facts, "fcntl", fcntl(fd, F_SETLK, &whole) == 0);
    tried(facts, "flock", flock(fd, LOCK_EX | LOCK_NB) == 0);
    flock(fd, LOCK_UN);
}

static void file_try(json_t *facts, const char *name, const char *renamed,
                     size_t n_bytes)
{
    int fd = open(name, FS_CREATE | O_EXCL, 0600);

    if (!tried(facts, "create", fd >= 0))
        return;
    locks_try(facts, fd);
    speed_try(facts, fd, n_bytes);
    sync_try(facts, fd);
    close(fd);
    tried(facts, "rename", rename(name, renamed) == 0);
    unlink(name);
    unlink(renamed);
}

json_t *storage_facts(const char *dir, size_t n_bytes)
{
    char *path = NULL, *name = NULL, *renamed = NULL;
    json_t *facts = json_object();

    if (asprintf(&path, "%s/check", dir) < 0)
        path = NULL;
    if (path)
        name = fs_temp_name(path);
    if (name && asprintf(&renamed, "%s.renamed", name) < 0)
        renamed = NULL;
    if (!facts || !renamed) {
        json_decref(facts);
        facts = NULL;
    } else {
        json_object_set_new(facts, "path", json_text(dir));
        facts_of_space(facts, dir);
        file_try(facts, name, renamed, n_bytes);
    }
    free(renamed);
    free(name);
    free(path);
    return facts;
}
