/*
 * shown.c - the channel from the workers to the screen.
 *
 *   Lines        of the ranks, put together from pieces
 *   The channel  read, at a limited rate
 */
#include "config.h"

#include "show/shown.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/output_wire.h"
#include "show/equal_lines.h"
#include "show/screen.h"
#include "util/rank_choice.h"
#include "util/rank_list.h"

#define TICK_S        0.02
#define READ_BYTES    65536
#define READS_A_TICK  16        /* a limit for ranks that never stop printing */
#define CHANNEL_BYTES (1 << 20) /* of the pipe, if the system allows it */
#define LINE_BYTES    16384     /* a longer line is cut */

/* A line of a rank that has not ended yet. */
struct part {
    char *text;
    size_t n;
    bool returned; /* the next text replaces it */
};

struct shown {
    struct shown_spec spec;
    char *log_dir; /* that of spec, as the plan */
    struct placement plan;
    struct screen *screen;
    int fd, timer;
    bool paused; /* fd is out of the loop until the next tick */
    bool ended;
    bool alone;   /* one rank alone is shown */
    bool changed; /* since the last call of live */
    bool finished;
    bool pushed;        /* the screen has written all of it */
    int reads;          /* since the last tick */
    struct part *parts; /* of each rank, two: standard output, standard error */
    struct equal_lines *lines;
    char held[OUTPUT_LINE_MAX * 2]; /* the beginning of a line of the channel */
    size_t n_held;
};

/* ---- Lines ---- */

static void line_print(struct shown *s, bool is_error, const char *before,
                       const char *text, size_t n)
{
    screen_put(s->screen, is_error, before, strlen(before));
    screen_put(s->screen, is_error, text, n);
    screen_put(s->screen, is_error, "\n", 1);
}

static void on_lines(void *arg, bool is_error, const bool in[], int n_in,
                     const char *text, size_t n)
{
    struct shown *s = arg;
    char ranks[RANK_LIST_MAX], before[RANK_LIST_MAX + 300];
    int rank = 0;

    if (n_in > 1) {
        snprintf(before, sizeof before,
                 "%s: ", rank_list(in, s->spec.plan->workers, ranks));
    } else {
        while (!in[rank])
            rank++;
        snprintf(before, sizeof before,
                 "%.255s:%d: ", placement_host(s->spec.plan, rank), rank);
    }
    line_print(s, is_error, before, text, n);
}

static void line_end(struct shown *s, int rank, bool is_error, struct part *p)
{
    if (s->lines)
        equal_lines_add(s->lines, rank, is_error, p->n ? p->text : "", p->n);
    else
        line_print(s, is_error, "", p->n ? p->text : "", p->n);
    p->n = 0;
    p->returned = false;
}

static void part_add(struct shown *s, int rank, bool is_error, struct part *p, char c)
{
    if (c == '\n') {
        line_end(s, rank, is_error, p);
        return;
    }
    if (c == '\r') {
        p->returned = true;
        return;
    }
    if (p->returned)
        p->n = 0;
    p->returned = false;
    if (p->n == LINE_BYTES)
        line_end(s, rank, is_error, p);
    if (!p->text && !(p->text = malloc(LINE_BYTES + 1)))
        return;
    p->text[p->n++] = c;
}

static struct part *part_of(const struct shown *s, int rank, bool is_error)
{
    return &s->parts[2 * rank + is_error];
}

/* Pass on the line that the rank is replacing. Progress bars are usually on standard
 * error. */
static void live_tell(struct shown *s)
{
    const char *line = NULL;

    if (!s->changed || !s->spec.live)
        return;
    s->changed = false;
    for (int rank = 0; s->alone && !s->finished && rank < s->spec.plan->workers; rank++)
        for (int error = 0; error < 2; error++) {
            struct part *p = part_of(s, rank, error);

            if (p->n == 0)
                continue;
            p->text[p->n] = '\0';
            line = p->text;
        }
    s->spec.live(s->spec.arg, line);
}

static void piece_take(struct shown *s, const struct output_piece *piece)
{
    bool is_error = piece->kind == OUTPUT_STDERR;
    char said[OUTPUT_LINE_MAX + 32];
    int n;

    s->changed = true;
    if (piece->kind == OUTPUT_LOST) {
        screen_lose(s->screen, piece->lost);
    } else if (piece->kind == OUTPUT_NOTE) {
        n = snprintf(said, sizeof said, "raytrain: %.*s", (int)piece->n, piece->text);
        line_print(s, true, "", said, (size_t)n);
    } else if (piece->rank < 0 || piece->rank >= s->spec.plan->workers ||
               (s->alone && !screen_has_block(s->screen, is_error))) {
        screen_put(s->screen, is_error, piece->text, piece->n);
    } else {
        for (size_t i = 0; i < piece->n; i++)
            part_add(s, piece->rank, is_error, part_of(s, piece->rank, is_error),
                     piece->text[i]);
    }
}

/* ---- The channel ---- */

static void line_take(struct shown *s, const char *line, size_t n)
{
    struct output_piece piece;

    output_decode(line, n, &piece);
    piece_take(s, &piece);
}

/* A line longer than the protocol allows is cut. */
static void text_take(struct shown *s, const char *text, size_t n)
{
    for (const char *end = text + n, *next; text < end; text = next) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((newline ? newline : end) - text);
        size_t room = sizeof s->held - s->n_held;

        next = newline ? newline + 1 : end;
        if (newline && s->n_held == 0) {
            line_take(s, text, length);
            continue;
        }
        memcpy(s->held + s->n_held, text, length < room ? length : room);
        s->n_held += length < room ? length : room;
        if (newline || s->n_held == sizeof s->held) {
            line_take(s, s->held, s->n_held);
            s->n_held = 0;
        }
    }
}

static void channel_end(struct shown *s)
{
    if (!s->paused)
        event_loop_remove(s->spec.loop, s->fd);
    s->paused = true;
    s->ended = true;
}

/* Returns false when there is nothing to read now. */
static bool channel_read(struct shown *s)
{
    static char text[READ_BYTES];
    ssize_t n;

    do
        n = read(s->fd, text, sizeof text);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        text_take(s, text, (size_t)n);
    if (n == 0 || (n < 0 && errno != EAGAIN))
        channel_end(s);
    return n == sizeof text;
}

static void screen_update(struct shown *s)
{
    s->pushed = screen_push(s->screen);
    live_tell(s);
}

/* ---- Ticks, as long as there is something to wait for ---- */

static int on_channel(void *arg, struct error *err);

static int on_tick(void *arg, struct error *err)
{
    struct shown *s = arg;
    bool idle = s->reads == 0;

    s->reads = 0;
    if (s->lines)
        idle = equal_lines_flush(s->lines, false) && idle;
    screen_update(s);
    if (s->paused && !s->ended) {
        s->paused = false;
        return event_loop_add(s->spec.loop, s->fd, on_channel, s, err);
    }
    if (idle && s->pushed) {
        event_loop_remove(s->spec.loop, s->timer);
        s->timer = -1;
    }
    return 0;
}

static int ticks_begin(struct shown *s, struct error *err)
{
    return s->timer >= 0
               ? 0
               : event_loop_every(s->spec.loop, TICK_S, on_tick, s, &s->timer, err);
}

static int on_channel(void *arg, struct error *err)
{
    struct shown *s = arg;

    channel_read(s);
    screen_update(s);
    if (ticks_begin(s, err) < 0)
        return -1;
    if (!s->ended && ++s->reads >= READS_A_TICK) {
        event_loop_remove(s->spec.loop, s->fd);
        s->paused = true;
    }
    return 0;
}

/* ---- Create, finish, destroy ---- */

static int channel_make(struct shown *s, int *channel, struct error *err)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "cannot make a pipe: %s",
                         strerror(errno));
    s->fd = ends[0];
    *channel = ends[1];
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    fcntl(ends[1], F_SETPIPE_SZ, CHANNEL_BYTES);
    return event_loop_add(s->spec.loop, s->fd, on_channel, s, err);
}

static int shown_open(struct shown *s, int *channel, struct error *err)
{
    int workers = s->spec.plan->workers;
    int chosen = rank_choice_count(s->spec.ranks, workers);

    s->alone = chosen == 1;
    s->parts = calloc((size_t)workers * 2, sizeof *s->parts);
    s->screen = screen_create(s->spec.out_is_used, s->spec.block, s->spec.log_dir);
    if (!s->alone)
        s->lines = equal_lines_create(workers, chosen, on_lines, s);
    if (!s->parts || !s->screen || (!s->alone && !s->lines))
        return error_no_memory(err);
    s->pushed = true;
    return channel_make(s, channel, err);
}

int shown_create(const struct shown_spec *spec, struct shown **out, int *channel,
                 struct error *err)
{
    struct shown *s = calloc(1, sizeof *s);

    *channel = -1;
    if (!s)
        return error_no_memory(err);
    s->spec = *spec;
    s->fd = s->timer = -1;
    s->spec.plan = &s->plan;
    s->spec.log_dir = s->log_dir = strdup(spec->log_dir);
    if (!s->log_dir)
        error_no_memory(err);
    else if (placement_copy(spec->plan, &s->plan, err) == 0 &&
             shown_open(s, channel, err) == 0) {
        *out = s;
        return 0;
    }
    if (*channel >= 0)
        close(*channel);
    shown_destroy(s);
    return -1;
}

int shown_continue(struct shown *s, const char *log_dir, struct error *err)
{
    char *copy = strdup(log_dir);

    if (!copy)
        return error_no_memory(err);
    free(s->log_dir);
    s->spec.log_dir = s->log_dir = copy;
    screen_set_log_dir(s->screen, copy);
    return 0;
}

int shown_fd(const struct shown *s)
{
    return s->fd;
}

bool shown_ended(const struct shown *s)
{
    return !s || s->ended;
}

bool shown_whole(const struct shown *s)
{
    return !screen_has_lost(s->screen);
}

static void parts_end(struct shown *s)
{
    for (int rank = 0; rank < s->spec.plan->workers; rank++)
        for (int error = 0; error < 2; error++) {
            struct part *p = part_of(s, rank, error);

            if (p->n > 0)
                line_end(s, rank, error, p);
        }
}

bool shown_is_idle(const struct shown *s)
{
    return !s || s->timer < 0;
}

void shown_flush(struct shown *s)
{
    if (!s || s->finished)
        return;
    while (!s->ended && channel_read(s))
        continue;
    parts_end(s);
    if (s->lines)
        equal_lines_flush(s->lines, true);
    s->changed = true;
    screen_update(s);
    (void)ticks_begin(s, NULL);
}

void shown_finish(struct shown *s)
{
    if (!s || s->finished)
        return;
    while (!s->ended && channel_read(s))
        continue;
    if (s->n_held > 0)
        line_take(s, s->held, s->n_held);
    s->n_held = 0;
    shown_flush(s);
    s->finished = s->changed = true;
    live_tell(s);
}

bool shown_is_read(const struct shown *s)
{
    return !s || s->pushed;
}

void shown_destroy(struct shown *s)
{
    if (!s)
        return;
    if (s->fd >= 0 && !s->paused)
        event_loop_remove(s->spec.loop, s->fd);
    if (s->timer >= 0)
        event_loop_remove(s->spec.loop, s->timer);
    if (s->fd >= 0)
        close(s->fd);
    for (int i = 0; s->parts && i < 2 * s->spec.plan->workers; i++)
        free(s->parts[i].text);
    free(s->parts);
    equal_lines_destroy(s->lines);
    screen_destroy(s->screen);
    free(s->log_dir);
    placement_clear(&s->plan);
    free(s);
}
