/* hello_main.c - the training function of hello.c as a program. */
#include <raytrain.h>

int train_func(raytrain_context *ctx); /* hello.c */

int main(int argc, char *argv[])
{
    return raytrain_main(argc, argv, train_func);
}
