/* own_gpus N[/K] COMMAND...: run the command with the GPUs that a worker of N GPUs sees, or
 * one of K workers that share one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rank/gpu_share.h"

int main(int argc, char *argv[])
{
    struct error err;

    const char *slash;

    if (argc < 3)
        return 2;
    slash = strchr(argv[1], '/');
    if (gpu_share_take(atoi(argv[1]), slash ? atoi(slash + 1) : 1, &err) < 0) {
        fprintf(stderr, "own_gpus: %s\n", err.text);
        return 1;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
