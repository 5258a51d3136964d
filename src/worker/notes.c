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

static char *note_line(enum note_kind kind, const char *text)
{
    static const char *const names[] = {[NOTE] = "note", [NOTE_WARNING] = "warning"};
    char *printable = fs_printable(text);
    json_t *note = json_pack("{s:f, s:s, s:s}", "time", clock_unix_double(), "kind",
                             names[kind], "text", printable ? printable : "");
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
static void line_append(const char *path, const char *line)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    ssize_t dropped;

    if (fd < 0)
        return;
    dropped = write(fd, line, strlen(line));
    (void)dropped;
    close(fd);
}

void note_add(const char *log_dir, enum note_kind kind, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    char *line, *path = NULL;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    line = note_line(kind, text);
    if (line && asprintf(&path, "%s/%s", log_dir, NOTES_FILE) >= 0) {
        line_append(path, line);
        free(path);
    }
    free(line);
}
