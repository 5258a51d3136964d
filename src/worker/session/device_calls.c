/* device_calls.c - the call of raytrain.h that sets the stream of a device. */
#include "device/device.h"
#include "session/session.h"

int raytrain_set_stream(raytrain_context *ctx, raytrain_device device, int device_id,
                        void *stream)
{
    struct error *err = session_error(ctx);

    if (!ctx)
        return session_null(ctx, __func__, "context");
    if (device == RAYTRAIN_HOST) {
        error_set(err, RAYTRAIN_EINVAL,
                  "%s: the host has no streams: pass RAYTRAIN_CUDA or "
                  "RAYTRAIN_HIP",
                  __func__);
        return RAYTRAIN_EINVAL;
    }
    if (device_set_stream((int)device, device_id, stream, err) < 0)
        return session_status(ctx, error_prefix(err, "%s", __func__));
    return RAYTRAIN_OK;
}
