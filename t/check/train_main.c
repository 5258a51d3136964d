/* train_main.c - the training function as a program: prints its arguments, reports once. */
#include <raytrain.h>
#include <stdio.h>

static int train_func(raytrain_context *ctx)
{
    const raytrain_metric metric = {"done_well", 1};
    char **argv;
    int n = raytrain_args(ctx, &argv);

    printf("%d: ", raytrain_world_size(ctx));
    for (int i = 0; i < n; i++)
        printf("%s%s", i ? ", " : "", argv[i]);
    puts("");
    return raytrain_report(ctx, &metric, 1, NULL);
}

int main(int argc, char *argv[])
{
    return raytrain_main(argc, argv, train_func);
}
