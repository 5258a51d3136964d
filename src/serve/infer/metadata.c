/* metadata.c - bodies of answers about the server and its models, and of errors. */
#include "infer/answer.h"

#include <stdlib.h>

#include "infer/datatype.h"

int answer_take(struct json_writer *w, struct infer_answer *a)
{
    *a = (struct infer_answer){
        .bytes = w->text, .n_bytes = w->n, .content_type = "application/json"};
    if (!w->no_memory)
        return 0;
    infer_answer_clear(a);
    return -1;
}

void infer_answer_clear(struct infer_answer *a)
{
    free(a->bytes);
    *a = (struct infer_answer){.bytes = NULL};
}

int infer_error_write(const char *sentence, struct infer_answer *a)
{
    struct json_writer w = {.text = NULL};

    json_writer_begin(&w, NULL);
    json_writer_string(&w, "error", sentence);
    json_writer_end(&w);
    return answer_take(&w, a);
}

/* ---- The server ---- */

static int flag_write(const char *key, bool value, struct infer_answer *a)
{
    struct json_writer w = {.text = NULL};

    json_writer_begin(&w, NULL);
    json_writer_raw(&w, key, value ? "true" : "false");
    json_writer_end(&w);
    return answer_take(&w, a);
}

int infer_server_live_write(bool live, struct infer_answer *a)
{
    return flag_write("live", live, a);
}

int infer_server_ready_write(bool ready, struct infer_answer *a)
{
    return flag_write("ready", ready, a);
}

int infer_server_write(const char *name, const char *version, struct infer_answer *a)
{
    struct json_writer w = {.text = NULL};

    json_writer_begin(&w, NULL);
    json_writer_string(&w, "name", name);
    json_writer_string(&w, "version", version);
    json_writer_list_begin(&w, "extensions");
    json_writer_string(&w, NULL, "binary_tensor_data");
    json_writer_list_end(&w);
    json_writer_end(&w);
    return answer_take(&w, a);
}

/* ---- A model ---- */

int infer_model_ready_write(const char *name, bool ready, struct infer_answer *a)
{
    struct json_writer w = {.text = NULL};

    json_writer_begin(&w, NULL);
    json_writer_string(&w, "name", name);
    json_writer_raw(&w, "ready", ready ? "true" : "false");
    json_writer_end(&w);
    return answer_take(&w, a);
}

/* The first dimension is the number of rows, which is not fixed. */
static void columns_write(struct json_writer *w, const char *key,
                          const struct infer_column columns[], size_t n)
{
    json_writer_list_begin(w, key);
    for (size_t i = 0; i < n; i++) {
        const struct infer_column *c = &columns[i];

        json_writer_begin(w, NULL);
        json_writer_string(w, "name", c->name);
        json_writer_string(w, "datatype", datatype_name(c));
        json_writer_list_begin(w, "shape");
        json_writer_integer(w, NULL, -1);
        for (int d = 0; c->kind == INFER_NUMBERS && d < c->row.ndim; d++)
            json_writer_unsigned(w, NULL, c->row.shape[d]);
        json_writer_list_end(w);
        json_writer_end(w);
    }
    json_writer_list_end(w);
}

int infer_model_write(const struct infer_model *m, const char *const versions[],
                      size_t n, struct infer_answer *a)
{
    struct json_writer w = {.text = NULL};

    json_writer_begin(&w, NULL);
    json_writer_string(&w, "name", m->name);
    json_writer_list_begin(&w, "versions");
    for (size_t i = 0; i < n; i++)
        json_writer_string(&w, NULL, versions[i]);
    json_writer_list_end(&w);
    json_writer_string(&w, "platform", "raytrain");
    columns_write(&w, "inputs", m->inputs, m->n_inputs);
    columns_write(&w, "outputs", m->outputs, m->n_outputs);
    json_writer_end(&w);
    return answer_take(&w, a);
}
