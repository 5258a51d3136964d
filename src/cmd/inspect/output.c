/* output.c - text, words and JSON members for the views that print; what a view prints
 * is in its own file. */
#include "config.h"

#include "inspect/output.h"

#include <stdlib.h>
#include <string.h>

#include "util/quote.h"

void output_text(FILE *out, const char *text)
{
    char *shown = printable_text(text);

    fputs(shown ? shown : "?", out);
    free(shown);
}

void output_lines(FILE *out, const char *text, const char *indent)
{
    char *shown = printable_lines(text, indent);

    fputs(shown ? shown : "?", out);
    free(shown);
}

void output_word(FILE *out, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789_-+=./:,@%^";
    char *shown = printable_text(word);

    if (shown && *shown && shown[strspn(shown, plain)] == '\0') {
        fputs(shown, out);
    } else {
        fputc('\'', out);
        for (const char *c = shown ? shown : "?"; *c; c++)
            if (*c == '\'')
                fputs("'\\''", out);
            else
                fputc(*c, out);
        fputc('\'', out);
    }
    free(shown);
}

const char *string_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

json_int_t integer_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}
