/*
 * mpi_error.c - MPI error codes as struct error, and the handler that keeps the first
 * one.
 */
#include "config.h"

#include "mpi/mpi_error.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>

int mpi_fail(struct error *err, const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n = 0;

    if (MPI_Error_string(code, text, &n) != MPI_SUCCESS)
        n = 0;
    text[n] = '\0';
    return error_set(err, RAYTRAIN_ECOMM, "%s: %s", what,
                     text[0] ? text : "MPI failed without a message");
}

static struct {
    pthread_mutex_t lock;
    atomic_bool any;
    struct error first;
} failed = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void error_keep(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    pthread_mutex_lock(&failed.lock);
    if (!failed.any)
        mpi_fail(&failed.first, "an MPI call has failed", *code);
    failed.any = true;
    pthread_mutex_unlock(&failed.lock);
}

int mpi_errors_keep(void)
{
    MPI_Errhandler handler;
    int rc = MPI_Comm_create_errhandler(error_keep, &handler);

    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    if (rc == MPI_SUCCESS)
        rc = MPI_Errhandler_free(&handler);
    return rc;
}

int mpi_errors_first(struct error *err)
{
    if (!failed.any)
        return 0;
    return error_set(err, failed.first.code, "%s", failed.first.text);
}
