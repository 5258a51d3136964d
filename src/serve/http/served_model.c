/* served_model.c - copy the columns of a HELLO into a model of the protocol. */
#include "http/served_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct served_model {
    struct infer_model model;
    struct infer_column *columns; /* inputs, then outputs */
    char *names;                  /* of the model, then of the columns */
    char version[24];
};

static void column_make(struct infer_column *to, const struct service_column *from,
                        char **names)
{
    size_t n = strlen(from->name) + 1;

    to->name = memcpy(*names, from->name, n);
    to->kind = from->kind == SERVICE_TEXT ? INFER_TEXT : INFER_NUMBERS;
    to->row = from->row;
    *names += n;
}

void *served_model_make(const char *name, const struct service_hello *hello)
{
    size_t n = hello->n_inputs + hello->n_outputs;
    struct served_model *m = calloc(1, sizeof *m);
    char *names;

    if (!m)
        return NULL;
    m->columns = calloc(n + 1, sizeof *m->columns);
    m->names = malloc(strlen(name) + 1 + n * (RAYTRAIN_NAME_MAX + 1));
    if (!m->columns || !m->names) {
        served_model_free(m);
        return NULL;
    }
    snprintf(m->version, sizeof m->version, "%" PRId64, hello->version);
    names = stpcpy(m->names, name) + 1;
    for (size_t i = 0; i < n; i++)
        column_make(&m->columns[i],
                    i < hello->n_inputs ? &hello->inputs[i]
                                        : &hello->outputs[i - hello->n_inputs],
                    &names);
    m->model = (struct infer_model){.name = m->names,
                                    .version = m->version,
                                    .inputs = m->columns,
                                    .n_inputs = hello->n_inputs,
                                    .outputs = m->columns + hello->n_inputs,
                                    .n_outputs = hello->n_outputs,
                                    .missing = {hello->missing, hello->n_missing}};
    return m;
}

void served_model_free(void *model)
{
    struct served_model *m = model;

    if (!m)
        return;
    free(m->columns);
    free(m->names);
    free(m);
}

const struct infer_model *served_model_of(const struct model_version *v)
{
    return &((const struct served_model *)v->attached)->model;
}
