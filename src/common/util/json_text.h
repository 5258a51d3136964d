/* json_text.h - foreign text as a JSON string, whatever bytes it holds. */
#ifndef RAYTRAIN_UTIL_JSON_TEXT_H
#define RAYTRAIN_UTIL_JSON_TEXT_H

#include <jansson.h>

/* The text as it is where it is UTF-8, which is all that JSON holds; else printable
 * (fs.h), so that a record is never lost for what a user's function, a path or another
 * program said. A new reference; NULL without memory. */
json_t *json_text(const char *text);

#endif
