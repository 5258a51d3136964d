/*
 * average.c - the library raytrain-average.so: its counters, the arithmetic on blocks,
 * and the waiting thread. The sums themselves are those of mpi/combine.c.
 */
#include "average/average.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "average/average_head.h"
#include "mpi/combine.h"

#define LINE 64 /* bytes of a cache line */

/* How much is combined at a time: it stays in the first-level cache. */
#define PIECE_BYTES ((size_t)8 * 1024)

/* Up to this number of ranks, each reads all numbers of the others, and waits once;
 * more ranks divide the work, and wait a second time. */
#define DIRECT_MAX 3

/* How long a thread spins before it sleeps. */
#define SPIN_NS 100000

struct range {
    char *data;
    size_t at, n;
    bool wide;
};

struct average {
    char *map, *base; /* base: rank 0's head */
    size_t map_bytes, stride, room;
    int rank, size;
    bool spins, finishing;
    struct reduction_kind narrow, wide;
    uint64_t step;                 /* ranges of the steps before this one */
    uint64_t known[AVERAGE_WORDS]; /* the counters of all ranks are at least this */
    uint64_t n[AVERAGE_WORDS];     /* this rank's counters */
    struct range *ranges;          /* of this step; the first has number step + 1 */
    size_t room_ranges;
};

static struct average_head *head_of(const struct average *a, int rank)
{
    return (struct average_head *)(void *)(a->base + (size_t)rank * a->stride);
}

static char *numbers_of(const struct average *a, int rank, size_t at)
{
    return a->base + (size_t)rank * a->stride + AVERAGE_HEAD_BYTES + at;
}

static const struct reduction_kind *range_kind(const struct average *a,
                                               const struct range *r)
{
    return r->wide ? &a->wide : &a->narrow;
}

/* ---- Open, close ---- */

struct average *average_open(int fd, const struct average_place *place, int spins)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), in_page = place->first % page;
    struct average *a = calloc(1, sizeof *a);
    struct error err;

    if (!a)
        return NULL;
    *a = (struct average){.stride = place->stride,
                          .room = place->room,
                          .rank = place->rank,
                          .size = place->size,
                          .spins = spins};
    a->map_bytes =
        in_page + (size_t)(a->size - 1) * a->stride + AVERAGE_HEAD_BYTES + a->room;
    a->map = mmap(NULL, a->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                  (off_t)(place->first - in_page));
    if (a->map == MAP_FAILED) {
        free(a);
        return NULL;
    }
    /* A forked child does not need it. */
    (void)madvise(a->map, a->map_bytes, MADV_DONTFORK);
    a->base = a->map + in_page;
    (void)reduction_kind_find(COMM_FLOAT32, COMM_MEAN, &a->narrow, &err);
    (void)reduction_kind_find(COMM_FLOAT64, COMM_MEAN, &a->wide, &err);
    return a;
}

void average_close(struct average *a)
{
    if (!a)
        return;
    munmap(a->map, a->map_bytes);
    free(a->ranges);
    free(a);
}

/* ---- Counters ---- */

static bool all_said(struct average *a, enum average_word word, uint64_t number)
{
    uint64_t least = UINT64_MAX;

    if (a->known[word] >= number)
        return true;
    for (int k = 0; k < a->size; k++) {
        uint64_t there = atomic_load(&head_of(a, k)->counters[word].ranges);

        if (there < number)
            return false;
        least = there < least ? there : least;
    }
    a->known[word] = least;
    return true;
}

/* A rank writes its numbers before its counter (release), and others read them after
 * they have seen the counter (acquire). All ranks see counters and sleepers in one
 * order (seq_cst), so that no rank sleeps although a counter has changed. A rank that
 * sleeps waits for all ranks: the last one to write sees that it is the last, and it
 * alone wakes them. */
static void counter_write(struct average *a, enum average_word word, uint64_t number)
{
    struct average_head *first = head_of(a, 0);

    a->n[word] = number;
    atomic_store(&head_of(a, a->rank)->counters[word].ranges, number);
    if (atomic_load(&first->sleepers) == 0 || !all_said(a, word, number))
        return;
    atomic_fetch_add(&first->bell, 1);
    syscall(SYS_futex, &first->bell, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* A value that identifies a range, or the end of a step, which is a range without
 * numbers. */
static uint64_t face_of(const struct range *r)
{
    uint64_t face = (uint64_t)r->at * 0x9e3779b97f4a7c15u;

    face = (face ^ (face >> 29) ^ r->n) * 0xbf58476d1ce4e5b9u;
    return (face ^ (face >> 32)) * 4 + (r->wide ? 3 : 1);
}

static bool same_on_all(const struct average *a, uint64_t number)
{
    uint64_t mine = head_of(a, a->rank)->said[number % AVERAGE_SAID];

    for (int k = 0; k < a->size; k++)
        if (head_of(a, k)->said[number % AVERAGE_SAID] != mine)
            return false;
    return true;
}

/* ---- The arithmetic ---- */

/* Write the means of n numbers at byte `at` of all blocks, summed in the order of the
 * ranks, to `piece`; this rank's numbers are at `own`. */
static void piece_mean(const struct average *a, const struct reduction_kind *kind,
                       size_t at, const char *own, size_t n, char piece[PIECE_BYTES])
{
    for (int k = 0; k < a->size; k++) {
        const char *from = k == a->rank ? own : numbers_of(a, k, at);

        if (k == 0)
            memcpy(piece, from, n * kind->width);
        else
            kind->combine(piece, from, n);
    }
    kind->finish(piece, n, a->size);
}

/* Write the means of elements [begin, end) of a range over its numbers and, if others
 * need them, to this rank's block. */
static void elements_mean(const struct average *a, const struct range *r, size_t begin,
                          size_t end, bool published)
{
    const struct reduction_kind *kind = range_kind(a, r);
    size_t most = PIECE_BYTES / kind->width;
    _Alignas(LINE) char piece[PIECE_BYTES];

    for (size_t i = begin; i < end; i += most) {
        size_t n = end - i < most ? end - i : most, at = r->at + i * kind->width;
        char *own = r->data + i * kind->width;

        piece_mean(a, kind, at, own, n, piece);
        memcpy(own, piece, n * kind->width);
        if (published)
            memcpy(numbers_of(a, a->rank, at), piece, n * kind->width);
    }
}

/* The first element of a rank's part. Parts begin at cache lines, so that no two ranks
 * write to one. */
static size_t average_part_begin(const struct average *a, const struct range *r,
                                 int rank)
{
    size_t width = range_kind(a, r)->width, lines = (r->n * width + LINE - 1) / LINE;
    size_t line = lines / (size_t)a->size * (size_t)rank +
                  lines % (size_t)a->size * (size_t)rank / (size_t)a->size;
    size_t i = line * (LINE / width);

    return rank == a->size || i > r->n ? r->n : i;
}

static bool is_direct(const struct average *a)
{
    return a->size <= DIRECT_MAX;
}

static void range_combine(const struct average *a, const struct range *r)
{
    if (is_direct(a))
        elements_mean(a, r, 0, r->n, false);
    else
        elements_mean(a, r, average_part_begin(a, r, a->rank),
                      average_part_begin(a, r, a->rank + 1), true);
}

/* Copy the means that other ranks have combined. */
static void range_gather(const struct average *a, const struct range *r)
{
    size_t width = range_kind(a, r)->width;

    if (r->n == 0) /* the end of a step */
        return;
    for (int i = 1; i < a->size && !is_direct(a); i++) {
        int rank = (a->rank + i) % a->size;
        size_t begin = average_part_begin(a, r, rank),
               end = average_part_begin(a, r, rank + 1);

        memcpy(r->data + begin * width, numbers_of(a, rank, r->at + begin * width),
               (end - begin) * width);
    }
}

/* Copy to this rank's block what other ranks combine: all of it if each rank combines
 * all. */
static void range_publish(const struct average *a, const struct range *r)
{
    size_t width = range_kind(a, r)->width;
    size_t begin = is_direct(a) ? r->n : average_part_begin(a, r, a->rank);
    size_t end = is_direct(a) ? r->n : average_part_begin(a, r, a->rank + 1);
    char *to = numbers_of(a, a->rank, r->at);

    memcpy(to, r->data, begin * width);
    memcpy(to + end * width, r->data + end * width, (r->n - end) * width);
}

/* ---- Progress ---- */

static struct range *range_of(const struct average *a, uint64_t number)
{
    return &a->ranges[number - a->step - 1];
}

/* Do all that can be done now. */
static enum average_result advance(struct average *a)
{
    bool direct = is_direct(a);

    while (a->n[COMBINED] < a->n[ADDED] && all_said(a, ADDED, a->n[COMBINED] + 1)) {
        uint64_t number = a->n[COMBINED] + 1;

        if (!same_on_all(a, number))
            return AVERAGE_DIFFERS;
        range_combine(a, range_of(a, number));
        counter_write(a, COMBINED, number);
    }
    while (a->n[DONE] < a->n[COMBINED] &&
           (direct || all_said(a, COMBINED, a->n[DONE] + 1))) {
        range_gather(a, range_of(a, a->n[DONE] + 1));
        counter_write(a, DONE, a->n[DONE] + 1);
    }
    return a->n[DONE] == a->n[ADDED] ? AVERAGE_DONE : AVERAGE_WAITS;
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void relax(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

/* The condition for which a caller waits. */
typedef enum average_result (*wait_function)(struct average *a);

/* Sleep until a rank writes a counter, or ns have passed; unless the wait is over. */
static enum average_result doze(struct average *a, wait_function over, int64_t ns)
{
    struct average_head *first = head_of(a, 0);
    struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    uint32_t heard = atomic_load(&first->bell);
    enum average_result result;

    atomic_fetch_add(&first->sleepers, 1);
    result = over(a);
    if (result == AVERAGE_WAITS)
        syscall(SYS_futex, &first->bell, FUTEX_WAIT, heard, &t, NULL, 0);
    atomic_fetch_sub(&first->sleepers, 1);
    return result;
}

static enum average_result wait_for(struct average *a, wait_function over, int ms)
{
    int64_t begun = now_ns(), spin = begun + (a->spins ? SPIN_NS : 0),
            end = begun + (int64_t)ms * 1000000;
    enum average_result result;

    while ((result = over(a)) == AVERAGE_WAITS) {
        int64_t now = now_ns();

        if (now < spin) {
            relax();
            continue;
        }
        if (now >= end)
            break;
        result = doze(a, over, end - now);
        if (result != AVERAGE_WAITS)
            break;
    }
    return result;
}

/* ---- Ranges ---- */

/* May this rank write its next range? Not while a rank still reads the step before, nor
 * while a rank has still to compare the range whose place in `said` it would get. */
static enum average_result may_add(struct average *a)
{
    enum average_result result = advance(a);
    uint64_t next = a->n[ADDED] + 1;

    if (result == AVERAGE_DIFFERS)
        return result;
    return all_said(a, DONE, a->step) &&
                   (next <= AVERAGE_SAID || all_said(a, DONE, next - AVERAGE_SAID))
               ? AVERAGE_DONE
               : AVERAGE_WAITS;
}

static bool ranges_grow(struct average *a)
{
    size_t used = (size_t)(a->n[ADDED] - a->step),
           room = a->room_ranges ? 2 * a->room_ranges : 16;
    struct range *more;

    if (used < a->room_ranges)
        return true;
    more = realloc(a->ranges, room * sizeof *more);
    if (!more)
        return false;
    a->ranges = more;
    a->room_ranges = room;
    return true;
}

static enum average_result range_add(struct average *a, const struct range *r, int ms)
{
    enum average_result result;
    uint64_t number;

    if (!ranges_grow(a))
        return AVERAGE_MEMORY;
    result = wait_for(a, may_add, ms);
    if (result != AVERAGE_DONE)
        return result;
    number = a->n[ADDED] + 1;
    *range_of(a, number) = *r;
    if (r->n > 0)
        range_publish(a, r);
    head_of(a, a->rank)->said[number % AVERAGE_SAID] = face_of(r);
    counter_write(a, ADDED, number);
    return AVERAGE_DONE;
}

int average_add(struct average *a, void *data, size_t at, size_t n, int wide, int ms)
{
    const struct range r = {.data = data, .at = at, .n = n, .wide = wide};
    size_t width = wide ? sizeof(double) : sizeof(float);
    enum average_result result;

    if (at % LINE != 0 || at > a->room || n > (a->room - at) / width)
        return AVERAGE_MEMORY;
    result = range_add(a, &r, ms);
    if (result == AVERAGE_DONE && advance(a) == AVERAGE_DIFFERS)
        return AVERAGE_DIFFERS;
    return result;
}

int average_finish(struct average *a, int ms)
{
    const struct range end = {.at = SIZE_MAX}; /* no range is like it */
    enum average_result result = AVERAGE_DONE;

    if (!a->finishing)
        result = range_add(a, &end, ms);
    a->finishing = a->finishing || result == AVERAGE_DONE;
    if (result == AVERAGE_DONE)
        result = wait_for(a, advance, ms);
    if (result == AVERAGE_DONE) {
        a->finishing = false;
        a->step = a->n[ADDED];
        atomic_fetch_add(&head_of(a, a->rank)->steps, 1);
    }
    return result;
}
