/* mpi.h - as much of Open MPI's interface as mpi_child.c uses, to build it where Open
 * MPI's library is installed (libmpi.so.40), but not its headers, which cannot be
 * installed beside those of MPICH without becoming the default. */
#ifndef CHECK_OPEN_MPI_MPI_H
#define CHECK_OPEN_MPI_MPI_H

#include <stddef.h>

typedef void *MPI_Comm, *MPI_Datatype, *MPI_Op;
typedef void MPI_Status;

extern char ompi_mpi_comm_world[], ompi_mpi_double[], ompi_mpi_int[], ompi_mpi_op_sum[];

#define MPI_COMM_WORLD    ((MPI_Comm)ompi_mpi_comm_world)
#define MPI_DOUBLE        ((MPI_Datatype)ompi_mpi_double)
#define MPI_INT           ((MPI_Datatype)ompi_mpi_int)
#define MPI_SUM           ((MPI_Op)ompi_mpi_op_sum)
#define MPI_STATUS_IGNORE NULL
#define MPI_SUCCESS       0

int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
int MPI_Abort(MPI_Comm comm, int status);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_size(MPI_Comm comm, int *size);
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *out);
int MPI_Comm_free(MPI_Comm *comm);
int MPI_Barrier(MPI_Comm comm);
int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm);
int MPI_Sendrecv(const void *send, int n_send, MPI_Datatype send_type, int to,
                 int send_tag, void *recv, int n_recv, MPI_Datatype recv_type, int from,
                 int recv_tag, MPI_Comm comm, MPI_Status *status);

#endif
