/* A training function linked with libgone.so, which workers do not find. */
#include <raytrain.h>

int gone(void);
int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    return ctx ? gone() : 1;
}
