#include "config.h"
#include "worker/notes.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/error.h"
#include "util/fs.h"

static char *note_line(enum note_kind kind, const char *text, const char *checkpoint)
{
    static const char *const names[] = {[NOTE] = "note",
                                        [NOTE_WARNING] = "warning",
                                        [NOTE_RESTORED] = "restored",
                                        [NOTE_JOINED] = "joined",
                                        [NOTE_STARTED] = "started"};
    char *printable = fs_printable(text);
    json_t *note = json_pack("{s:f, s:s, s:s, s:s*}", "time", clock_unix_double(),
                             "kind", names[kind], "text", printable ? printable : "",
                             "checkpoint", checkpoint);
    char *json = note ? json_dumps(note, JSON_COMPACT) : NULL;
    char *line = NULL;

    if (json && asprintf(&line, "%s\n", json) < 0)
        line = NULL;
    free(json);
    json_decref(note);
    free(printable);
    return line;
}

/* One write(2) at the end of the file: lines of several ranks do not mix. */
static void line_append(const char *log_dir, const char *line)
{
    char *path;
    ssize_t dropped;
    int fd;

    if (asprintf(&path, "%s/%s", log_dir, NOTES_FILE) < 0)
        return;
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    free(path);
    if (fd < 0)
        return;
    dropped = write(fd, line, strlen(line));
    (void)dropped;
    close(fd);
}

void note_add(const char *log_dir, enum note_kind kind, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    char *line;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    line = note_line(kind, text, NULL);
    if (line)
        line_append(log_dir, line);
    free(line);
}

void note_restored(const char *log_dir, const char *path, long iteration)
{
    char text[ERROR_TEXT_MAX];
    char *line;

    snprintf(text, sizeof text, "starting from %s (iteration %ld)", path, iteration);
    line = note_line(NOTE_RESTORED, text, path);
    if (line)
        line_append(log_dir, line);
    free(line);
}
