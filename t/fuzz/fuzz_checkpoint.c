/*
 * fuzz_checkpoint.c - opening any file as a checkpoint never crashes, hangs or leaks.
 * `make fuzz` builds it; t/check/store_sample creates files to start from.
 *
 * The checksums would reject nearly every input, so each one is tried three times: as it
 * is; with a corrected head; and without any checksums, directly as tables whose tensors
 * are then read and verified.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "checkpoint/chunks.h"
#include "checkpoint/index.h"
#include "util/fs.h"

#define READ_MAX                                                                       \
    (1u << 20) /* larger tensors are not read as a whole: malloc is limited here */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void items_read(raytrain_checkpoint *ck)
{
    struct checkpoint_item item;

    for (size_t i = 0; checkpoint_item(ck, i, &item); i++) {
        raytrain_tensor t;
        char *text;

        if (item.bytes > READ_MAX)
            continue;
        if (checkpoint_get_string(ck, item.name, &text, NULL) == 0)
            free(text);
        if (checkpoint_info(ck, item.name, &t, NULL) < 0)
            continue;
        t.data = malloc(item.bytes + 1);
        checkpoint_get(ck, item.name, &t, NULL, NULL);
        free(t.data);
    }
}

static void open_as_is(struct comm *self, const char *path)
{
    raytrain_checkpoint *ck;
    struct error err;

    if (checkpoint_open(self, path, &ck, &err) < 0)
        return;
    items_read(ck);
    checkpoint_destroy(ck);
}

/* Correct everything in the head that the reader compares. */
static void head_mend(struct file_head *head, size_t n)
{
    memcpy(head->magic, HEAD_MAGIC, sizeof head->magic);
    memcpy(head->mark, HEAD_COMPLETE, sizeof head->mark);
    head->version = FORMAT_VERSION;
    head->head_bytes = HEAD_BYTES;
    head->file_bytes = n;
    head->head_hash = XXH3_64bits(head, offsetof(struct file_head, head_hash));
}

static void chunks_read(const raytrain_checkpoint *ck)
{
    char *data = malloc(ck->head.chunk_bytes);
    struct chunk_walk walk;
    struct chunk c;

    chunk_walk_restored(&walk, ck);
    while (chunk_walk_next(&walk, &c))
        if (c.index >= ck->head.n_hashes || c.to - c.from > ck->head.chunk_bytes)
            abort();
        else
            chunk_read(ck->fd, &c, data);
    if (chunk_walk_end(&walk, NULL) < 0)
        abort();
    free(data);
}

/* The tables follow the head immediately; tensors are anywhere in the file. */
static void parse_past_checksums(int fd, const struct file_head *head,
                                 const uint8_t *tables, size_t n)
{
    raytrain_checkpoint *ck = checkpoint_create(NULL);
    struct error err;
    bool parsed = false;
    uint64_t want;

    if (!ck)
        return;
    ck->restored = true;
    ck->path = strdup("input");
    ck->head = *head;
    if (ck->head.chunk_bytes < 4096 || ck->head.chunk_bytes > READ_MAX)
        ck->head.chunk_bytes = 4096;
    ck->fd = dup(fd);
    if (index_bytes(&ck->head, &want) == 0 && want <= n &&
        ck->head.n_shapes + ck->head.n_hashes <= (n - want) / sizeof(uint64_t)) {
        ck->head.shapes_at = HEAD_BYTES + want;
        ck->head.hashes_at = ck->head.shapes_at + ck->head.n_shapes * sizeof(uint64_t);
        parsed = index_parse(ck, tables, want, &err) == 0;
    }
    if (parsed) {
        items_read(ck);
        chunks_read(ck);
        checkpoint_verify_share(ck, 0, 1, &err);
    }
    checkpoint_destroy(ck);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct comm *self = comm_self_create(NULL);
    int fd = memfd_create("input", MFD_CLOEXEC);
    struct file_head head;
    char path[64];

    if (fd < 0 || !self || fs_pwrite_full(fd, data, n, 0) < 0)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    open_as_is(self, path);
    if (n > sizeof head) {
        memcpy(&head, data, sizeof head);
        head_mend(&head, n);
        if (fs_pwrite_full(fd, &head, sizeof head, 0) < 0)
            abort();
        open_as_is(self, path);
        parse_past_checksums(fd, &head, data + sizeof head, n - sizeof head);
    }
    close(fd);
    comm_free(self);
    return 0;
}
