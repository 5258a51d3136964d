/* csv_output.c - fields and rows of CSV on a stream; what the columns are is up to each
 * view. */
#include "config.h"

#include "inspect/csv_output.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/number_text.h"

void csv_next(FILE *out)
{
    fputc(',', out);
}

void csv_end(FILE *out)
{
    fputc('\n', out);
}

void csv_text(FILE *out, const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")] && text[0] != ' ') {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void csv_number(FILE *out, double value)
{
    char text[NUMBER_TEXT];

    if (isnan(value))
        return;
    number_text(text, value);
    fputs(text, out);
}

void csv_json(FILE *out, const json_t *value)
{
    char *text;

    if (json_is_integer(value)) {
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (json_is_real(value)) {
        csv_number(out, json_real_value(value));
    } else if (json_is_string(value)) {
        csv_text(out, json_string_value(value));
    } else if (json_is_boolean(value)) {
        fputs(json_is_true(value) ? "true" : "false", out);
    } else if (value && !json_is_null(value)) {
        text = json_dumps(value, JSON_COMPACT);
        csv_text(out, text ? text : "");
        free(text);
    }
}
