/*
 * shm_tidy.h - shared memory that a killed MPI process could not unlink.
 */
#ifndef RAYTRAIN_UTIL_SHM_TIDY_H
#define RAYTRAIN_UTIL_SHM_TIDY_H

/*
 * MPI and UCX name their shared memory in /dev/shm for the few milliseconds of MPI_Init
 * in which the ranks of a node meet there; a rank that is killed just then leaves the
 * name, and with it the memory. Unlink such files of this user that no process has open
 * or mapped any more. Safe at any time, beside running MPI programs too; never fails,
 * at worst it leaves a file where it is.
 */
void shm_tidy(void);
/* The same for another directory, for tests. */
void shm_tidy_directory(const char *path);

/*
 * Unlink the files PREFIX*, wherever they are, that this process has mapped; the
 * mappings stay. For Open MPI, which keeps the names until MPI_Finalize: to be called
 * when all ranks of the node have mapped what they share.
 */
void shm_unname(const char *prefix);

#endif
