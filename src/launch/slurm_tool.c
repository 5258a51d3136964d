/* slurm_tool.c - run one of Slurm's commands; see slurm_tool.h. */
#include "config.h"

#include "launch/slurm_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/child.h"
#include "util/quote.h"

#define OUTPUT_MAX (16u << 20) /* more than any answer of a sane controller */

struct slurm_tool {
    char name[32];
    struct child child;
    int fd; /* what it prints */
    bool eof;
    char *text;
    size_t used, room;
};

static int tool_spawn(struct slurm_tool *t, char *const *argv, char *const *env,
                      struct error *err)
{
    int fds[2], rc;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "cannot make a pipe: %s",
                         strerror(errno));
    t->fd = fds[0];
    rc = child_spawn(&(struct child_spec){.argv = argv,
                                          .env = env,
                                          .in = -1,
                                          .out = fds[1],
                                          .err = fds[1],
                                          .die_with_parent = true},
                     &t->child, err);
    close(fds[1]);
    if (rc < 0) {
        if (err)
            err->code = RAYTRAIN_ENOTSUP;
        return error_prefix(err, "Slurm's commands are needed here");
    }
    if (fcntl(t->fd, F_SETFL, O_NONBLOCK) < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "cannot listen to %s: %s", t->name,
                         strerror(errno));
    return 0;
}

int slurm_tool_start(char *const *argv, char *const *env, struct slurm_tool **out,
                     struct error *err)
{
    struct slurm_tool *t = calloc(1, sizeof *t);

    if (!t)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    snprintf(t->name, sizeof t->name, "%s", argv[0]);
    t->child = (struct child)CHILD_INIT;
    t->fd = -1;
    if (tool_spawn(t, argv, env, err) < 0) {
        slurm_tool_destroy(t);
        return -1;
    }
    *out = t;
    return 0;
}

void slurm_tool_destroy(struct slurm_tool *t)
{
    if (!t)
        return;
    child_clear(&t->child);
    if (t->fd >= 0)
        close(t->fd);
    free(t->text);
    free(t);
}

static int text_grow(struct slurm_tool *t, struct error *err)
{
    size_t room = t->room ? 2 * t->room : 4096;
    char *grown = room <= OUTPUT_MAX ? realloc(t->text, room) : NULL;

    if (!grown)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for the answer of %s",
                         t->name);
    t->text = grown;
    t->room = room;
    return 0;
}

/* All that is there to read now. */
static int text_read(struct slurm_tool *t, struct error *err)
{
    while (!t->eof) {
        ssize_t n;

        if (t->room - t->used < 2 && text_grow(t, err) < 0)
            return -1;
        n = read(t->fd, t->text + t->used, t->room - t->used - 1);
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n > 0)
            t->used += (size_t)n;
        else
            t->eof = n == 0 || errno != EINTR;
    }
    return 0;
}

int slurm_tool_poll(struct slurm_tool *t, bool *done, char **text, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    bool gone = false;
    int status = 0;

    *done = false;
    if (text_read(t, err) < 0 ||
        (t->eof && child_reap(&t->child, &gone, &status, err) < 0))
        return -1;
    if (!gone)
        return 0;
    t->text[t->used] = '\0';
    if (status != 0)
        return error_set(err, RAYTRAIN_ENOTSUP, "%s failed: %s", t->name,
                         quote(t->text, quoted));
    *text = t->text;
    t->text = NULL;
    *done = true;
    return 0;
}

void slurm_tool_wait(const struct slurm_tool *t, int ms)
{
    struct pollfd p = {.fd = t->eof ? t->child.pidfd : t->fd, .events = POLLIN};

    poll(&p, 1, ms);
}

int slurm_tool_read(char *const *argv, char **text, struct error *err)
{
    struct slurm_tool *t = NULL;
    bool done = false;
    int rc = slurm_tool_start(argv, NULL, &t, err);

    while (rc == 0 && !done) {
        slurm_tool_wait(t, -1);
        rc = slurm_tool_poll(t, &done, text, err);
    }
    slurm_tool_destroy(t);
    return rc;
}
