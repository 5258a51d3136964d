/* train_gpu.c - prints which GPUs this worker sees, and on which node. */
#include <raytrain.h>
#include <stdio.h>
#include <stdlib.h>

static int train_func(raytrain_context *ctx)
{
    const char *gpus = getenv("CUDA_VISIBLE_DEVICES");

    printf("node %d gpus %s\n", raytrain_node_rank(ctx), gpus ? gpus : "none");
    return 0;
}

int main(int argc, char *argv[])
{
    return raytrain_main(argc, argv, train_func);
}
