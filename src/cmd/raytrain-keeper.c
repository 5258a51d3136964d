/*
 * raytrain-keeper.c - processes beside the workers.
 *
 *     raytrain-keeper local BEFORE
 *     raytrain-keeper step MESSAGES OUTPUT lines|silent srun [ARG...]
 *
 * end the workers if raytrain-run is killed: local ones (launcher/local/keeper.h), or
 * those of the step of an srun that it starts (launcher/slurm/step_keeper.h). The
 * standard input is a socket to raytrain-run. BEFORE is how many keepers raytrain-run
 * has started before; MESSAGES and OUTPUT are descriptors; "lines": raytrain-run sends
 * lines for the standard input of the step.
 *
 *     raytrain-keeper show RANKS WORKERS NODE LOG_DIR PROGRAM [ARG...]
 *     raytrain-keeper tee RANK WORKER_PID
 *
 * print the output of workers that are shown (launcher/show/tee.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "local/keeper_process.h"
#include "show/tee.h"
#include "slurm/step_keeper.h"

int main(int argc, char *argv[])
{
    struct error err;
    int type;
    socklen_t size = sizeof type;
    bool is_socket = getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) == 0;

    if (is_socket && argc == 3 && strcmp(argv[1], "local") == 0)
        keeper_process_run(STDIN_FILENO, atoi(argv[2]));
    if (argc == 4 && strcmp(argv[1], "tee") == 0)
        tee_run(atoi(argv[2]), atoi(argv[3]));
    if (argc > 2 && strcmp(argv[1], "show") == 0) {
        tee_become_worker(argv + 2, &err);
        fprintf(stderr, "raytrain-keeper: %s\n", err.text);
        return error_exit_status(err.code);
    }
    if (is_socket && argc > 5 && strcmp(argv[1], "step") == 0) {
        step_keeper_run(atoi(argv[2]), atoi(argv[3]), strcmp(argv[4], "lines") == 0,
                        argv + 5, &err);
        fprintf(stderr, "raytrain-keeper: %s\n", err.text);
        return 1;
    }
    fprintf(stderr, "raytrain-keeper: it is started by raytrain-run only.\n");
    return 2;
}
