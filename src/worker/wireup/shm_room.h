/* shm_room.h - is /dev/shm, where MPI libraries have the memory that the ranks of a
 * node share, too small for them? */
#ifndef RAYTRAIN_WIREUP_SHM_ROOM_H
#define RAYTRAIN_WIREUP_SHM_ROOM_H

#include <stddef.h>

/* To be asked when an MPI library could not start: text says so, with what to do, or
 * is not changed if there is room. */
void shm_room_blame(char *text, size_t size);

#endif
