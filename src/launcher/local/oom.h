/*
 * oom.h - has the kernel killed a process for lack of memory? It keeps counts that
 * anybody may read: of the control group that this process is in, and its children with
 * it, or else of the machine.
 */
#ifndef RAYTRAIN_LOCAL_OOM_H
#define RAYTRAIN_LOCAL_OOM_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct oom_count {
    char file[PATH_MAX]; /* "": there is none to read */
    uint64_t kills;
};

/* The count as it stands now. root is put before /proc and /sys: "", but for tests. */
void oom_count_init(struct oom_count *c, const char *root);
/* Has it grown since oom_count_init? */
bool oom_count_grown(const struct oom_count *c);

#endif
