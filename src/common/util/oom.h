/*
 * oom.h - detects that the kernel has killed a process for lack of memory, by the count
 * that it publishes for the control group of this process, or else for the machine.
 */
#ifndef RAYTRAIN_UTIL_OOM_H
#define RAYTRAIN_UTIL_OOM_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct oom_count {
    char file[PATH_MAX]; /* "": no count can be read */
    uint64_t kills;
};

/* The current count. root is a prefix of /proc and /sys: "" except in tests. */
void oom_count_init(struct oom_count *c, const char *root);
/* Has it grown since oom_count_init? */
bool oom_count_grown(const struct oom_count *c);

#endif
