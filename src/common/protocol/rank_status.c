/* rank_status.c - write the line of a rank, and read the lines of all ranks. */
#include "config.h"

#include "protocol/rank_status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/run_dir.h"
#include "util/async_text.h"
#include "util/fs.h"
#include "util/run_record.h"

#define RANK_BYTES  (RANK_STATUS_KINDS * RANK_STATUS_SLOT)
#define HEAD_BYTES  65536 /* "NODES RANKS-PER-NODE", and padding up to the first node */
#define NUMBER_ROOM 15

/* ---- Make ---- */

int rank_status_create(const char *log_dir, int nodes, int ranks_per_node,
                       struct error *err)
{
    char *path = run_dir_file(log_dir, RANK_STATUS_FILE);
    char head[RANK_STATUS_SLOT + 1];
    int n = snprintf(head, sizeof head, "%d %d\n", nodes, ranks_per_node), rc;

    if (!path)
        return error_no_memory(err);
    rc = fs_replace_padded(path, head, (size_t)n,
                           HEAD_BYTES + (uint64_t)nodes * RANK_STATUS_NODE_BYTES, 0666,
                           err);
    free(path);
    return rc;
}

/* ---- Write ---- */

void rank_status_place(struct rank_status_place *place, const char *log_dir, int rank,
                       int node, int local_rank)
{
    *place = (struct rank_status_place){
        .rank = rank, .node = node, .local_rank = local_rank};
    if ((size_t)snprintf(place->path, sizeof place->path, "%s/" RANK_STATUS_FILE,
                         log_dir) >= sizeof place->path ||
        local_rank >= RANK_STATUS_NODE_BYTES / RANK_BYTES)
        place->path[0] = '\0';
}

static uint64_t slot_offset(int node, int local_rank, enum rank_status_kind kind)
{
    return HEAD_BYTES + (uint64_t)node * RANK_STATUS_NODE_BYTES +
           (uint64_t)local_rank * RANK_BYTES + (uint64_t)kind * RANK_STATUS_SLOT;
}

/* A number, right-aligned in its field. */
static char *number_put(char *at, int64_t value)
{
    char number[ASYNC_NUMBER_MAX];
    size_t used = (size_t)(async_number(number, (uint64_t)value) - number);

    if (used < NUMBER_ROOM)
        memcpy(at + NUMBER_ROOM - used, number, used);
    return at + NUMBER_ROOM;
}

int rank_status_write(struct rank_status_place *place, enum rank_status_kind kind,
                      const char *call, int64_t calls)
{
    char slot[RANK_STATUS_SLOT], *at = slot + RANK_STATUS_CALL_MAX + 1;
    int fd, rc, saved;

    fd = place->path[0] ? open(place->path, FS_WRITE) : -1;
    if (fd < 0)
        return -1;
    memset(slot, ' ', sizeof slot);
    for (size_t i = 0; i < RANK_STATUS_CALL_MAX && call[i]; i++)
        slot[i] = call[i];
    at = number_put(at, place->rank);
    at = number_put(at, calls);
    number_put(at, ++place->times[kind]);
    slot[sizeof slot - 1] = '\n';
    rc = fs_pwrite_full(fd, slot, sizeof slot,
                        slot_offset(place->node, place->local_rank, kind));
    saved = errno;
    if (close(fd) < 0 && rc == 0)
        return -1;
    errno = saved;
    return rc;
}

/* ---- Read ---- */

/* Checks every field before it is used. Returns the rank, or -1 if no rank has written
 * here. */
static int slot_parse(const char *slot, struct rank_status *at)
{
    char line[RANK_STATUS_SLOT + 1] = "";
    long long rank, calls, times;

    memcpy(line, slot, RANK_STATUS_SLOT);
    if (sscanf(line + RANK_STATUS_CALL_MAX, "%lld %lld %lld", &rank, &calls, &times) !=
            3 ||
        rank < 0 || rank > INT_MAX || calls < 0 || times < 0)
        return -1;
    *at = (struct rank_status){.calls = calls, .times = times};
    for (size_t i = 0; i < RANK_STATUS_CALL_MAX; i++)
        at->call[i] = line[i] > ' ' && line[i] < 0x7f ? line[i] : ' ';
    for (size_t n = RANK_STATUS_CALL_MAX; n > 0 && at->call[n - 1] == ' '; n--)
        at->call[n - 1] = '\0';
    return (int)rank;
}

typedef bool slot_visit(void *arg, int rank, const struct rank_status *at);

/* Visit the ranks of a node, until `visit` returns false. */
static bool node_visit(int fd, int node, int ranks, enum rank_status_kind kind,
                       slot_visit *visit, void *arg)
{
    size_t bytes = (size_t)ranks * RANK_BYTES;
    char *slots = calloc(1, bytes);
    bool more = slots != NULL;

    if (slots && pread(fd, slots, bytes, (off_t)slot_offset(node, 0, 0)) > 0)
        for (int i = 0; more && i < ranks; i++) {
            struct rank_status at;
            int rank = slot_parse(
                slots + (size_t)i * RANK_BYTES + (size_t)kind * RANK_STATUS_SLOT, &at);

            more = rank < 0 || visit(arg, rank, &at);
        }
    free(slots);
    return more;
}

static void file_visit(const char *path, enum rank_status_kind kind, slot_visit *visit,
                       void *arg)
{
    int fd = record_open(path, RECORD_OF_ATTEMPT), nodes, ranks;
    char head[RANK_STATUS_SLOT] = "";
    bool more = true;

    if (fd < 0)
        return;
    if (pread(fd, head, sizeof head - 1, 0) > 0 &&
        sscanf(head, "%d %d", &nodes, &ranks) == 2 && ranks > 0) {
        if (ranks > RANK_STATUS_NODE_BYTES / RANK_BYTES)
            ranks = RANK_STATUS_NODE_BYTES / RANK_BYTES;
        for (int i = 0; more && i < nodes; i++)
            more = node_visit(fd, i, ranks, kind, visit, arg);
    }
    close(fd);
}

struct everyone {
    struct rank_status *at;
    int size;
};

static bool rank_take(void *arg, int rank, const struct rank_status *at)
{
    struct everyone *all = arg;

    if (rank < all->size)
        all->at[rank] = *at;
    return true;
}

struct rank_status *rank_status_read(const char *log_dir, enum rank_status_kind kind,
                                     int size)
{
    struct everyone all = {calloc((size_t)size, sizeof *all.at), size};
    char *path = run_dir_file(log_dir, RANK_STATUS_FILE);

    if (!all.at || !path) {
        free(path);
        free(all.at);
        return NULL;
    }
    for (int i = 0; i < size; i++)
        all.at[i].calls = -1;
    file_visit(path, kind, rank_take, &all);
    free(path);
    return all.at;
}

/* Rank 0 is the first rank of the first node. */
bool rank_status_first_wrote(const char *log_dir, enum rank_status_kind kind)
{
    char *path = run_dir_file(log_dir, RANK_STATUS_FILE);
    int fd = path ? record_open(path, RECORD_OF_ATTEMPT) : -1;
    char slot[RANK_STATUS_SLOT];
    struct rank_status at;
    bool wrote = false;

    free(path);
    if (fd < 0)
        return false;
    wrote = pread(fd, slot, sizeof slot, (off_t)slot_offset(0, 0, kind)) ==
                (ssize_t)sizeof slot &&
            slot_parse(slot, &at) == 0;
    close(fd);
    return wrote;
}

struct lower {
    int rank;
    const char *call;
    int64_t calls;
    bool found;
};

static bool lower_look(void *arg, int rank, const struct rank_status *at)
{
    struct lower *lower = arg;

    lower->found = rank < lower->rank && at->calls == lower->calls &&
                   strncmp(at->call, lower->call, RANK_STATUS_CALL_MAX) == 0;
    return !lower->found && rank < lower->rank;
}

bool rank_status_is_lowest(const struct rank_status_place *place,
                           enum rank_status_kind kind, const char *call, int64_t calls)
{
    struct lower lower = {.rank = place->rank, .call = call, .calls = calls};

    if (place->path[0])
        file_visit(place->path, kind, lower_look, &lower);
    return !lower.found;
}
