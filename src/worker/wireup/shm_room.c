/* shm_room.c - measures the free room in /dev/shm. */
#include "wireup/shm_room.h"

#include <stdio.h>
#include <sys/statvfs.h>

#define MIB 1048576.0
/* UCX 1.13 takes 4 for each rank, and does not start without them. */
#define RANK_MIB 8.0

void shm_room_blame(char *text, size_t size)
{
    struct statvfs fs;
    double left;

    if (statvfs("/dev/shm", &fs) < 0)
        return;
    left = (double)fs.f_bavail * (double)fs.f_frsize / MIB;
    if (left < RANK_MIB)
        snprintf(text, size,
                 "MPI could not start, and /dev/shm has only %.1f MiB left, of which "
                 "MPI may need several for each rank: mount it larger (docker run "
                 "--shm-size), remove what is left in it, or, if MPI uses UCX, set "
                 "UCX_TLS=^posix",
                 left);
}
