/* config_render.c - render the tables as libconfig text that reads back the same. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_key.h"
#include "util/number_text.h"
#include "util/quote.h"

#define CAT(object, offset, type)                                                      \
    ((type const *)(const void *)((const char *)(object) + (offset)))

void config_render_name(FILE *out, int depth, const char *name)
{
    fprintf(out, "%*s%s = ", 4 * depth, "", name);
}

void config_render_string(FILE *out, const char *s)
{
    putc('"', out);
    while (*s) {
        int n = utf8_length(s);

        if (*s == '"' || *s == '\\')
            fprintf(out, "\\%c", *s);
        else if (*s == '\n')
            fputs("\\n", out);
        else if (n == 0 || (unsigned char)*s < 0x20 || *s == 0x7f)
            fprintf(out, "\\x%02X", (unsigned char)*s);
        else
            fprintf(out, "%.*s", n, s);
        s += n ? n : 1;
    }
    putc('"', out);
}

void config_render_strings(FILE *out, char *const *strings, size_t n)
{
    fputs("(", out);
    for (size_t i = 0; i < n; i++) {
        fputs(i ? ", " : " ", out);
        config_render_string(out, strings[i]);
    }
    fputs(n ? " )" : ")", out);
}

/* The shortest form that reads back to the same bits, and is read as a real. */
void config_render_real(FILE *out, double value)
{
    char text[NUMBER_TEXT];

    number_text(text, value);
    fputs(text, out);
    if (!strpbrk(text, ".e"))
        fputs(".0", out);
}

void config_render_integer(FILE *out, int64_t value)
{
    bool wide = value > INT32_MAX || value < INT32_MIN;

    fprintf(out, "%" PRId64 "%s", value, wide ? "L" : "");
}

static void render_json(FILE *out, const json_t *value, int depth);

static void render_json_members(FILE *out, const json_t *object, int depth)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)object, name, value)
    {
        config_render_name(out, depth, name);
        render_json(out, value, depth);
        fputs(";\n", out);
    }
}

static void render_json(FILE *out, const json_t *value, int depth)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        if (json_object_size(value) == 0) {
            fputs("{ }", out);
            break;
        }
        fputs("{\n", out);
        render_json_members(out, value, depth + 1);
        fprintf(out, "%*s}", 4 * depth, "");
        break;
    case JSON_ARRAY:
        /* unlike arrays, lists may hold values of several types */
        fputs("(", out);
        for (size_t i = 0; i < json_array_size(value); i++) {
            fputs(i ? ", " : " ", out);
            render_json(out, json_array_get(value, i), depth + 1);
        }
        fputs(json_array_size(value) ? " )" : ")", out);
        break;
    case JSON_INTEGER:
        config_render_integer(out, json_integer_value(value));
        break;
    case JSON_REAL:
        config_render_real(out, json_real_value(value));
        break;
    case JSON_STRING:
        config_render_string(out, json_string_value(value));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        fputs(json_is_true(value) ? "true" : "false", out);
        break;
    case JSON_NULL: /* this does not come from the text of a configuration */
        fputs("\"\"", out);
        break;
    }
}

static void render_group(FILE *out, const char *name, int depth, const void *object,
                         const struct config_table *table)
{
    long begin;

    config_render_name(out, depth, name);
    fputs("{\n", out);
    begin = ftell(out);
    config_render(table, object, out, depth + 1);
    if (ftell(out) == begin && !fseek(out, -1, SEEK_CUR))
        fputs(" };\n", out);
    else
        fprintf(out, "%*s};\n", 4 * depth, "");
}

static bool key_has_value(const struct config_key *key, const void *object)
{
    switch (key->type) {
    case CONFIG_INT:
        return *CAT(object, key->offset, int) >= key->min;
    case CONFIG_STRING:
    case CONFIG_WORD:
        return *CAT(object, key->offset, char *) != NULL;
    case CONFIG_STRINGS:
        return *CAT(object, key->offset, char **) != NULL;
    case CONFIG_REFUSED:
        return false;
    default:
        return true;
    }
}

static void render_value(const struct config_key *key, const void *object, FILE *out,
                         int depth)
{
    switch (key->type) {
    case CONFIG_INT:
        config_render_integer(out, *CAT(object, key->offset, int));
        break;
    case CONFIG_U64:
    case CONFIG_SIZE:
        config_render_integer(out, (int64_t)*CAT(object, key->offset, uint64_t));
        break;
    case CONFIG_BOOL:
        fputs(*CAT(object, key->offset, bool) ? "true" : "false", out);
        break;
    case CONFIG_STRING:
    case CONFIG_WORD:
        config_render_string(out, *CAT(object, key->offset, char *));
        break;
    case CONFIG_ENUM:
        config_render_string(out, key->choices[*CAT(object, key->offset, int)].word);
        break;
    case CONFIG_WORD_BOOL:
        config_render_string(out, key->choices[*CAT(object, key->offset, bool)].word);
        break;
    case CONFIG_STRINGS:
        config_render_strings(out, *CAT(object, key->offset, char **),
                              *CAT(object, key->offset2, size_t));
        break;
    case CONFIG_JSON:
        render_json(out, *CAT(object, key->offset, json_t *), depth);
        break;
    default:
        break;
    }
}

void config_render(const struct config_table *table, const void *object, FILE *out,
                   int depth)
{
    for (size_t i = 0; i < table->n_keys; i++) {
        const struct config_key *key = &table->keys[i];

        if (!key_has_value(key, object))
            continue;
        if (key->type == CONFIG_GROUP) {
            render_group(out, key->name, depth, CAT(object, key->offset, char),
                         key->table);
        } else if (key->type == CONFIG_CUSTOM) {
            key->ops->render(object, key->name, out, depth);
        } else {
            config_render_name(out, depth, key->name);
            render_value(key, object, out, depth);
            fputs(";\n", out);
        }
    }
}
