#include "util/tensor.h"

int tensor_check_host(const raytrain_tensor *t, struct error *err)
{
    if (t->device != RAYTRAIN_HOST)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "its data are on device %d, which this version cannot reach: "
                         "copy them to host memory; if they are there, initialise the "
                         "raytrain_tensor with zeros",
                         t->device);
    if (t->device_id != 0 || t->reserved[0] != 0 || t->reserved[1] != 0)
        return error_set(err, RAYTRAIN_EINVAL,
                         "reserved members of its raytrain_tensor are not 0: "
                         "initialise it with zeros");
    return 0;
}
