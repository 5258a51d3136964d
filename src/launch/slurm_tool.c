/* slurm_tool.c - run one of Slurm's commands; see slurm_tool.h. */
#include "config.h"

#include "launch/slurm_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/child.h"
#include "util/quote.h"

#define OUTPUT_MAX (16u << 20) /* more than any answer of a sane controller */

/* All that comes from fd, as a string. */
static int output_read(int fd, char **text, struct error *err)
{
    size_t used = 0, room = 4096;
    char *buf = malloc(room), *grown;

    while (buf) {
        ssize_t n = read(fd, buf + used, room - used - 1);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            buf[used] = '\0';
            *text = buf;
            return 0;
        }
        used += (size_t)n;
        if (used + 1 < room)
            continue;
        if (room >= OUTPUT_MAX || !(grown = realloc(buf, 2 * room)))
            break;
        buf = grown;
        room *= 2;
    }
    free(buf);
    return error_set(err, RAYTRAIN_ENOMEM, "out of memory for the answer of a command");
}

static int tool_start(char *const *argv, int *out_fd, struct child *c,
                      struct error *err)
{
    int fds[2], rc;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "cannot make a pipe: %s",
                         strerror(errno));
    rc = child_spawn(&(struct child_spec){.argv = argv,
                                          .in = -1,
                                          .out = fds[1],
                                          .err = fds[1],
                                          .die_with_parent = true},
                     c, err);
    close(fds[1]);
    if (rc < 0) {
        close(fds[0]);
        if (err)
            err->code = RAYTRAIN_ENOTSUP;
        return error_prefix(err, "Slurm's commands are needed here");
    }
    *out_fd = fds[0];
    return 0;
}

int slurm_tool_read(char *const *argv, char **text, struct error *err)
{
    struct child c = CHILD_INIT;
    char *output = NULL, quoted[QUOTE_TEXT_MAX];
    int fd = -1, status, rc;

    if (tool_start(argv, &fd, &c, err) < 0)
        return -1;
    rc = output_read(fd, &output, err);
    close(fd);
    if (rc < 0)
        child_clear(&c);
    else if ((rc = child_wait(&c, &status, err)) == 0 && status != 0)
        rc = error_set(err, RAYTRAIN_ENOTSUP, "%s failed: %s", argv[0],
                       quote(output, quoted));
    if (rc < 0)
        free(output);
    else
        *text = output;
    return rc;
}
