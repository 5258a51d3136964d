#include "util/json_text.h"

#include <stdlib.h>

#include "util/fs.h"

json_t *json_text(const char *text)
{
    json_t *value = json_string(text);
    char *printable;

    if (value)
        return value;
    printable = fs_printable(text);
    value = printable ? json_string(printable) : NULL;
    free(printable);
    return value;
}
