/*
 * fashion_mlp_main.c - the training function of fashion_mlp.c as a program:
 *
 *     cc -O2 -fopenmp-simd -o fashion_mlp fashion_mlp_main.c fashion_mlp.c mlp.c mlp_cpu.c \
 *         $(pkg-config --cflags --libs raytrain openblas) -lm
 *     raytrain-run --workers 2 -c fashion_mlp.cfg ./fashion_mlp
 */
#include <raytrain.h>

int train_func(raytrain_context *ctx); /* fashion_mlp.c */

int main(int argc, char *argv[])
{
    return raytrain_main(argc, argv, train_func);
}
