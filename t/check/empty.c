/* A training function that does nothing. */
#include <raytrain.h>

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    (void)ctx;
    return 0;
}
