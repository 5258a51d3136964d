/*
 * loop.c - the choice of a loop, and the simplest one: a function of the user's
 * program.
 */
#include "loop/loop.h"

int loop_run_func(struct loop *loop, raytrain_context *ctx)
{
    if (loop->source.predicts)
        return loop->predict_func(ctx, loop->predictor);
    return loop->func(ctx);
}

/* ---- A program that calls raytrain_main() ---- */

static int program_open(struct loop *loop, struct error *err)
{
    bool predicts = loop->source.predicts;

    loop->func = loop->source.train_func;
    loop->predict_func = loop->source.predict_func;
    if (predicts ? loop->predict_func != NULL : loop->func != NULL)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     predicts ? "this program has no predict function: pass one to "
                                "raytrain_main_functions()"
                              : "raytrain_main: the training function is NULL");
}

const struct loop_ops loop_program = {
    .open = program_open,
    .run = loop_run_func,
    .is_users_process = true,
};

/* ---- The choice ---- */

static const struct loop_ops *loop_choose(const struct loop_source *source)
{
    if (source->trainer)
        return &loop_gbdt;
    if (source->is_command)
        return &loop_command;
    return source->path ? &loop_shared_object : &loop_program;
}

void loop_init(struct loop *loop, const struct loop_source *source)
{
    *loop = (struct loop){.ops = loop_choose(source), .source = *source};
}

void loop_close(struct loop *loop, bool clean)
{
    if (loop->ops->close)
        loop->ops->close(loop, clean);
}
