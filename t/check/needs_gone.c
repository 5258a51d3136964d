/* A training function that is linked with libgone.so, which no worker will find. */
#include <raytrain.h>

int gone(void);
int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    return ctx ? gone() : 1;
}
