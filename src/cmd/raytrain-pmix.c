/*
 * raytrain-pmix.c - the PMIx server of the MPI programs that the workers of a node run
 * (worker/wireup/child_server.h). Its standard input is the socket of the worker that
 * starts it.
 *
 *     raytrain-pmix NAMESPACE DIRECTORY NODE HOSTS RANKS
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pmix/namespace.h"
#include "pmix/server_process.h"

static int usage(const char *why)
{
    fprintf(stderr, "raytrain-pmix: %s. This program is for raytrain-worker only.\n",
            why);
    return 2;
}

int main(int argc, char *argv[])
{
    struct pmix_group group;
    struct error err;
    char *end;
    long node;

    if (argc != 6)
        return usage("it takes five arguments");
    errno = 0;
    node = strtol(argv[3], &end, 10);
    if (errno || *end || node < 0 || node > INT_MAX)
        return usage("there is no such node");
    if (pmix_group_make(argv[4], argv[5], (int)node, &group, &err) < 0)
        return usage(err.text);
    pmix_server_run(pmix_server_detach(STDIN_FILENO), &group, argv[1], argv[2]);
}
