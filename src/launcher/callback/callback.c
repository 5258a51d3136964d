#include "callback/callback.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* "json" needs no sink here: rank 0 of the workers writes result.json itself. */
static const struct callback_ops *const callback_always[] = {&callback_progress};

#define N_ALWAYS (sizeof callback_always / sizeof callback_always[0])

int callback_list_create(struct callback_list *list, const struct train_config *cfg,
                         const struct options *opt, const char *run_dir,
                         struct error *err)
{
    list->n = 0;
    list->callbacks = calloc(N_ALWAYS, sizeof *list->callbacks);
    if (!list->callbacks)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    for (size_t i = 0; i < N_ALWAYS; i++) {
        struct callback *cb = &list->callbacks[i];

        cb->ops = callback_always[i];
        if (cb->ops->create(cb, cfg, opt, run_dir, err) < 0) {
            callback_list_destroy(list);
            return -1;
        }
        list->n++;
    }
    return 0;
}

void callback_list_destroy(struct callback_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->callbacks[i].ops->destroy)
            list->callbacks[i].ops->destroy(&list->callbacks[i]);
    free(list->callbacks);
    list->callbacks = NULL;
    list->n = 0;
}

#define TELL_ALL(list, slot, argument)                                                 \
    for (size_t i = 0; i < (list)->n; i++)                                             \
        if ((list)->callbacks[i].ops->slot)                                            \
    (list)->callbacks[i].ops->slot(&(list)->callbacks[i], argument)

void callback_attempt_start(struct callback_list *list, const json_t *attempt)
{
    TELL_ALL(list, on_attempt_start, attempt);
}

void callback_report(struct callback_list *list, const json_t *report)
{
    TELL_ALL(list, on_report, report);
}

void callback_note(struct callback_list *list, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    TELL_ALL(list, on_note, text);
}

void callback_attempt_end(struct callback_list *list, const json_t *attempt)
{
    TELL_ALL(list, on_attempt_end, attempt);
}

void callback_end(struct callback_list *list, const json_t *result)
{
    TELL_ALL(list, on_end, result);
}
