/* accelerators.c - counts GPUs by their device files and by CUDA_VISIBLE_DEVICES. */
#include "config.h"

#include "backend/accelerators.h"

#include <ctype.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* As CUDA does, up to the first name that is not a device: "-1" and "NoDevFiles" mean
 * none. */
static int names_count(const char *list)
{
    int n = 0;

    while (isdigit((unsigned char)*list) || !strncmp(list, "GPU-", 4) ||
           !strncmp(list, "MIG-", 4)) {
        n++;
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return n;
}

/* Count the devices of this pattern that may be opened. access(2) asks the device
 * cgroup, too. */
static int devices_count(const char *dev, const char *pattern)
{
    char path[PATH_MAX];
    glob_t found;
    int n = 0;

    if ((size_t)snprintf(path, sizeof path, "%s/%s", dev, pattern) >= sizeof path ||
        glob(path, GLOB_NOSORT, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++)
        n += access(found.gl_pathv[i], R_OK | W_OK) == 0;
    globfree(&found);
    return n;
}

int accelerators_nvidia(const char *visible, const char *dev)
{
    return visible ? names_count(visible) : devices_count(dev, "nvidia[0-9]*");
}

bool accelerators_any(const char *visible, const char *dev)
{
    /* AMD, the kernel's accel subsystem, Ascend, Gaudi, Cambricon. */
    static const char *const others[] = {"kfd", "accel/accel*", "davinci[0-9]*",
                                         "hl[0-9]*", "cambricon_dev*"};

    if (accelerators_nvidia(visible, dev) > 0)
        return true;
    /* Intel; NVIDIA GPUs have such a device, too. */
    if (devices_count(dev, "nvidiactl") == 0 && devices_count(dev, "dri/renderD*") > 0)
        return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (devices_count(dev, others[i]) > 0)
            return true;
    return false;
}
