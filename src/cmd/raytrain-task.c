/*
 * raytrain-task.c - a task of a Slurm step that stays for several attempts of a run,
 * and starts a worker for each (task/task.h):
 *
 *     raytrain-task PROGRAM [ARG...]
 *
 * raytrain-run lets srun start it in place of the workers if
 * run_config.failure_config.restart is "same_step".
 */
#include <stdio.h>

#include "task/task.h"

int main(int argc, char *argv[])
{
    struct error err;
    int status;

    if (argc < 2) {
        fprintf(stderr, "usage: raytrain-task PROGRAM [ARG...]\n"
                        "raytrain-run starts it in a step of Slurm; type: raytrain-run "
                        "--help\n");
        return 2;
    }
    status = task_run(argv + 1, &err);
    if (status != 0 && err.text[0])
        fprintf(stderr, "raytrain-task: %s\n", err.text);
    return status;
}
