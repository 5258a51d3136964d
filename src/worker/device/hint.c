/* hint.c - advice for errors of CUDA and HIP, by their numbers. */
#include "config.h"

#include <stddef.h>

#include "device/vendor.h"

#define KERNEL                                                                         \
    ": a kernel of this process has failed, after which only a new process can use "   \
    "the GPU; compute-sanitizer or rocgdb find the kernel"
#define RESET                                                                          \
    ": the GPU was reset, as by cudaDeviceReset(): before that, call "                 \
    "raytrain_checkpoint_wait(), and destroy reducers"
#define HANDLE                                                                         \
    ": a stream or event was destroyed while it was in use: before a stream is "       \
    "destroyed, name another one, or NULL, by raytrain_set_stream()"
#define BUSY                                                                           \
    ": another process has the GPU, whose compute mode allows one at a time, or "      \
    "none: nvidia-smi -q -d COMPUTE shows it, and an administrator may run "           \
    "nvidia-smi -c DEFAULT"
#define CAPTURE                                                                        \
    ": a graph is being captured: call raytrain before the capture begins or after "   \
    "it ends"

static const struct {
    int first, last;
    const char *text;
} hints[] = {
    {4, 4, RESET},      /* ..._DEINITIALIZED */
    {46, 46, BUSY},     /* ..._DEVICE_UNAVAILABLE, of CUDA only */
    {201, 201, RESET},  /* ..._INVALID_CONTEXT */
    {400, 400, HANDLE}, /* ..._INVALID_HANDLE */
    {700, 700, KERNEL}, /* ..._ILLEGAL_ADDRESS */
    {702, 702, KERNEL}, /* ..._LAUNCH_TIMEOUT */
    {709, 709, RESET},  /* ..._CONTEXT_IS_DESTROYED */
    {710, 710, KERNEL}, /* ..._ASSERT */
    {714, 719, KERNEL}, /* ..._HARDWARE_STACK_ERROR to ..._LAUNCH_FAILED */
    {900, 908, CAPTURE} /* ..._STREAM_CAPTURE_UNSUPPORTED and others of captures */
};

const char *vendor_hint(int code)
{
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (code >= hints[i].first && code <= hints[i].last)
            return hints[i].text;
    return "";
}
