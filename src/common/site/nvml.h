/*
 * nvml.h - NVIDIA's GPUs as the driver sees them: how full and how busy they are, whose
 * processes are on them, and what has gone wrong with them. By NVML, libnvidia-ml.so.1,
 * which is a part of the driver and is opened at run time.
 *
 * If the driver is in trouble, any of these calls may take seconds, or never return: make them
 * in a thread that can be left behind.
 */
#ifndef RAYTRAIN_SITE_NVML_H
#define RAYTRAIN_SITE_NVML_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

#define NVML_DEVICES_MAX 64
#define NVML_UUID_MAX    96
#define NVML_VERSION_MAX 80

/* A GPU, or an instance of one (MIG). */
struct nvml_device {
    int number; /* of the GPU among those that this process may use, by their places on
                   the PCI bus */
    char uuid[NVML_UUID_MAX];
    char pci[32]; /* "00000000:41:00.0", of the GPU */
    void *handle; /* NVML's */
    void *gpu;    /* of the GPU that it is an instance of; else the same */
    bool is_instance;
};

/* Open the library. RAYTRAIN_ENOTFOUND: there is none; RAYTRAIN_ENOTSUP: no driver, or
 * one that is too old. */
int nvml_open(struct error *err);
void nvml_close(void); /* call it as often as nvml_open() */
/* "550.54.14"; "": not known. */
void nvml_driver_version(char version[NVML_VERSION_MAX]);

/* The GPUs with these names, as CUDA_VISIBLE_DEVICES has them: numbers, GPU-...,
 * MIG-...; NULL: all GPUs. Returns how many there are; what NVML does not know is left
 * out. Numbers are those of CUDA_DEVICE_ORDER=PCI_BUS_ID, and mostly also of CUDA's own
 * order, which differs if the GPUs of a machine are of several kinds. */
int nvml_devices(const char *visible, struct nvml_device devices[NVML_DEVICES_MAX]);

/* What a GPU answers; NVML_UNKNOWN: it does not say. NVML_LOST: it does not answer any
 * more. */
enum nvml_answer { NVML_OK, NVML_UNKNOWN, NVML_LOST };

struct nvml_memory {
    uint64_t total, free, used; /* bytes */
};
enum nvml_answer nvml_memory(const struct nvml_device *device,
                             struct nvml_memory *memory);
/* The share of the last second or less in which a kernel was running, in percent. */
enum nvml_answer nvml_utilization(const struct nvml_device *device, double *percent);

/* May more than one process compute on it? */
enum nvml_mode { NVML_SHARED = 0, NVML_PROHIBITED = 2, NVML_EXCLUSIVE = 3 };
enum nvml_answer nvml_compute_mode(const struct nvml_device *device,
                                   enum nvml_mode *mode);

struct nvml_process {
    int pid;
    uint64_t bytes; /* UINT64_MAX: not known */
};
/* The processes that compute on the GPU. Returns how many are filled in, at most
 * `most`. */
int nvml_processes(const struct nvml_device *device, struct nvml_process processes[],
                   int most);

/* ---- Xids: errors that the driver reports ---- */

struct nvml_errors;

/* Listen for errors of these GPUs from now on; NULL: the driver does not report
 * them. */
struct nvml_errors *nvml_errors_watch(const struct nvml_device devices[], int n);
/* Get the next error, without waiting: false if there is none. *at: the index of its
 * GPU. */
bool nvml_errors_next(struct nvml_errors *errors, int *at, int *xid);
void nvml_errors_free(struct nvml_errors *errors); /* NULL is fine */

/* A short description of the error. */
const char *nvml_xid_text(int xid);
/* Is the GPU, its memory or its link at fault, rather than a program? Then another GPU
 * may work. */
bool nvml_xid_is_hardware(int xid);

#endif
