/* empty.c - a training function that does nothing. */
#include <raytrain.h>

int train_func(raytrain_context *ctx)
{
    return ctx ? 0 : 1;
}
