/*
 * devices.c - the table of vendors, and the list of GPUs in use: their streams and
 * pieces, a reset, and errors.
 */
#include "config.h"

#include "device/devices.h"

#include <stdatomic.h>
#include <stdlib.h>

static const struct device_vendor *const vendors[] = {&cuda_vendor, &hip_vendor};

static struct device *devices;
static atomic_bool abandoned;

static const struct device_vendor *vendor_find(int kind, struct error *err)
{
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; i++)
        if (vendors[i]->kind == kind)
            return vendors[i];
    error_set(err, RAYTRAIN_ENOTSUP, "there is no device of kind %d", kind);
    return NULL;
}

/* Was the context of the GPU destroyed, as by cudaDeviceReset()? */
bool device_is_lost(struct device *device)
{
    uint64_t number;

    if (device->witness && !atomic_load(&device->lost) &&
        device->vendor->allocation_number(device->witness, &number, NULL) == 0 &&
        number != device->witness_number)
        atomic_store(&device->lost, true);
    return atomic_load(&device->lost);
}

/* If the GPU is full, there is no witness, and a reset is not noticed. The context is
 * current. */
static void witness_create(struct device *device)
{
    const struct device_vendor *v = device->vendor;

    if (!v->allocation_number || v->memory_alloc(1, &device->witness, NULL) < 0)
        device->witness = NULL;
    else if (v->allocation_number(device->witness, &device->witness_number, NULL) < 0) {
        v->memory_free(device->witness);
        device->witness = NULL;
    }
}

static struct device *device_open(const struct device_vendor *vendor, int id,
                                  struct error *err)
{
    struct device *device = calloc(1, sizeof *device);

    if (!device) {
        error_no_memory(err);
        return NULL;
    }
    device->vendor = vendor;
    device->id = id;
    if (vendor->device_open(id, &device->context, err) < 0) {
        free(device);
        return NULL;
    }
    if (vendor->enter(device->context, err) < 0) {
        vendor->device_close(id);
        free(device);
        return NULL;
    }
    witness_create(device);
    vendor->leave();
    device->next = devices;
    devices = device;
    return device;
}

struct device *device_enter(int kind, int id, struct error *err)
{
    const struct device_vendor *vendor = vendor_find(kind, err);
    struct device *device = devices;

    if (!vendor || vendor->open(err) < 0)
        return NULL;
    while (device &&
           (device->vendor != vendor || device->id != id || device_is_lost(device)))
        device = device->next;
    if (!device)
        device = device_open(vendor, id, err);
    if (!device || vendor->enter(device->context, err) < 0)
        return NULL;
    return device;
}

int device_resume(struct device *device, struct error *err)
{
    if (device_is_lost(device))
        return error_set(
            err, RAYTRAIN_EFAILED,
            "%s GPU %d was reset, as by cudaDeviceReset(), and what raytrain "
            "had there is lost: before that, call raytrain_checkpoint_wait(), "
            "and destroy reducers",
            device->vendor->name, device->id);
    return device->vendor->enter(device->context, err);
}

void device_leave(const struct device *device)
{
    device->vendor->leave();
}

/* Work that is queued in a stream during a capture runs when the graph is launched, if
 * ever, and a wait for it would invalidate the capture. */
static int caller_check(const struct device *device, struct error *err)
{
    bool capturing = false;

    if (device->vendor->is_capturing(device->caller, &capturing, err) < 0)
        return -1;
    if (!capturing)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "the stream of this process on %s GPU %d is being captured into a "
                     "graph, which cannot contain raytrain's work: call raytrain "
                     "before the capture begins or after it ends",
                     device->vendor->name, device->id);
}

int device_after_caller(const struct device *device, void *event, struct error *err)
{
    return caller_check(device, err) < 0
               ? -1
               : device->vendor->event_record(event, device->caller, err);
}

int device_before_caller(const struct device *device, void *event, struct error *err)
{
    return caller_check(device, err) < 0
               ? -1
               : device->vendor->stream_wait(device->caller, event, err);
}

static int piece_prepare(const struct device_vendor *v, struct piece *piece,
                         struct error *err)
{
    if (!piece->memory && v->pinned_alloc(DEVICE_PIECE_BYTES, &piece->memory, err) < 0)
        return -1;
    return piece->copied ? 0 : v->event_create(&piece->copied, err);
}

int device_prepare(struct device *device, int n_lanes, struct error *err)
{
    const struct device_vendor *v = device->vendor;

    if (!device->stream && v->stream_create(&device->stream, err) < 0)
        return -1;
    if (!device->ready && v->event_create(&device->ready, err) < 0)
        return -1;
    for (int i = 0; i < 2 * n_lanes; i++)
        if (piece_prepare(v, &device->pieces[i], err) < 0)
            return -1;
    return 0;
}

static void device_destroy(struct device *device)
{
    const struct device_vendor *v = device->vendor;
    bool lost = device_is_lost(device),
         entered = !lost && v->enter(device->context, NULL) == 0;

    for (int i = 0; entered && i < 2 * DEVICE_LANES_MAX; i++) {
        if (device->pieces[i].copied)
            v->event_destroy(device->pieces[i].copied);
        if (device->pieces[i].memory)
            v->pinned_free(device->pieces[i].memory);
    }
    if (entered && device->ready)
        v->event_destroy(device->ready);
    if (entered && device->stream)
        v->stream_destroy(device->stream);
    if (entered && device->witness)
        v->memory_free(device->witness);
    if (entered)
        v->leave();
    if (!lost)
        v->device_close(device->id);
    free(device);
}

/* Ask the GPU for errors, without waiting for it. */
static int device_look(struct device *device, struct error *err)
{
    const struct device_vendor *v = device->vendor;
    bool done;
    int rc;

    if (v->enter(device->context, err) < 0)
        return -1;
    rc = device->ready ? 0 : v->event_create(&device->ready, err);
    if (rc == 0)
        rc = v->event_done(device->ready, &done, err);
    v->leave();
    return rc;
}

int devices_check(struct error *err)
{
    for (struct device *device = devices; device && !abandoned; device = device->next)
        if (!device_is_lost(device) && device_look(device, err) < 0)
            return error_prefix(err, "%s GPU %d has failed", device->vendor->name,
                                device->id);
    return 0;
}

void devices_clear(void)
{
    while (devices && !abandoned) {
        struct device *device = devices;

        devices = device->next;
        if (!device->kept)
            device_destroy(device);
    }
}

void devices_abandon(void)
{
    abandoned = true;
}

bool devices_abandoned(void)
{
    return abandoned;
}
