/*
 * nvml.c - see nvml.h. No header of NVML is needed: the types and numbers that are used
 * are written here, and functions are called by the name that the library gives to this
 * version of them.
 *
 *   The library   its functions, opening it
 *   GPUs         by names
 *   Answers       memory, utilisation, processes
 *   Errors        events, and the table of Xids
 */
#include "config.h"

#include "site/nvml.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME "libnvidia-ml.so.1"

/* ---- The library ---- */

typedef int result;        /* nvmlReturn_t */
typedef void *nvml_handle; /* nvmlDevice_t */
typedef void *eventset;    /* nvmlEventSet_t */

enum {
    SUCCESS = 0,
    ERROR_GPU_IS_LOST = 15,
    EVENT_XID = 8,      /* nvmlEventTypeXidCriticalError */
    PROCESSES_MAX = 256 /* the events that are requested */
};

struct pci_info { /* nvmlPciInfo_t */
    char legacy[16];
    unsigned int domain, bus, device, device_id, subsystem_id;
    char id[32];
};
struct memory { /* nvmlMemory_t */
    unsigned long long total, free, used;
};
struct utilization { /* nvmlUtilization_t, percent */
    unsigned int gpu, memory;
};
struct gpu_process { /* nvmlProcessInfo_v2_t */
    unsigned int pid;
    unsigned long long used;
    unsigned int gpu_instance, compute_instance;
};
struct event { /* nvmlEventData_t */
    nvml_handle device;
    unsigned long long type, data;
    unsigned int gpu_instance, compute_instance;
};

/* What every driver since version 450 has. */
#define NVML_FUNCTIONS(F)                                                              \
    F(nvmlInit_v2, (void))                                                             \
    F(nvmlShutdown, (void))                                                            \
    F(nvmlSystemGetDriverVersion, (char *version, unsigned int size))                  \
    F(nvmlDeviceGetCount_v2, (unsigned int *count))                                    \
    F(nvmlDeviceGetHandleByIndex_v2, (unsigned int index, nvml_handle *d))             \
    F(nvmlDeviceGetUUID, (nvml_handle d, char *uuid, unsigned int size))               \
    F(nvmlDeviceGetPciInfo_v3, (nvml_handle d, struct pci_info * pci))                 \
    F(nvmlDeviceGetMemoryInfo, (nvml_handle d, struct memory * memory))                \
    F(nvmlDeviceGetUtilizationRates, (nvml_handle d, struct utilization * rates))      \
    F(nvmlDeviceGetComputeMode, (nvml_handle d, int *mode))                            \
    F(nvmlEventSetCreate, (eventset * set))                                            \
    F(nvmlDeviceRegisterEvents,                                                        \
      (nvml_handle d, unsigned long long types, eventset set))                         \
    F(nvmlEventSetWait_v2, (eventset set, struct event * event, unsigned int ms))      \
    F(nvmlEventSetFree, (eventset set))

/* And what may be missing: functions of versions 510 and 470, and of drivers that
 * support instances. */
#define NVML_OPTIONAL(F)                                                               \
    F(nvmlDeviceGetComputeRunningProcesses_v3,                                         \
      (nvml_handle d, unsigned int *count, struct gpu_process *processes))             \
    F(nvmlDeviceGetComputeRunningProcesses_v2,                                         \
      (nvml_handle d, unsigned int *count, struct gpu_process *processes))             \
    F(nvmlDeviceGetMaxMigDeviceCount, (nvml_handle d, unsigned int *count))            \
    F(nvmlDeviceGetMigDeviceHandleByIndex,                                             \
      (nvml_handle d, unsigned int index, nvml_handle *instance))

#define MEMBER(name, arguments) result(*name) arguments;
static struct {
    NVML_FUNCTIONS(MEMBER)
    NVML_OPTIONAL(MEMBER)
} nvml;
static void *library;
static int users; /* nvml_open() calls without their nvml_close() */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static int symbols_find(void *object, struct error *err)
{
    static const char *const names[] = {
#define NAME(name, arguments) #name,
        NVML_FUNCTIONS(NAME) NULL, NVML_OPTIONAL(NAME)};
    void *const places[] = {
#define PLACE(name, arguments) &nvml.name,
        NVML_FUNCTIONS(PLACE) NULL, NVML_OPTIONAL(PLACE)};
    bool required = true;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *symbol = names[i] ? dlsym(object, names[i]) : NULL;

        required = required && names[i];
        if (required && !symbol)
            return error_set(err, RAYTRAIN_ENOTSUP,
                             "%s has no %s(): the driver is too old, 450 is needed",
                             FILE_NAME, names[i]);
        if (places[i])
            memcpy(places[i], &symbol, sizeof symbol);
    }
    return 0;
}

static int library_open(struct error *err)
{
    void *object = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL);
    result r;

    if (!object)
        return error_set(err, RAYTRAIN_ENOTFOUND,
                         "%s is not here: NVIDIA's driver is not installed", FILE_NAME);
    if (symbols_find(object, err) < 0) {
        dlclose(object);
        return -1;
    }
    if ((r = nvml.nvmlInit_v2()) != SUCCESS) {
        dlclose(object);
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "NVML does not start (error %d): is NVIDIA's driver loaded?",
                         r);
    }
    library = object;
    return 0;
}

int nvml_open(struct error *err)
{
    int rc;

    pthread_mutex_lock(&opening);
    rc = users > 0 ? 0 : library_open(err);
    users += rc == 0;
    pthread_mutex_unlock(&opening);
    return rc;
}

void nvml_close(void)
{
    pthread_mutex_lock(&opening);
    if (--users == 0) {
        nvml.nvmlShutdown();
        dlclose(library);
    }
    pthread_mutex_unlock(&opening);
}

void nvml_driver_version(char version[NVML_VERSION_MAX])
{
    if (nvml.nvmlSystemGetDriverVersion(version, NVML_VERSION_MAX) != SUCCESS)
        version[0] = '\0';
}

/* ---- GPUs ---- */

static bool device_fill(nvml_handle handle, nvml_handle gpu, int number,
                        struct nvml_device *device)
{
    struct pci_info pci;

    *device = (struct nvml_device){
        .number = number, .handle = handle, .gpu = gpu, .is_instance = handle != gpu};
    if (nvml.nvmlDeviceGetUUID(handle, device->uuid, sizeof device->uuid) != SUCCESS)
        return false;
    if (nvml.nvmlDeviceGetPciInfo_v3(gpu, &pci) == SUCCESS)
        snprintf(device->pci, sizeof device->pci, "%s", pci.id);
    return true;
}

/* A GPU that this process may not use (by a cgroup of Slurm) has no number. */
static int gpus_list(struct nvml_device devices[NVML_DEVICES_MAX])
{
    unsigned int count = 0;
    int n = 0;

    if (nvml.nvmlDeviceGetCount_v2(&count) != SUCCESS)
        return 0;
    for (unsigned int i = 0; i < count && n < NVML_DEVICES_MAX; i++) {
        nvml_handle d;

        if (nvml.nvmlDeviceGetHandleByIndex_v2(i, &d) == SUCCESS &&
            device_fill(d, d, n, &devices[n]))
            n++;
    }
    return n;
}

/* CUDA accepts the beginning of a name, too. */
static bool is_named(const char *uuid, const char *name, size_t length)
{
    return length > strlen("GPU-") && strncmp(uuid, name, length) == 0;
}

static bool instance_find(const struct nvml_device *gpu, const char *name,
                          size_t length, struct nvml_device *device)
{
    unsigned int most = 0;
    nvml_handle d;

    if (!nvml.nvmlDeviceGetMaxMigDeviceCount ||
        !nvml.nvmlDeviceGetMigDeviceHandleByIndex ||
        nvml.nvmlDeviceGetMaxMigDeviceCount(gpu->handle, &most) != SUCCESS)
        return false;
    for (unsigned int i = 0; i < most; i++)
        if (nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu->handle, i, &d) == SUCCESS &&
            device_fill(d, gpu->handle, gpu->number, device) &&
            is_named(device->uuid, name, length)) {
            snprintf(device->pci, sizeof device->pci, "%s", gpu->pci);
            return true;
        }
    return false;
}

/* "MIG-GPU-uuid/1/0", the older form, is known here as its GPU. */
static bool device_find(const struct nvml_device gpus[], int n, const char *name,
                        size_t length, struct nvml_device *device)
{
    bool is_mig = length > 4 && strncmp(name, "MIG-", 4) == 0;
    bool is_old = length > 8 && strncmp(name, "MIG-GPU-", 8) == 0;
    const char *slash = memchr(name, '/', length);
    long number = isdigit((unsigned char)*name) ? strtol(name, NULL, 10) : -1;

    for (int i = 0; i < n; i++) {
        *device = gpus[i];
        if (number == i || is_named(gpus[i].uuid, name, length) ||
            (is_mig && instance_find(&gpus[i], name, length, device)))
            return true;
        *device = gpus[i];
        if (is_old && slash &&
            is_named(device->uuid, name + 4, (size_t)(slash - name) - 4))
            return true;
    }
    return false;
}

int nvml_devices(const char *visible, struct nvml_device devices[NVML_DEVICES_MAX])
{
    struct nvml_device gpus[NVML_DEVICES_MAX];
    int n_gpus = gpus_list(gpus), n = 0;

    if (!visible) {
        memcpy(devices, gpus, (size_t)n_gpus * sizeof *devices);
        return n_gpus;
    }
    while (*visible && n < NVML_DEVICES_MAX) {
        size_t length = strcspn(visible, ",");

        n += length > 0 && device_find(gpus, n_gpus, visible, length, &devices[n]);
        visible += length;
        visible += *visible == ',';
    }
    return n;
}

/* ---- Answers ---- */

static enum nvml_answer answer_of(result r)
{
    return r == SUCCESS ? NVML_OK : r == ERROR_GPU_IS_LOST ? NVML_LOST : NVML_UNKNOWN;
}

enum nvml_answer nvml_memory(const struct nvml_device *device,
                             struct nvml_memory *memory)
{
    struct memory m = {0};
    enum nvml_answer answer =
        answer_of(nvml.nvmlDeviceGetMemoryInfo(device->handle, &m));

    *memory = (struct nvml_memory){m.total, m.free, m.used};
    return answer;
}

/* Instances do not have it. */
enum nvml_answer nvml_utilization(const struct nvml_device *device, double *percent)
{
    struct utilization u = {0};
    enum nvml_answer answer =
        answer_of(nvml.nvmlDeviceGetUtilizationRates(device->handle, &u));

    *percent = u.gpu;
    return answer;
}

enum nvml_answer nvml_compute_mode(const struct nvml_device *device,
                                   enum nvml_mode *mode)
{
    int m = 0;
    enum nvml_answer answer = answer_of(nvml.nvmlDeviceGetComputeMode(device->gpu, &m));

    *mode = (enum nvml_mode)m;
    return answer;
}

int nvml_processes(const struct nvml_device *device, struct nvml_process processes[],
                   int most)
{
    result (*ask)(nvml_handle, unsigned int *, struct gpu_process *) =
        nvml.nvmlDeviceGetComputeRunningProcesses_v3
            ? nvml.nvmlDeviceGetComputeRunningProcesses_v3
            : nvml.nvmlDeviceGetComputeRunningProcesses_v2;
    struct gpu_process found[PROCESSES_MAX];
    unsigned int n = PROCESSES_MAX;
    int kept = 0;

    if (!ask || ask(device->handle, &n, found) != SUCCESS)
        return 0;
    for (unsigned int i = 0; i < n && i < PROCESSES_MAX && kept < most; i++)
        processes[kept++] = (struct nvml_process){(int)found[i].pid, found[i].used};
    return kept;
}

/* ---- Errors ---- */

struct nvml_errors {
    eventset set;
    struct nvml_device devices[NVML_DEVICES_MAX];
    int n;
};

struct nvml_errors *nvml_errors_watch(const struct nvml_device devices[], int n)
{
    struct nvml_errors *errors = calloc(1, sizeof *errors);
    bool any = false;

    if (!errors)
        return NULL;
    if (nvml.nvmlEventSetCreate(&errors->set) != SUCCESS) {
        free(errors);
        return NULL;
    }
    memcpy(errors->devices, devices, (size_t)n * sizeof *devices);
    errors->n = n;
    for (int i = 0; i < n; i++)
        any = nvml.nvmlDeviceRegisterEvents(devices[i].gpu, EVENT_XID, errors->set) ==
                  SUCCESS ||
              any;
    if (any)
        return errors;
    nvml_errors_free(errors);
    return NULL;
}

bool nvml_errors_next(struct nvml_errors *errors, int *at, int *xid)
{
    struct event event = {0};

    while (errors && nvml.nvmlEventSetWait_v2(errors->set, &event, 0) == SUCCESS) {
        if (!(event.type & EVENT_XID))
            continue;
        *xid = (int)event.data;
        *at = 0;
        for (int i = 0; i < errors->n; i++)
            if (errors->devices[i].gpu == event.device ||
                errors->devices[i].handle == event.device) {
                *at = i;
                break;
            }
        return true;
    }
    return false;
}

void nvml_errors_free(struct nvml_errors *errors)
{
    if (errors)
        nvml.nvmlEventSetFree(errors->set);
    free(errors);
}

/* NVIDIA's catalogue of Xids says what to do about each: restart the program, or reset
 * the GPU, or have the machine repaired. The last two are hardware here. So is 94,
 * after which a program may be restarted, but on memory that has failed. */
static const struct {
    int xid;
    bool hardware;
    const char *text;
} xids[] = {
    {8, false, "the GPU stopped processing: a kernel ran too long"},
    {13, false, "an exception in a kernel of the program"},
    {31, false, "a kernel of the program used memory that is not its own"},
    {32, false, "the program sent invalid commands"},
    {38, false, "the driver's firmware failed"},
    {43, false, "a kernel of the program failed and was stopped"},
    {45, false, "the program was stopped, or another error came before"},
    {46, true, "the GPU stopped processing"},
    {48, true, "uncorrectable error of memory (double-bit ECC)"},
    {62, true, "the GPU's controller halted"},
    {63, false, "failing memory was retired"},
    {64, true, "failing memory could not be retired"},
    {68, false, "an exception of the video processor"},
    {69, false, "an exception in a kernel of the program"},
    {74, true, "an error of NVLink"},
    {79, true, "the GPU has fallen off the bus"},
    {92, false, "many correctable errors of memory"},
    {94, true, "uncorrectable error of memory, which was contained"},
    {95, true, "uncorrectable error of memory, which was not contained"},
    {109, false, "a kernel of the program did not yield in time"},
    {110, true, "a security fault of the GPU"},
    {119, true, "the GPU's system processor does not answer"},
    {120, true, "the GPU's system processor failed"},
    {136, true, "the links of the GPU could not be trained"},
    {140, true, "uncorrectable error of memory (ECC)"},
    {143, true, "the GPU could not be initialised"},
    {154, false, "what the GPU needs to recover has changed"},
};
#define N_XIDS (sizeof xids / sizeof *xids)

const char *nvml_xid_text(int xid)
{
    for (size_t i = 0; i < N_XIDS; i++)
        if (xids[i].xid == xid)
            return xids[i].text;
    return "see NVIDIA's catalogue of Xid errors";
}

bool nvml_xid_is_hardware(int xid)
{
    for (size_t i = 0; i < N_XIDS; i++)
        if (xids[i].xid == xid)
            return xids[i].hardware;
    return false;
}
