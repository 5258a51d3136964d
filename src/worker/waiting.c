#include "config.h"
#include "worker/waiting.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/fs.h"
#include "worker/notes.h"
#include "worker/rank_list.h"

void waiting_begin(struct waiting *w, const char *call)
{
    w->call = call;
    w->calls++;
    w->recorded = false;
    w->next_note = WAITING_NOTE_S;
}

static void slot_format(const struct waiting *w, char slot[WAITING_SLOT + 1])
{
    snprintf(slot, WAITING_SLOT + 1, "%-15.15s%16lld\n", w->call, (long long)w->calls);
}

/* O_DSYNC: several nodes write into the same page of this file, and an NFS client then
 * sends its own bytes and no others. Nothing here is worth failing for. */
static int slots_open(const struct waiting *w)
{
    char *path;
    int fd;

    if (asprintf(&path, "%s/%s", w->log_dir, WAITING_FILE) < 0)
        return -1;
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_DSYNC, 0644);
    free(path);
    return fd;
}

static void slot_write(const struct waiting *w)
{
    char slot[WAITING_SLOT + 1];
    int fd = slots_open(w);

    if (fd < 0)
        return;
    slot_format(w, slot);
    fs_pwrite_full(fd, slot, WAITING_SLOT, (uint64_t)w->rank * WAITING_SLOT);
    close(fd);
}

/* All slots; those that nobody has written yet are zeros. */
static char *slots_read(const struct waiting *w)
{
    char *slots = calloc((size_t)w->size, WAITING_SLOT);
    int fd = slots ? slots_open(w) : -1;
    ssize_t got;

    if (fd < 0) {
        free(slots);
        return NULL;
    }
    got = pread(fd, slots, (size_t)w->size * WAITING_SLOT, 0);
    close(fd);
    if (got < 0) {
        free(slots);
        return NULL;
    }
    return slots;
}

/* What another rank has said it waits in, if that is as far on as this one: it is here,
 * but in the wrong call. */
static bool slot_elsewhere(const struct waiting *w, const char *slot, char call[16])
{
    char line[WAITING_SLOT + 1] = "";
    long long calls;

    memcpy(line, slot, WAITING_SLOT);
    if (sscanf(line + 15, "%lld", &calls) != 1 || calls != w->calls)
        return false;
    snprintf(call, 16, "%.15s", line);
    for (size_t n = strlen(call); n > 0 && call[n - 1] == ' '; n--)
        call[n - 1] = '\0';
    return strcmp(call, w->call) != 0;
}

bool waiting_sentence(const struct waiting *w, const char *slots, double waited_s,
                      char *out, int out_max)
{
    char mine[WAITING_SLOT + 1], call[16], other[16] = "", list[RANK_LIST_MAX];
    bool *missing = calloc((size_t)w->size, sizeof *missing);
    int n_missing = 0, lowest = -1, elsewhere = -1;

    if (!missing)
        return false;
    slot_format(w, mine);
    for (int i = 0; i < w->size; i++) {
        const char *slot = slots + (size_t)i * WAITING_SLOT;

        missing[i] = i != w->rank && memcmp(slot, mine, WAITING_SLOT) != 0;
        n_missing += missing[i];
        if (!missing[i] && lowest < 0)
            lowest = i;
        if (missing[i] && elsewhere < 0 && slot_elsewhere(w, slot, call)) {
            elsewhere = i;
            memcpy(other, call, sizeof other);
        }
    }
    if (elsewhere >= 0)
        snprintf(out, (size_t)out_max,
                 "%s has waited %.0f s for %s; rank %d waits in %s", w->call, waited_s,
                 rank_list(missing, w->size, list), elsewhere, other);
    else
        snprintf(out, (size_t)out_max, "%s has waited %.0f s for %s", w->call, waited_s,
                 rank_list(missing, w->size, list));
    free(missing);
    return n_missing > 0 && lowest == w->rank;
}

void waiting_hook(void *arg, double waited_s)
{
    struct waiting *w = arg;
    char text[256];
    char *slots;

    if (!w->recorded && waited_s >= WAITING_RECORD_S) {
        slot_write(w);
        w->recorded = true;
    }
    if (waited_s < w->next_note)
        return;
    w->next_note += WAITING_NOTE_S;
    slots = slots_read(w);
    if (slots && waiting_sentence(w, slots, waited_s, text, sizeof text))
        note_add(w->log_dir, NOTE_WARNING, "%s", text);
    free(slots);
}
