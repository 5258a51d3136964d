#include "config.h"
#include "rank/notes.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "protocol/events.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fs.h"

static void note_put(const char *log_dir, enum note_kind kind, const char *text,
                     const char *checkpoint)
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

    if (note)
        events_put(log_dir, note, NULL);
    json_decref(note);
    free(printable);
}

void note_add(const char *log_dir, enum note_kind kind, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    note_put(log_dir, kind, text, NULL);
}

void note_restored(const char *log_dir, const char *path, long iteration)
{
    char text[ERROR_TEXT_MAX];

    snprintf(text, sizeof text, "starting from %s (iteration %ld)", path, iteration);
    note_put(log_dir, NOTE_RESTORED, text, path);
}
