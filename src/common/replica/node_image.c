/*
 * node_image.c - the directory and the names of node images, and the table in an image
 * of the chunks that it has. image_write.c fills images, image_copy.c copies them.
 */
#include "config.h"

#include "replica/node_image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/checksum.h"
#include "util/fs.h"

#define HELD_MAGIC   "raytrain\r\n\x1a\nheld" /* 16 bytes, no NUL */
#define HELD_VERSION 1
#define IMAGE_ENDING CHECKPOINT_ENDING
#define HELD_ENDING  ".held"

struct held_head {
    char magic[16];
    uint32_t version;
    uint32_t reserved;
    char run_id[RUN_ID_LENGTH];
    int64_t training_iteration;
    uint64_t file_bytes;
    uint64_t head_hash; /* of the image that it belongs to */
    uint64_t n_chunks;
    uint64_t hash; /* XXH3-64 of all before this field, then of the bits */
};
static_assert(sizeof(struct held_head) == 96, "no padding");

/* ---- The directory ---- */

char *image_dir_path(const char *base, const char *id)
{
    char *path;

    return asprintf(&path, "%s/raytrain-%ld-%s", base, (long)geteuid(), id) < 0 ? NULL
                                                                                : path;
}

/* Another user may have made the directory, to read or to forge what this process
 * writes. */
static int dir_check(const char *path, struct error *err)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return fs_error(err, "look at", path);
    if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0)
        return 0;
    return error_set(err, RAYTRAIN_ESTORAGE,
                     "%s is not a directory of yours that is closed to others: remove "
                     "it, or ask its owner to",
                     path);
}

/* If its contents must survive a power failure, so must its name. */
static int dir_make(const char *base, const struct image_dir *dir, struct error *err)
{
    if ((dir->durable ? fs_mkdirs_durable : fs_mkdirs)(base, 0777, err) < 0)
        return -1;
    if (mkdir(dir->path, 0700) == 0)
        return dir->durable ? fs_sync_parent(dir->path, err) : 0;
    return errno == EEXIST ? 0 : fs_error(err, "create directory", dir->path);
}

static bool id_is_valid(const char *id)
{
    return strlen(id) == RUN_ID_LENGTH &&
           strspn(id, "0123456789abcdef") == RUN_ID_LENGTH;
}

int image_dir_enter(const char *base, const char *id, bool durable,
                    struct image_dir *dir, struct error *err)
{
    *dir = (struct image_dir){.durable = durable};
    if (!id_is_valid(id))
        return error_set(err, RAYTRAIN_EINVAL, "this is not the id of a run");
    memcpy(dir->id, id, sizeof dir->id);
    dir->path = image_dir_path(base, id);
    if (!dir->path)
        return error_no_memory(err);
    if (dir_make(base, dir, err) == 0 && dir_check(dir->path, err) == 0)
        return 0;
    image_dir_leave(dir);
    return -1;
}

void image_dir_leave(struct image_dir *dir)
{
    free(dir->path);
    dir->path = NULL;
}

int image_dir_remove(const char *base, const char *id, struct error *err)
{
    char *path = id_is_valid(id) ? image_dir_path(base, id) : NULL;
    int rc;

    if (!path)
        return error_set(err, RAYTRAIN_EINVAL, "this is not the id of a run");
    rc = fs_remove_tree(path, err);
    free(path);
    return rc;
}

/* ---- Names ---- */

char *image_path(const struct image_dir *dir, int64_t iteration)
{
    return checkpoint_name_path(dir->path, iteration, IMAGE_ENDING);
}

static char *held_path(const struct image_dir *dir, int64_t iteration)
{
    return checkpoint_name_path(dir->path, iteration, HELD_ENDING);
}

int image_list(const struct image_dir *dir, int64_t *iterations, int max)
{
    DIR *d = opendir(dir->path);
    struct dirent *e;
    int n = 0;

    while (d && n < max && (e = readdir(d))) {
        int64_t k = checkpoint_name_iteration(e->d_name, IMAGE_ENDING);

        if (k >= 0)
            iterations[n++] = k;
    }
    if (d)
        closedir(d);
    if (n > 1)
        qsort(iterations, (size_t)n, sizeof *iterations, iteration_descending);
    return n;
}

static bool is_later(const char *name, int64_t than)
{
    int64_t k = checkpoint_name_iteration(name, IMAGE_ENDING);

    if (k < 0)
        k = checkpoint_name_iteration(name, HELD_ENDING);
    return k >= 0 && k > than;
}

void image_tidy(const struct image_dir *dir, int64_t upto)
{
    DIR *d = opendir(dir->path);
    struct dirent *e;

    while (d && (e = readdir(d)))
        if (!is_later(e->d_name, upto))
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
}

/* ---- Images ---- */

int image_create(const struct image_dir *dir, int64_t iteration, uint64_t bytes,
                 struct error *err)
{
    char *path = image_path(dir, iteration);
    int fd;

    if (!path)
        return error_no_memory(err);
    image_remove(dir, iteration);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0) {
        fs_error(err, "create", path);
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    free(path);
    return fd;
}

int image_open(const struct image_dir *dir, int64_t iteration, struct error *err)
{
    char *path = image_path(dir, iteration);
    int fd;

    if (!path)
        return error_no_memory(err);
    fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        fs_error(err, "open", path);
    free(path);
    return fd;
}

/* The list first: without it the image is not complete. */
void image_remove(const struct image_dir *dir, int64_t iteration)
{
    static const char *const endings[] = {HELD_ENDING, IMAGE_ENDING};

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char *path = checkpoint_name_path(dir->path, iteration, endings[i]);

        if (path)
            unlink(path);
        free(path);
    }
}

/* ---- Which chunks are there ---- */

uint64_t held_bytes(uint64_t n_chunks)
{
    return n_chunks / 8 + (n_chunks % 8 != 0);
}

bool held_get(const unsigned char *bits, uint64_t chunk)
{
    return bits[chunk / 8] >> chunk % 8 & 1;
}

void held_set(unsigned char *bits, uint64_t chunk)
{
    bits[chunk / 8] |= (unsigned char)(1u << chunk % 8);
}

static uint64_t held_hash(const struct held_head *head, const unsigned char *bits)
{
    uint64_t first = XXH3_64bits(head, offsetof(struct held_head, hash));

    return XXH3_64bits_withSeed(bits, held_bytes(head->n_chunks), first);
}

static void held_head_fill(struct held_head *h, const struct image_dir *dir,
                           int64_t iteration, const struct file_head *head)
{
    *h = (struct held_head){.version = HELD_VERSION,
                            .training_iteration = iteration,
                            .file_bytes = head->file_bytes,
                            .head_hash = head->head_hash,
                            .n_chunks = head->n_hashes};
    memcpy(h->magic, HELD_MAGIC, sizeof h->magic);
    memcpy(h->run_id, dir->id, sizeof h->run_id);
}

int held_write(const struct image_dir *dir, int64_t iteration,
               const struct file_head *head, const struct held *held, struct error *err)
{
    size_t n_bits = held_bytes(held->n_chunks);
    char *path = held_path(dir, iteration);
    char *data = malloc(sizeof(struct held_head) + n_bits);
    struct held_head h;
    int rc = -1;

    if (!path || !data) {
        error_no_memory(err);
    } else {
        held_head_fill(&h, dir, iteration, head);
        h.hash = held_hash(&h, held->bits);
        memcpy(data, &h, sizeof h);
        memcpy(data + sizeof h, held->bits, n_bits);
        rc = fs_write_atomic(path, data, sizeof h + n_bits, 0600, err);
    }
    free(data);
    free(path);
    return rc;
}

/* The expected length is known: no number in the file has to be trusted. */
static int held_parse(const char *path, const struct held_head *want, struct held *held,
                      struct error *err)
{
    size_t n_bits = held_bytes(want->n_chunks), n = 0;
    struct held_head h;
    char *data = NULL;

    if (fs_read(path, &data, &n, err) < 0)
        return -1;
    held->n_chunks = want->n_chunks;
    held->bits = malloc(n_bits + 1);
    if (!held->bits) {
        free(data);
        return error_no_memory(err);
    }
    if (n == sizeof h + n_bits) {
        memcpy(&h, data, sizeof h);
        memcpy(held->bits, data + sizeof h, n_bits);
        if (memcmp(&h, want, offsetof(struct held_head, hash)) == 0 &&
            h.hash == held_hash(&h, held->bits)) {
            free(data);
            return 0;
        }
    }
    free(data);
    free(held->bits);
    held->bits = NULL;
    return error_set(err, RAYTRAIN_ECORRUPT,
                     "%s: it does not belong to the image beside it", path);
}

int held_read(const struct image_dir *dir, int64_t iteration,
              const struct file_head *head, struct held *held, struct error *err)
{
    char *path = held_path(dir, iteration);
    struct held_head want;
    int rc;

    *held = (struct held){0};
    if (!path)
        return error_no_memory(err);
    held_head_fill(&want, dir, iteration, head);
    rc = held_parse(path, &want, held, err);
    free(path);
    return rc;
}
