/*
 * session_error.c - the errors of a session: where a call leaves its error, and how a
 * call returns it.
 */
#include "session/session.h"

struct error *session_error(raytrain_context *ctx)
{
    static struct error without_session;
    raytrain_context *open = session_current();

    if (ctx)
        return &ctx->error;
    return open ? &open->error : &without_session;
}

int session_status(raytrain_context *ctx, int rc)
{
    struct error *err = session_error(ctx);

    if (rc == 0)
        return RAYTRAIN_OK;
    return err->code != RAYTRAIN_OK ? (int)err->code : RAYTRAIN_EFAILED;
}

int session_null(raytrain_context *ctx, const char *call, const char *what)
{
    error_set(session_error(ctx), RAYTRAIN_EINVAL, "%s: the %s is NULL", call, what);
    return RAYTRAIN_EINVAL;
}

int raytrain_last_status(const raytrain_context *ctx)
{
    return ctx ? (int)ctx->error.code : RAYTRAIN_EINVAL;
}

const char *raytrain_last_error(const raytrain_context *ctx)
{
    return ctx ? ctx->error.text : "raytrain_last_error: the context is NULL";
}
