/*
 * pmix_intruder.c - a process of another user that tries to join the embedded PMIx
 * server, for t/1028-intruder.t. It says that it is the user of INTRUDER_AS, "UID:GID",
 * since a PMIx client sends its own word for its user. Exits with 0 if it gets in.
 *
 *   pmix_intruder rank       joins as the rank of its environment, and aborts the group
 *   pmix_intruder tool       joins as a tool of that server, and aborts
 *   pmix_intruder silent HOST PORT
 *                            connects, says nothing, and exits with 0 if the server
 *                            closes the connection
 */
#include <pmix.h>
#include <pmix_tool.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned claimed(int which)
{
    const char *as = getenv("INTRUDER_AS");
    unsigned uid = 0, gid = 0;

    if (as && sscanf(as, "%u:%u", &uid, &gid) != 2)
        _exit(2);
    return which ? gid : uid;
}

/* These take the place of the C library's in libpmix, too. */
#define SEEN __attribute__((visibility("default")))

SEEN uid_t getuid(void)
{
    return claimed(0);
}

SEEN uid_t geteuid(void)
{
    return claimed(0);
}

SEEN gid_t getgid(void)
{
    return claimed(1);
}

SEEN gid_t getegid(void)
{
    return claimed(1);
}

static int refused(const char *what, pmix_status_t rc)
{
    fprintf(stderr, "pmix_intruder: %s: %s\n", what, PMIx_Error_string(rc));
    return 1;
}

static int abort_all(void)
{
    pmix_status_t rc = PMIx_Abort(9, "aborted by an intruder", NULL, 0);

    return rc == PMIX_SUCCESS ? 0 : refused("PMIx_Abort", rc);
}

static int as_rank(void)
{
    pmix_proc_t me;
    pmix_status_t rc = PMIx_Init(&me, NULL, 0);

    return rc == PMIX_SUCCESS ? abort_all() : refused("PMIx_Init", rc);
}

/* A tool without a name would get one from the server; this one brings its own. */
static int as_tool(void)
{
    const char *uri = getenv("PMIX_SERVER_URI41");
    pmix_rank_t rank = 0;
    pmix_proc_t me;
    pmix_info_t info[3];
    pmix_status_t rc;

    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_URI, uri ? uri : "", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_TOOL_NSPACE, "intruder", PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_TOOL_RANK, &rank, PMIX_PROC_RANK);
    rc = PMIx_tool_init(&me, info, 3);
    return rc == PMIX_SUCCESS ? abort_all() : refused("PMIx_tool_init", rc);
}

static int silent(const char *host, const char *port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((in_port_t)atoi(port))};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    char byte;

    if (fd < 0 || inet_pton(AF_INET, host, &to.sin_addr) != 1 ||
        connect(fd, (struct sockaddr *)&to, sizeof to) < 0) {
        perror("pmix_intruder");
        return 2;
    }
    return recv(fd, &byte, 1, 0) == 0 ? 0 : 1;
}

int main(int argc, char *argv[])
{
    if (argc == 2 && strcmp(argv[1], "rank") == 0)
        return as_rank();
    if (argc == 2 && strcmp(argv[1], "tool") == 0)
        return as_tool();
    if (argc == 4 && strcmp(argv[1], "silent") == 0)
        return silent(argv[2], argv[3]);
    return 2;
}
