/* shm_room.h - is /dev/shm, where MPI libraries keep the shared memory of a node's
 * ranks, too small? */
#ifndef RAYTRAIN_WIREUP_SHM_ROOM_H
#define RAYTRAIN_WIREUP_SHM_ROOM_H

#include <stddef.h>

/* Call it when an MPI library could not start: if there is too little room, text
 * becomes a message with advice, else it stays. */
void shm_room_blame(char *text, size_t size);

#endif
