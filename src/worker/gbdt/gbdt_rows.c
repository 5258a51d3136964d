/* gbdt_rows.c - frees rows and features. rows_load.c fills them. */
#include "gbdt/gbdt_rows.h"

#include <stdlib.h>
#include <string.h>

void gbdt_features_clear(struct gbdt_features *f)
{
    for (size_t i = 0; f->names && i < f->n; i++)
        free(f->names[i]);
    free(f->names);
    free(f->categorical);
    memset(f, 0, sizeof *f);
}

void gbdt_rows_drop_values(struct gbdt_rows *s)
{
    free(s->values);
    free(s->offsets);
    free(s->indices);
    s->values = NULL;
    s->offsets = NULL;
    s->indices = NULL;
}

void gbdt_rows_clear(struct gbdt_rows *s)
{
    gbdt_rows_drop_values(s);
    free(s->label);
    free(s->weight);
    free(s->groups);
    free(s->queries);
    free(s->margin);
    memset(s, 0, sizeof *s);
}
