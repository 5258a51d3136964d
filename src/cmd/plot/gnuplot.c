/* gnuplot.c - start gnuplot with its three streams in files in memory, and turn its end
 * into an error. The script is made in plot_file.c. */
#include "config.h"

#include "plot/gnuplot.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/child.h"
#include "util/fs.h"
#include "util/quote.h"

/* In double quotes, everything but letters, digits and some harmless characters is
 * written as its octal code, so that no quote, backquote, backslash or @ is left. */
void gnuplot_string(FILE *script, const char *text)
{
    fputc('"', script);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (isalnum(*c) || strchr(" _-.,:/+=()", *c))
            fputc(*c, script);
        else
            fprintf(script, "\\%03o", *c);
    fputc('"', script);
}

/* ---- The process ---- */

/* Its standard input, output and error are files in memory. */
struct streams {
    int in, out, err;
};

static void streams_close(struct streams *s)
{
    if (s->in >= 0)
        close(s->in);
    if (s->out >= 0)
        close(s->out);
    if (s->err >= 0)
        close(s->err);
}

static int streams_open(struct streams *s, const char *script, size_t n,
                        struct error *err)
{
    s->in = memfd_create("script", MFD_CLOEXEC);
    s->out = memfd_create("picture", MFD_CLOEXEC);
    s->err = memfd_create("messages", MFD_CLOEXEC);
    if (s->in >= 0 && s->out >= 0 && s->err >= 0 &&
        fs_write_full(s->in, script, n) == 0 && lseek(s->in, 0, SEEK_SET) == 0)
        return 0;
    error_set(err, RAYTRAIN_ENOMEM, "no memory for a picture: %s", strerror(errno));
    streams_close(s);
    return -1;
}

/* A NUL follows the bytes. */
static int all_read(int fd, char **bytes, size_t *n, struct error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0 || !(*bytes = calloc(1, (size_t)st.st_size + 1)) ||
        fs_pread_full(fd, *bytes, (size_t)st.st_size, 0) < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for a picture");
    *n = (size_t)st.st_size;
    return 0;
}

/* gnuplot prints a line of the script, a caret, and then the error. */
static int gnuplot_failed(int messages, int wait_status, struct error *err)
{
    char *text = NULL, *end, *line, *shown;
    size_t n;

    if (all_read(messages, &text, &n, err) < 0) {
        free(text);
        return -1;
    }
    for (end = text + n; end > text && isspace((unsigned char)end[-1]);)
        *--end = '\0';
    line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    line += strspn(line, " \t");
    shown = printable_text(line);
    if (WIFSIGNALED(wait_status))
        error_set(err, RAYTRAIN_EFAILED, "gnuplot was killed by signal %d",
                  WTERMSIG(wait_status));
    else
        error_set(err, RAYTRAIN_EFAILED, "gnuplot made no picture: %s",
                  shown && *shown ? shown : "it says nothing about the cause");
    free(shown);
    free(text);
    return -1;
}

int gnuplot_run(const char *script, size_t n, char **bytes, size_t *n_bytes,
                struct error *err)
{
    char program[] = "gnuplot", defaults[] = "-d"; /* value that turns off settings */
    char *const argv[] = {program, defaults, NULL};
    struct child child = CHILD_INIT;
    struct streams s;
    int rc, status;

    *bytes = NULL;
    if (streams_open(&s, script, n, err) < 0)
        return -1;
    rc = child_spawn(&(struct child_spec){.argv = argv,
                                          .in = s.in,
                                          .out = s.out,
                                          .err = s.err,
                                          .die_with_parent = true},
                     &child, err);
    if (rc < 0 && err->code == RAYTRAIN_ENOTFOUND)
        error_set(err, RAYTRAIN_ENOTFOUND,
                  "there is no gnuplot in PATH, which draws plots in files; install it "
                  "(Debian: package gnuplot-nox), or leave out --output for a "
                  "plot as text");
    if (rc == 0)
        rc = child_wait(&child, &status, err);
    if (rc == 0)
        rc = all_read(s.out, bytes, n_bytes, err);
    if (rc == 0 && (status != 0 || *n_bytes == 0))
        rc = gnuplot_failed(s.err, status, err);
    if (rc < 0) {
        free(*bytes);
        *bytes = NULL;
    }
    child_clear(&child);
    streams_close(&s);
    return rc;
}
