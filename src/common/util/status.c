/* status.c - the words for a raytrain_status. */
#include "raytrain.h"

static const char *const words[] = {
    [RAYTRAIN_OK] = "success",
    [RAYTRAIN_EINVAL] = "invalid argument or value",
    [RAYTRAIN_ETYPE] = "wrong type or shape",
    [RAYTRAIN_ENOTFOUND] = "not found",
    [RAYTRAIN_ENOMEM] = "out of memory",
    [RAYTRAIN_EFIT] = "does not fit",
    [RAYTRAIN_ESTORAGE] = "storage error",
    [RAYTRAIN_ECORRUPT] = "damaged file",
    [RAYTRAIN_ECOMM] = "communication error",
    [RAYTRAIN_EFAILED] = "training failed",
    [RAYTRAIN_ESTOPPED] = "stopped on request",
    [RAYTRAIN_EUSAGE] = "usage error",
    [RAYTRAIN_ENOTSUP] = "not supported",
    [RAYTRAIN_END] = "end of epoch",
};

const char *raytrain_status_name(int status)
{
    if (status < 0 || (size_t)status >= sizeof words / sizeof words[0])
        return "unknown status";
    return words[status];
}
