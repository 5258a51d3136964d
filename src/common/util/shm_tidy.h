/*
 * shm_tidy.h - remove shared memory that a killed MPI process could not unlink.
 */
#ifndef RAYTRAIN_UTIL_SHM_TIDY_H
#define RAYTRAIN_UTIL_SHM_TIDY_H

/*
 * For a few milliseconds of MPI_Init, while the ranks of a node meet in it, MPI and UCX
 * have names for their shared memory in /dev/shm. A rank that is killed at that moment
 * leaves the name behind, and the memory with it. Unlink such files of this user that
 * no process has open or mapped any more. This is safe at any time, even while MPI
 * programs run. It never fails; at worst a file remains.
 */
void shm_tidy(void);
/* The same for another directory, for tests. */
void shm_tidy_directory(const char *path);

/*
 * Unlink the files PREFIX*, in any directory, that this process has mapped. The
 * mappings stay. For Open MPI, which keeps the names until MPI_Finalize: call it when
 * all ranks of the node have mapped the memory that they share.
 */
void shm_unname(const char *prefix);

#endif
