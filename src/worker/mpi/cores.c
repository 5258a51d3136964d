/*
 * cores.c - see cores.h.
 */
#include "config.h"

#include "mpi/cores.h"

#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* CPUs beyond these are not looked at; a node that has more is hardly crowded. */
#define CPUS_MAX 4096

struct seat {
    int64_t node;
    unsigned char cpus[CPUS_MAX / 8];
};

/* The kernel's own call: it fills as many bytes as it has CPUs for, whatever the C
 * library's cpu_set_t holds. */
static void seat_fill(struct seat *s, int node)
{
    memset(s, 0, sizeof *s);
    s->node = node;
    if (syscall(SYS_sched_getaffinity, 0, sizeof s->cpus, s->cpus) < 0)
        memset(s->cpus, 0xff, sizeof s->cpus); /* unknown: not crowded */
}

static int bits_count(const unsigned char *bytes, size_t n)
{
    int count = 0;

    for (size_t i = 0; i < n; i++)
        count += __builtin_popcount(bytes[i]);
    return count;
}

int cores_crowded(struct comm *c, int node, bool *crowded, struct error *err)
{
    struct seat mine, *all = malloc((size_t)c->size * sizeof *all);
    int ranks = 0;

    if (!all)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for %d workers", c->size);
    seat_fill(&mine, node);
    if (c->ops->allgather(c, &mine, sizeof mine, all, err) < 0) {
        free(all);
        return -1;
    }
    for (int r = 0; r < c->size; r++) {
        if (all[r].node != node)
            continue;
        ranks++;
        for (size_t i = 0; i < sizeof mine.cpus; i++)
            mine.cpus[i] |= all[r].cpus[i];
    }
    free(all);
    *crowded = ranks > bits_count(mine.cpus, sizeof mine.cpus);
    return 0;
}
