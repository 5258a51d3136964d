/*
 * standin_nvml.c - a stand-in for NVML, for tests on machines without a GPU. It is not NVML:
 * it answers what a file says, so that tests see what raytrain makes of such answers, and not
 * how a driver behaves.
 *
 * STANDIN_NVML names the file, which is read anew at each call; "%h" in it stands for the name
 * of the host. Lines:
 *
 *   driver VERSION
 *   card UUID PCI TOTAL USED PERCENT   memory in bytes; the first card is 0, and so on
 *   instance CARD UUID TOTAL USED      of a card (MIG)
 *   mode CARD NUMBER                   the compute mode
 *   process CARD PID BYTES
 *   xid CARD NUMBER                    an error: each line is reported once to each process
 *   lost CARD                          it does not answer any more
 *
 * STANDIN_NVML_LOG: each process that opens the library appends "open PID", and "close PID".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define EXPORT __attribute__((visibility("default")))

enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, TIMEOUT = 10, LOST = 15, CARDS = 16 };

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

/* Handles: a card, or the place of an instance among all + CARDS, and never NULL. */
#define HANDLE(i) ((void *)(size_t)((i) + 1))
#define NUMBER(h) ((int)(size_t)(h)-1)

static struct {
    char uuid[96], pci[32];
    unsigned long long total, used;
    unsigned percent;
    int mode, lost, of; /* of: the card of an instance */
} cards[2 * CARDS];
static int n_cards, n_instances, registered[CARDS];
static struct process processes[64];
static int process_card[64], n_processes;
static int xid_card[64], xid_number[64], n_xids, xids_given;
static char version[80];

static void line_read(const char *line)
{
    char uuid[96], pci[32];
    unsigned long long total, used;
    unsigned percent;
    int card, number;

    if (sscanf(line, "card %95s %31s %llu %llu %u", uuid, pci, &total, &used,
               &percent) == 5) {
        strcpy(cards[n_cards].uuid, uuid);
        strcpy(cards[n_cards].pci, pci);
        cards[n_cards].total = total;
        cards[n_cards].used = used;
        cards[n_cards++].percent = percent;
    } else if (sscanf(line, "instance %d %95s %llu %llu", &card, uuid, &total, &used) ==
               4) {
        int i = CARDS + n_instances++;

        strcpy(cards[i].uuid, uuid);
        cards[i].total = total;
        cards[i].used = used;
        cards[i].of = card;
    } else if (sscanf(line, "process %d %d %llu", &card, &number, &used) == 3) {
        process_card[n_processes] = card;
        processes[n_processes++] =
            (struct process){.pid = (unsigned)number, .used = used};
    } else if (sscanf(line, "xid %d %d", &card, &number) == 2) {
        xid_card[n_xids] = card;
        xid_number[n_xids++] = number;
    } else if (sscanf(line, "mode %d %d", &card, &number) == 2) {
        cards[card].mode = number;
    } else if (sscanf(line, "lost %d", &card) == 1) {
        cards[card].lost = 1;
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

    memset(cards, 0, sizeof cards);
    n_cards = n_instances = n_processes = n_xids = 0;
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
    return cards[i < CARDS ? i : cards[i].of].lost;
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
    *count = (unsigned)n_cards;
    return OK;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device)
{
    *device = HANDLE(index);
    return OK;
}

EXPORT int nvmlDeviceGetUUID(void *device, char *uuid, unsigned int size)
{
    snprintf(uuid, size, "%s", cards[NUMBER(device)].uuid);
    return OK;
}

EXPORT int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci)
{
    memset(pci, 0, sizeof *pci);
    strcpy(pci->id, cards[NUMBER(device)].pci);
    return OK;
}

EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory)
{
    int i = NUMBER(device);

    file_read();
    *memory =
        (struct memory){cards[i].total, cards[i].total - cards[i].used, cards[i].used};
    return lost(i) ? LOST : OK;
}

EXPORT int nvmlDeviceGetUtilizationRates(void *device, unsigned int rates[2])
{
    int i = NUMBER(device);

    file_read();
    if (i >= CARDS)
        return NOT_SUPPORTED;
    rates[0] = cards[i].percent;
    rates[1] = 0;
    return lost(i) ? LOST : OK;
}

EXPORT int nvmlDeviceGetComputeMode(void *device, int *mode)
{
    file_read();
    *mode = cards[NUMBER(device)].mode;
    return OK;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *count,
                                                   struct process *out)
{
    unsigned int n = 0;

    file_read();
    for (int i = 0; i < n_processes && n < *count; i++)
        if (process_card[i] == NUMBER(device))
            out[n++] = processes[i];
    *count = n;
    return OK;
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned int *count)
{
    (void)device;
    *count = CARDS;
    return OK;
}

/* Of a card, its instances in the order of the file. */
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned int index,
                                               void **instance)
{
    unsigned int seen = 0;

    for (int i = 0; i < n_instances; i++)
        if (cards[CARDS + i].of == NUMBER(device) && seen++ == index) {
            *instance = HANDLE(CARDS + i);
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

        if (!registered[xid_card[i]])
            continue;
        *event = (struct event){.device = HANDLE(xid_card[i]),
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
