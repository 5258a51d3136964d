/*
 * loop.c - the choice of a loop, and the trivial one: the user's program.
 */
#include "loop/loop.h"

int loop_run_func(struct loop *loop, raytrain_context *ctx)
{
    return loop->func(ctx);
}

/* ---- A program that calls raytrain_main() ---- */

static int program_open(struct loop *loop, struct error *err)
{
    loop->func = loop->source.train_func;
    if (loop->func)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "raytrain_main: the training function is NULL");
}

const struct loop_ops loop_program = {
    .open = program_open,
    .run = loop_run_func,
    .is_users_process = true,
};

/* ---- The choice ---- */

void loop_init(struct loop *loop, const struct loop_source *source)
{
    *loop = (struct loop){.ops = source->path ? &loop_shared_object : &loop_program,
                          .source = *source};
}

void loop_close(struct loop *loop, bool clean)
{
    if (loop->ops->close)
        loop->ops->close(loop, clean);
}
