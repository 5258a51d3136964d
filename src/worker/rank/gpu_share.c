/*
 * gpu_share.c - cuts the lists of visible GPUs that Slurm has set for all tasks of a
 * node.
 */
#include "config.h"

#include "rank/gpu_share.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The task's number among those of its step on the node; -1: unknown. */
static long local_id(void)
{
    const char *text = getenv("SLURM_LOCALID");
    char *end;
    long id;

    if (!text)
        return -1;
    id = strtol(text, &end, 10);
    return end != text && *end == '\0' && id >= 0 && id < INT_MAX ? id : -1;
}

/* Skip the first n names of "a,b,c"; NULL if there are not that many. */
static const char *names_skip(const char *list, long n)
{
    for (; n > 0; n--) {
        if (*list == '\0')
            return NULL;
        list += strcspn(list, ",");
        if (*list == ',' && n > 1)
            list++;
    }
    return list;
}

/* A list that is too short for this worker is not the list of all tasks: it stays. */
static int list_take(const char *variable, long place, int each, struct error *err)
{
    const char *list = getenv(variable), *start, *end;
    char *mine;
    int rc;

    if (!list || !names_skip(list, each + 1L))
        return 0;
    start = names_skip(list, place * each);
    if (!start)
        return 0;
    start += *start == ',';
    end = names_skip(start, each);
    if (!end)
        return 0;
    mine = strndup(start, (size_t)(end - start));
    rc = mine ? setenv(variable, mine, 1) : -1;
    free(mine);
    return rc == 0 ? 0
                   : error_set(err, RAYTRAIN_ENOMEM, "cannot set %s: %s", variable,
                               strerror(errno));
}

int gpu_share_take(int each, int sharing, struct error *err)
{
    /* Slurm sets these for GPUs of NVIDIA, AMD and Intel. */
    static const char *const lists[] = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                        "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
                                        "ZE_AFFINITY_MASK"};
    long id = local_id();

    if (each < 1 || id < 0 || !getenv("SLURM_STEP_GPUS") || getenv("SLURMD_TRES_BIND"))
        return 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (list_take(lists[i], sharing > 1 ? id / sharing : id, each, err) < 0)
            return -1;
    return 0;
}
