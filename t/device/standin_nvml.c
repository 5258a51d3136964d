/*
 * standin_nvml.c - a stand-in for NVML, for tests on machines without a GPU. It is not
 * NVML: it answers what a file says, so that tests see what raytrain makes of such
 * answers, and not how a driver behaves.
 *
 * STANDIN_NVML names the file, which is read again at each call; "%h" in it stands for
 * the name of the host. Lines:
 *
 *   driver VERSION
 *   device UUID PCI TOTAL USED PERCENT   memory in bytes; the first GPU is 0, and so on
 *   instance DEVICE UUID TOTAL USED      of a GPU (MIG)
 *   mode DEVICE NUMBER                   the compute mode
 *   process DEVICE PID BYTES
 *   xid DEVICE NUMBER                    an error: each line is reported once to each process
 *   lost DEVICE                          it does not answer any more
 *
 * STANDIN_NVML_LOG: each process that opens the library appends "open PID", and "close
 * PID".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define EXPORT __attribute__((visibility("default")))

enum {
    OK = 0,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    TIMEOUT = 10,
    LOST = 15,
    DEVICES = 16
};

struct pci {
    char legacy[16];
    unsigned int domain, bus, device, device_id, subsystem_id;
    char id[32];
};
struct memory {
    unsigned long long total, free, used;
};
struct process {
    unsigned int pid;
    unsigned long long used;
    unsigned int gpu_instance, compute_instance;
};
struct event {
    void *device;
    unsigned long long type, data;
    unsigned int gpu_instance, compute_instance;
};

/* Handles: a GPU, or the place of an instance among all + DEVICES, and never NULL. */
#define HANDLE(i) ((void *)(size_t)((i) + 1))
#define NUMBER(h) ((int)(size_t)(h)-1)

static struct {
    char uuid[96], pci[32];
    unsigned long long total, used;
    unsigned percent;
    int mode, lost, of; /* of: the GPU of an instance */
} devices[2 * DEVICES];
static int n_devices, n_instances, registered[DEVICES];
static struct process processes[64];
static int process_device[64], n_processes;
static int xid_device[64], xid_number[64], n_xids, xids_given;
static char version[80];

static void line_read(const char *line)
{
    char uuid[96], pci[32];
    unsigned long long total, used;
    unsigned percent;
    int device, number;

    if (sscanf(line, "device %95s %31s %llu %llu %u", uuid, pci, &total, &used,
               &percent) == 5) {
        strcpy(devices[n_devices].uuid, uuid);
        strcpy(devices[n_devices].pci, pci);
        devices[n_devices].total = total;
        devices[n_devices].used = used;
        devices[n_devices++].percent = percent;
    } else if (sscanf(line, "instance %d %95s %llu %llu", &device, uuid, &total,
                      &used) == 4) {
        int i = DEVICES + n_instances++;

        strcpy(devices[i].uuid, uuid);
        devices[i].total = total;
        devices[i].used = used;
        devices[i].of = device;
    } else if (sscanf(line, "process %d %d %llu", &device, &number, &used) == 3) {
        process_device[n_processes] = device;
        processes[n_processes++] =
            (struct process){.pid = (unsigned)number, .used = used};
    } else if (sscanf(line, "xid %d %d", &device, &number) == 2) {
        xid_device[n_xids] = device;
        xid_number[n_xids++] = number;
    } else if (sscanf(line, "mode %d %d", &device, &number) == 2) {
        devices[device].mode = number;
    } else if (sscanf(line, "lost %d", &device) == 1) {
        devices[device].lost = 1;
    } else {
        sscanf(line, "driver %79s", version);
    }
}

static void file_read(void)
{
    const char *named = getenv("STANDIN_NVML"),
               *host = named ? strstr(named, "%h") : NULL;
    char line[256], path[4096] = "", name[256] = "";
    FILE *f;

    memset(devices, 0, sizeof devices);
    n_devices = n_instances = n_processes = n_xids = 0;
    version[0] = '\0';
    gethostname(name, sizeof name - 1);
    if (host)
        snprintf(path, sizeof path, "%.*s%s%s", (int)(host - named), named, name,
                 host + 2);
    f = named ? fopen(host ? path : named, "re") : NULL;
    while (f && fgets(line, sizeof line, f))
        line_read(line);
    if (f)
        fclose(f);
}

static void log_line(const char *what)
{
    const char *path = getenv("STANDIN_NVML_LOG");
    FILE *f = path ? fopen(path, "ae") : NULL;

    if (!f)
        return;
    fprintf(f, "%s %d\n", what, (int)getpid());
    fclose(f);
}

static int lost(int i)
{
    return devices[i < DEVICES ? i : devices[i].of].lost;
}

EXPORT int nvmlInit_v2(void)
{
    log_line("open");
    return OK;
}

EXPORT int nvmlShutdown(void)
{
    log_line("close");
    return OK;
}

EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned int size)
{
    file_read();
    snprintf(text, size, "%s", version);
    return OK;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned int *count)
{
    file_read();
    *count = (unsigned)n_devices;
    return OK;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device)
{
    *device = HANDLE(index);
    return OK;
}

EXPORT int nvmlDeviceGetUUID(void *device, char *uuid, unsigned int size)
{
    snprintf(uuid, size, "%s", devices[NUMBER(device)].uuid);
    return OK;
}

EXPORT int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci)
{
    memset(pci, 0, sizeof *pci);
    strcpy(pci->id, devices[NUMBER(device)].pci);
    return OK;
}

EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory)
{
    int i = NUMBER(device);

    file_read();
    *memory = (struct memory){devices[i].total, devices[i].total - devices[i].used,
                              devices[i].used};
    return lost(i) ? LOST : OK;
}

EXPORT int nvmlDeviceGetUtilizationRates(void *device, unsigned int rates[2])
{
    int i = NUMBER(device);

    file_read();
    if (i >= DEVICES)
        return NOT_SUPPORTED;
    rates[0] = devices[i].percent;
    rates[1] = 0;
    return lost(i) ? LOST : OK;
}

EXPORT int nvmlDeviceGetComputeMode(void *device, int *mode)
{
    file_read();
    *mode = devices[NUMBER(device)].mode;
    return OK;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *count,
                                                   struct process *out)
{
    unsigned int n = 0;

    file_read();
    for (int i = 0; i < n_processes && n < *count; i++)
        if (process_device[i] == NUMBER(device))
            out[n++] = processes[i];
    *count = n;
    return OK;
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned int *count)
{
    (void)device;
    *count = DEVICES;
    return OK;
}

/* Of a GPU, its instances in the order of the file. */
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned int index,
                                               void **instance)
{
    unsigned int seen = 0;

    for (int i = 0; i < n_instances; i++)
        if (devices[DEVICES + i].of == NUMBER(device) && seen++ == index) {
            *instance = HANDLE(DEVICES + i);
            return OK;
        }
    return NOT_FOUND;
}

EXPORT int nvmlEventSetCreate(void **set)
{
    *set = registered;
    return OK;
}

EXPORT int nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set)
{
    (void)set;
    registered[NUMBER(device)] = types == 8;
    return OK;
}

EXPORT int nvmlEventSetWait_v2(void *set, struct event *event, unsigned int ms)
{
    (void)set;
    (void)ms;
    file_read();
    while (xids_given < n_xids) {
        int i = xids_given++;

        if (!registered[xid_device[i]])
            continue;
        *event = (struct event){.device = HANDLE(xid_device[i]),
                                .type = 8,
                                .data = (unsigned long long)xid_number[i]};
        return OK;
    }
    return TIMEOUT;
}

EXPORT int nvmlEventSetFree(void *set)
{
    (void)set;
    return OK;
}
