/*
 * shm_tidy.h - remove shared memory that a killed MPI process could not unlink.
 */
#ifndef RAYTRAIN_UTIL_SHM_TIDY_H
#define RAYTRAIN_UTIL_SHM_TIDY_H

/*
 * For a few milliseconds of MPI_Init, while the ranks of a node meet there, MPI and UCX
 * have names for their shared memory in /dev/shm; a rank that is killed just then
 * leaves the name, and with it the memory. Unlink such files of this user that no
 * process has open or mapped any more. Safe at any time, also beside running MPI
 * programs; never fails, at worst it leaves a file.
 */
void shm_tidy(void);
/* The same for another directory, for tests. */
void shm_tidy_directory(const char *path);

/*
 * Unlink the files PREFIX*, in any directory, that this process has mapped; the
 * mappings stay. For Open MPI, which keeps the names until MPI_Finalize: call it when
 * all ranks of the node have mapped what they share.
 */
void shm_unname(const char *prefix);

#endif
