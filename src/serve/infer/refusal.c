/* refusal.c - compose the sentence of a refusal, with the nearest known name. */
#include "infer/refusal.h"

#include <stdarg.h>
#include <stdio.h>

#include "util/quote.h"
#include "util/suggest.h"

int refuse(struct infer_refusal *why, int status, const char *fmt, ...)
{
    va_list args;

    why->status = status;
    va_start(args, fmt);
    vsnprintf(why->text, sizeof why->text, fmt, args);
    va_end(args);
    return -1;
}

/* The nearest of the names, the first of equals; NULL if none is near. */
static const char *nearest(const char *name, const struct infer_column columns[],
                           size_t n)
{
    const char *best = NULL;
    size_t least = SIZE_MAX;

    for (size_t i = 0; i < n; i++) {
        size_t distance = suggest_distance(name, columns[i].name);

        if (distance < least) {
            least = distance;
            best = columns[i].name;
        }
    }
    return best && suggest_is_near(name, least) ? best : NULL;
}

int refuse_unknown(struct infer_refusal *why, const char *what, const char *name,
                   const struct infer_column columns[], size_t n)
{
    char quoted[QUOTE_TEXT_MAX], other[QUOTE_TEXT_MAX];
    const char *near = nearest(name, columns, n);

    if (near)
        return refuse(why, 400, "the model has no %s %s; did you mean %s?", what,
                      quote(name, quoted), quote(near, other));
    return refuse(
        why, 400, "the model has no %s %s; it has %zu, of which the first is %s", what,
        quote(name, quoted), n, n > 0 ? quote(columns[0].name, other) : "missing");
}

char *shape_text(int64_t rows, const struct infer_column *c, char text[SHAPE_TEXT_MAX])
{
    int n = rows < 0 ? snprintf(text, SHAPE_TEXT_MAX, "[N")
                     : snprintf(text, SHAPE_TEXT_MAX, "[%lld", (long long)rows);

    for (int d = 0; c->kind == INFER_NUMBERS && d < c->row.ndim; d++)
        n += snprintf(text + n, (size_t)(SHAPE_TEXT_MAX - n), ", %llu",
                      (unsigned long long)c->row.shape[d]);
    snprintf(text + n, (size_t)(SHAPE_TEXT_MAX - n), "]");
    return text;
}
