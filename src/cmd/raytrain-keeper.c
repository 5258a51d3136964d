/*
 * raytrain-keeper.c - ends the workers if raytrain-run is killed: local ones
 * (launcher/local/keeper.h), or those of the step of an srun that it starts
 * (launcher/slurm/step_keeper.h). Its standard input is a socket to raytrain-run. BEFORE is
 * how many keepers raytrain-run has started before; MESSAGES is a descriptor.
 *
 *     raytrain-keeper local BEFORE
 *     raytrain-keeper step MESSAGES srun [ARG...]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "local/keeper_process.h"
#include "slurm/step_keeper.h"

int main(int argc, char *argv[])
{
    struct error err;
    int type;
    socklen_t size = sizeof type;
    bool is_socket = getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) == 0;

    if (is_socket && argc == 3 && strcmp(argv[1], "local") == 0)
        keeper_process_run(STDIN_FILENO, atoi(argv[2]));
    if (is_socket && argc > 3 && strcmp(argv[1], "step") == 0) {
        step_keeper_run(atoi(argv[2]), argv + 3, &err);
        fprintf(stderr, "raytrain-keeper: %s\n", err.text);
        return 1;
    }
    fprintf(stderr, "raytrain-keeper: it is started by raytrain-run only.\n");
    return 2;
}
