/* config_list.c - the keys of the tables as text, for people and for completions. */
#include <stdio.h>
#include <string.h>

#include "config/config_key.h"

#define COLUMNS    80
#define DOC_COLUMN 36

static void key_list(const char *name, const char *doc, FILE *out)
{
    int n = 2 + (int)strlen(name);

    if (!doc)
        fprintf(out, "  %s\n", name);
    else if (n < DOC_COLUMN && DOC_COLUMN + strlen(doc) <= COLUMNS)
        fprintf(out, "  %s%*s%s\n", name, DOC_COLUMN - n, "", doc);
    else
        fprintf(out, "  %s\n      %s\n", name, doc);
}

void config_list(const struct config_table *table, const char *prefix, FILE *out)
{
    for (size_t i = 0; i < table->n_keys; i++) {
        const struct config_key *key = &table->keys[i];
        char name[256];

        if (key->type == CONFIG_REFUSED || key->refused)
            continue;
        snprintf(name, sizeof name, "%s%s", prefix, key->name);
        if (key->type == CONFIG_GROUP) {
            strncat(name, ".", sizeof name - strlen(name) - 1);
            config_list(key->table, name, out);
        } else {
            key_list(name, key->doc, out);
        }
    }
}
