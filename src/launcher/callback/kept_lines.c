/* kept_lines.c - a buffer before a non-blocking descriptor. */
#include "callback/kept_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/clock.h"

#define KEPT_BYTES  ((size_t)4 << 20) /* in addition to the pipe's buffer */
#define WRITE_BYTES 65536             /* from this size on, lines are written at once */
#define RESERVED    4096  /* of KEPT_BYTES, for a line that counts lost lines */
#define RETRY_S     0.005 /* the pause before a full pipe is tried again */

int kept_lines_open(struct kept_lines *k, struct error *err)
{
    k->kept = malloc(KEPT_BYTES);
    return k->kept ? 0 : error_no_memory(err);
}

void kept_lines_write(struct kept_lines *k)
{
    while (k->fd >= 0 && k->begin < k->n) {
        ssize_t n = write(k->fd, k->kept + k->begin, k->n - k->begin);

        if (n >= 0)
            k->begin += (size_t)n;
        else if (errno == EAGAIN)
            break;
        else if (errno != EINTR)
            kept_lines_close(k);
    }
    if (k->begin == k->n)
        k->begin = k->n = 0;
    k->tried = clock_now();
}

/* Is there room for n bytes? */
static bool room_make(struct kept_lines *k, size_t n)
{
    if (k->n + n > KEPT_BYTES && k->begin >= KEPT_BYTES / 4) {
        memmove(k->kept, k->kept + k->begin, k->n - k->begin);
        k->n -= k->begin;
        k->begin = 0;
    }
    return k->n + n <= KEPT_BYTES;
}

static void line_keep(struct kept_lines *k, const char *line, size_t n)
{
    memcpy(k->kept + k->n, line, n);
    k->kept[k->n + n] = '\n';
    k->n += n + 1;
}

static bool lost_keep(struct kept_lines *k, size_t n)
{
    char text[64];
    int used;

    if (k->lost == 0)
        return true;
    used = snprintf(text, sizeof text, "{\"event\":\"lost\",\"lines\":%llu}",
                    (unsigned long long)k->lost);
    if (!room_make(k, (size_t)used + n + 2))
        return false;
    line_keep(k, text, (size_t)used);
    k->lost = 0;
    return true;
}

bool kept_lines_add(struct kept_lines *k, const char *line)
{
    size_t n = strlen(line);

    if (k->fd < 0)
        return true;
    if (k->n - k->begin > WRITE_BYTES && clock_now() - k->tried > RETRY_S)
        kept_lines_write(k);
    if (!room_make(k, n + 1 + RESERVED) || !lost_keep(k, n))
        return false;
    line_keep(k, line, n);
    return true;
}

void kept_lines_lose(struct kept_lines *k)
{
    k->lost++;
}

bool kept_lines_written(const struct kept_lines *k)
{
    return k->n == 0;
}

void kept_lines_close(struct kept_lines *k)
{
    if (k->fd >= 0)
        close(k->fd);
    k->fd = -1;
    k->begin = k->n = 0;
}

void kept_lines_clear(struct kept_lines *k)
{
    kept_lines_close(k);
    free(k->kept);
    *k = (struct kept_lines)KEPT_LINES_INIT;
}
