/* left_out.c - collects names with reasons, and describes them in a sentence. */
#include "table/left_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/quote.h"

#define OTHERS_BYTES 40 /* of " and N others" */

static int left_out_item_add(struct left_out *l, const char *name, const char *why,
                             bool file, struct error *err)
{
    struct left_out_item *items = reallocarray(l->items, l->n + 1, sizeof *items);
    struct left_out_item item = {.file = file};

    if (items) {
        l->items = items;
        item.name = strdup(name);
        item.why = strdup(why);
    }
    if (!item.name || !item.why) {
        free(item.name);
        free(item.why);
        return error_no_memory(err);
    }
    items[l->n++] = item;
    return 0;
}

int left_out_column(struct left_out *l, const char *name, const char *why,
                    struct error *err)
{
    int32_t code;

    if (!l)
        return 0;
    if (!l->names)
        l->names = dictionary_create();
    if (!l->names)
        return error_no_memory(err);
    if (dictionary_find(l->names, name, strlen(name)) >= 0)
        return 0;
    if (dictionary_add(l->names, name, strlen(name), &code, err) < 0)
        return -1;
    return left_out_item_add(l, name, why, false, err);
}

int left_out_file(struct left_out *l, const char *path, const char *why,
                  struct error *err)
{
    return l ? left_out_item_add(l, path, why, true, err) : 0;
}

bool left_out_forget(struct left_out *l, const char *column)
{
    for (size_t i = 0; l && i < l->n; i++) {
        struct left_out_item *item = &l->items[i];

        if (item->file || strcmp(item->name, column) != 0)
            continue;
        free(item->name);
        free(item->why);
        memmove(item, item + 1, (--l->n - i) * sizeof *item);
        return true;
    }
    return false;
}

size_t left_out_count(const struct left_out *l, bool files)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        n += l->items[i].file == files;
    return n;
}

void left_out_describe(const struct left_out *l, bool files, char *text, size_t size)
{
    size_t n = left_out_count(l, files), shown = 0, used = 0;
    char quoted[QUOTE_TEXT_MAX];

    text[0] = '\0';
    for (size_t i = 0; i < l->n; i++) {
        const struct left_out_item *item = &l->items[i];
        size_t more;

        if (item->file != files)
            continue;
        quote(item->name, quoted);
        more = strlen(quoted) + strlen(item->why) + strlen(", ") + strlen(" ()");
        if (used + more + OTHERS_BYTES > size)
            break;
        used += (size_t)snprintf(text + used, size - used, "%s%s (%s)",
                                 shown++ ? ", " : "", quoted, item->why);
    }
    if (shown < n)
        snprintf(text + used, size - used, "%s%zu other%s", shown ? " and " : "",
                 n - shown, n - shown == 1 ? "" : "s");
}

void left_out_clear(struct left_out *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->items[i].name);
        free(l->items[i].why);
    }
    free(l->items);
    dictionary_destroy(l->names);
    *l = (struct left_out){0};
}
