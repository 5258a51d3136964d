/*
 * tensor.c - check the device of a raytrain_tensor. The device room of the worker
 * copies from GPUs.
 */
#include "util/tensor.h"

#include <stdbool.h>
#include <stdio.h>

static bool is_on_device(const raytrain_tensor *t)
{
    return t->device == RAYTRAIN_CUDA || t->device == RAYTRAIN_HIP;
}

static const char *name_of_device(const raytrain_tensor *t)
{
    return t->device == RAYTRAIN_HIP ? "HIP" : "CUDA";
}

const char *tensor_place(const raytrain_tensor *t, char text[TENSOR_PLACE_MAX])
{
    if (is_on_device(t))
        snprintf(text, TENSOR_PLACE_MAX, "on %s GPU %d", name_of_device(t),
                 t->device_id);
    else
        snprintf(text, TENSOR_PLACE_MAX, "in host memory");
    return text;
}

static int reserved_check(const raytrain_tensor *t, struct error *err)
{
    if ((t->device == RAYTRAIN_HOST && t->device_id != 0) || t->reserved[0] != 0 ||
        t->reserved[1] != 0)
        return error_set(err, RAYTRAIN_EINVAL,
                         "reserved members of its raytrain_tensor are not 0: "
                         "initialise it with zeros");
    return 0;
}

int tensor_check(const raytrain_tensor *t, struct error *err)
{
    if (t->device != RAYTRAIN_HOST && !is_on_device(t))
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "its data are on device %d, which this version cannot reach: "
                         "copy them to host memory; if they are there, initialise the "
                         "raytrain_tensor with zeros",
                         t->device);
    return reserved_check(t, err);
}

int tensor_check_host(const raytrain_tensor *t, struct error *err)
{
    if (is_on_device(t))
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "its data are on a %s GPU (RAYTRAIN_%s), and this call takes "
                         "host memory alone: copy them there",
                         name_of_device(t), name_of_device(t));
    return tensor_check(t, err);
}
