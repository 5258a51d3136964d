/* own_gpus N COMMAND...: run the command with the GPUs that a worker of N GPUs sees. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rank/gpu_share.h"

int main(int argc, char *argv[])
{
    struct error err;

    if (argc < 3)
        return 2;
    if (gpu_share_take(atoi(argv[1]), &err) < 0) {
        fprintf(stderr, "own_gpus: %s\n", err.text);
        return 1;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
