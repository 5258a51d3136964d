/*
 * raytrain-keeper.c - cleans up after local workers if raytrain-run is killed
 * (launcher/local/keeper.h). Its standard input is a socket to raytrain-run. BEFORE is
 * how many of them raytrain-run has started before.
 *
 *     raytrain-keeper BEFORE
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "local/keeper_process.h"

int main(int argc, char *argv[])
{
    int type;
    socklen_t size = sizeof type;

    if (argc != 2 || getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) < 0) {
        fprintf(stderr, "raytrain-keeper: it is started by raytrain-run only.\n");
        return 2;
    }
    keeper_process_run(STDIN_FILENO, atoi(argv[1]));
}
