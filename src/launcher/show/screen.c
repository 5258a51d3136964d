/* screen.c - text kept for standard output and standard error, and written by an outlet
 * (event/outlet.h) each. */
#include "config.h"

#include "show/screen.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event/outlet.h"

#define PLACE_BYTES (4 << 20) /* of each place */
#define PUSH_BYTES  32768     /* written at once: less than an outlet keeps */

struct place {
    struct outlet *outlet;
    bool shared; /* with messages of this process: they begin lines */
    bool block;
    bool open;  /* the last line that was printed has no newline yet */
    char *kept; /* in [begin, n) */
    size_t begin, n;
};

struct screen {
    struct place out, err;
    bool one; /* everything goes to standard error */
    bool has_lost;
    uint64_t lost; /* lines, since the last message about lost lines */
    const char *log_dir;
};

static bool same_file(int a, int b)
{
    struct stat one, other;

    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

struct screen *screen_create(bool one, bool block, const char *log_dir)
{
    struct screen *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->one = one || same_file(STDOUT_FILENO, STDERR_FILENO);
    s->log_dir = log_dir;
    s->err =
        (struct place){.outlet = outlet_messages(), .shared = true, .block = block};
    s->out = (struct place){.outlet = outlet_output()};
    return s;
}

static struct place *place_of(const struct screen *s, bool is_error)
{
    const struct place *p = is_error || s->one ? &s->err : &s->out;

    return (struct place *)(uintptr_t)p;
}

void screen_set_log_dir(struct screen *s, const char *log_dir)
{
    s->log_dir = log_dir;
}

bool screen_has_block(const struct screen *s, bool is_error)
{
    return place_of(s, is_error)->block;
}

/* ---- What is kept ---- */

static bool place_fits(struct place *p, size_t n)
{
    if (!p->kept && !(p->kept = malloc(PLACE_BYTES)))
        return false;
    if (p->n + n > PLACE_BYTES && p->begin > 0) {
        memmove(p->kept, p->kept + p->begin, p->n - p->begin);
        p->n -= p->begin;
        p->begin = 0;
    }
    return p->n + n <= PLACE_BYTES;
}

static void place_keep(struct place *p, const char *text, size_t n)
{
    memcpy(p->kept + p->n, text, n);
    p->n += n;
}

static uint64_t place_newlines(const char *text, size_t n)
{
    uint64_t lines = 0;

    for (const char *at = text; (at = memchr(at, '\n', n - (size_t)(at - text))); at++)
        lines++;
    return lines;
}

/* The message goes to standard error, even if standard output has lost the lines. */
static void lost_say(struct screen *s)
{
    struct place *p = &s->err;
    char said[512];
    int n;

    n = snprintf(said, sizeof said,
                 "%sraytrain: %" PRIu64
                 " lines of output are not shown, because they were "
                 "not read in time: see %.300s\n",
                 p->open && !p->block ? "\n" : "", s->lost, s->log_dir);
    if (n <= 0 || !place_fits(p, (size_t)n))
        return;
    place_keep(p, said, (size_t)n);
    s->lost = 0;
}

void screen_lose(struct screen *s, uint64_t lines)
{
    s->has_lost = true;
    s->lost += lines;
}

void screen_put(struct screen *s, bool is_error, const char *text, size_t n)
{
    struct place *p = place_of(s, is_error);

    if (n > 0 && place_fits(p, n))
        place_keep(p, text, n);
    else if (n > 0)
        screen_lose(s, place_newlines(text, n));
}

bool screen_has_lost(const struct screen *s)
{
    return s->has_lost;
}

/* ---- To the outlets ---- */

/* A message of this process starts on a new line even after text without a newline; the
 * text that follows continues where it was. */
static void piece_print(struct place *p, const char *text, size_t n)
{
    bool marks = p->shared && !p->block;

    if (marks && p->open)
        outlet_precede(p->outlet, "");
    outlet_write(p->outlet, text, n);
    p->open = text[n - 1] != '\n';
    if (marks && p->open)
        outlet_precede(p->outlet, "\n");
}

static bool place_push(struct place *p)
{
    if (p->begin == p->n)
        p->begin = p->n = 0;
    while (p->begin < p->n) {
        size_t n = p->n - p->begin;

        if (!outlet_flush(p->outlet, 0))
            return false;
        if (n > PUSH_BYTES) {
            const char *end = memrchr(p->kept + p->begin, '\n', PUSH_BYTES);

            n = end ? (size_t)(end - p->kept) - p->begin + 1 : PUSH_BYTES;
        }
        piece_print(p, p->kept + p->begin, n);
        p->begin += n;
    }
    p->begin = p->n = 0;
    return true;
}

bool screen_push(struct screen *s)
{
    bool out = place_push(&s->out), err = place_push(&s->err);

    if (!out || !err || s->lost == 0)
        return out && err;
    lost_say(s);
    return place_push(&s->err);
}

void screen_destroy(struct screen *s)
{
    if (!s)
        return;
    free(s->out.kept);
    free(s->err.kept);
    free(s);
}
