/* notes.c - only messages, in place of the progress display. */
#include "callback/callback.h"
#include "event/outlet.h"

static int notes_create(struct callback *cb, const struct callback_context *context,
                        struct error *err)
{
    (void)cb;
    (void)context;
    (void)err;
    return 0;
}

static void notes_note(struct callback *cb, const char *text)
{
    (void)cb;
    outlet_print(outlet_messages(), "raytrain: %s\n", text);
}

const struct callback_ops callback_notes = {.create = notes_create,
                                            .on_note = notes_note};
