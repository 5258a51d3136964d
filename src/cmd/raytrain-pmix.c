/*
 * raytrain-pmix.c - the PMIx server of a group of local workers, or of the MPI programs
 * that the workers of a node run. Its standard input is a socket to its owner
 * (launcher/local/pmix_server.h, worker/wireup/child_server.h). The nodes and ranks of
 * the group are in a file of DIRECTORY (pmix/group_file.h); their secret namespace
 * comes over the socket. BEFORE is how many servers the owner has started before.
 *
 *     raytrain-pmix DIRECTORY NODE BEFORE
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pmix/group_file.h"
#include "pmix/namespace.h"
#include "pmix/server_process.h"
#include "util/fault.h"

static int pmix_usage(const char *why)
{
    fprintf(stderr,
            "raytrain-pmix: %s. It is started by raytrain-run and "
            "raytrain-worker only.\n",
            why);
    return 2;
}

/* -1: not a number, or negative. */
static int argument_number(const char *text)
{
    char *end;
    long n;

    errno = 0;
    n = strtol(text, &end, 10);
    return errno || end == text || *end || n < 0 || n > INT_MAX ? -1 : (int)n;
}

static int group_read(const char *dir, int node, struct pmix_group *group,
                      struct error *err)
{
    const char *hosts, *ranks;
    char *text;
    int rc = group_file_read(dir, &text, &hosts, &ranks, err);

    if (rc < 0)
        return -1;
    rc = pmix_group_make(hosts, ranks, node, group, err);
    free(text);
    return rc;
}

int main(int argc, char *argv[])
{
    struct pmix_group group;
    struct error err;
    int node, before;

    if (argc != 4)
        return pmix_usage("it takes three arguments");
    node = argument_number(argv[2]);
    before = argument_number(argv[3]);
    if (node < 0 || before < 0)
        return pmix_usage("it takes a number of a node, and of servers");
    if (group_read(argv[1], node, &group, &err) < 0)
        return pmix_usage(err.text);
    fault_point("pmix.server", before);
    pmix_server_run(pmix_server_detach(STDIN_FILENO), &group, argv[1]);
}
