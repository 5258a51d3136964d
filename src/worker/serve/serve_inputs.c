/*
 * serve_inputs.c - chooses the columns that a service takes, and turns rows of messages
 * into frames. service_predictor.c receives messages.
 */
#include "serve/serve_inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Words ---- */

static bool names_column(const struct preprocessor_config *config, const char *name)
{
    for (size_t i = 0; i < config->n_columns; i++)
        if (strcmp(config->columns[i], name) == 0)
            return true;
    return false;
}

/* True for labels, which a prediction does not have. */
static bool is_label(const struct chain *chain, const char *label, const char *name)
{
    for (size_t i = 0; chain && i < chain->n; i++)
        if (chain->list[i].ops->of_labels && names_column(chain->list[i].config, name))
            return true;
    return label && strcmp(label, name) == 0;
}

/* True if the first preprocessor that reads this text takes it as a category. */
static bool is_category(const struct chain *chain, const char *name)
{
    for (size_t i = 0; chain && i < chain->n; i++)
        if (names_column(chain->list[i].config, name))
            return chain->list[i].ops->reads_words;
    return false;
}

/* Add the words of the column that the preprocessors have learned. */
static int words_learned(const struct chain *chain, const char *name,
                         struct dictionary *words, struct error *err)
{
    for (size_t i = 0; i < chain->n; i++)
        for (size_t k = 0; k < chain->list[i].fitted.n; k++) {
            const struct fitted_item *item = &chain->list[i].fitted.items[k];
            size_t count =
                item->type == FITTED_WORDS ? dictionary_count(item->words) : 0;

            if (strcmp(item->column, name) != 0)
                continue;
            for (size_t code = 0; code < count; code++) {
                size_t n;
                const char *word = dictionary_word(item->words, code, &n);
                int32_t ignored;

                if (dictionary_add(words, word, n, &ignored, err) < 0)
                    return -1;
            }
        }
    return 0;
}

/* Add a word that is different from all others. */
static int word_other(struct dictionary *words, int32_t *code, struct error *err)
{
    char other[32] = "<other>";
    unsigned n = 1;

    while (dictionary_find(words, other, strlen(other)) >= 0)
        snprintf(other, sizeof other, "<other %u>", n++);
    return dictionary_add(words, other, strlen(other), code, err);
}

static int words_make(const struct chain *chain, const char *name,
                      struct serve_words *words, struct error *err)
{
    words->words = dictionary_create();
    if (!words->words)
        return error_no_memory(err);
    if (words_learned(chain, name, words->words, err) < 0)
        return -1;
    return word_other(words->words, &words->other, err);
}

/* ---- Columns ---- */

static int inputs_init(struct serve_inputs *inputs, size_t n, struct error *err)
{
    *inputs = (struct serve_inputs){.schema = FRAME_INIT};
    inputs->columns = calloc(n + 1, sizeof *inputs->columns);
    inputs->words = calloc(n + 1, sizeof *inputs->words);
    if (inputs->columns && inputs->words)
        return 0;
    serve_inputs_clear(inputs);
    return error_no_memory(err);
}

void serve_inputs_clear(struct serve_inputs *inputs)
{
    frame_clear(&inputs->schema);
    for (size_t i = 0; i < inputs->n; i++)
        dictionary_destroy(inputs->words[i].words);
    free(inputs->columns);
    free(inputs->words);
    *inputs = (struct serve_inputs){.schema = FRAME_INIT};
}

/* row: its shape if it has numbers; NULL: text. */
static int inputs_column_add(struct serve_inputs *inputs, const char *name,
                             const raytrain_tensor *row, const struct chain *chain,
                             struct error *err)
{
    struct service_column *c = &inputs->columns[inputs->n];
    struct serve_words *words = &inputs->words[inputs->n];
    struct frame_column like = {.kind = row ? FRAME_NUMBERS : FRAME_TEXT};
    size_t index;

    inputs->n++;
    snprintf(c->name, sizeof c->name, "%s", name);
    strcpy(like.name, c->name);
    if (row) {
        c->row = like.row = *row;
    } else {
        c->kind = SERVICE_TEXT;
        like.row.dtype = RAYTRAIN_UINT8;
        if (is_category(chain, name)) {
            if (words_make(chain, name, words, err) < 0)
                return -1;
            like.kind = FRAME_WORDS;
            like.words = words->words;
        }
    }
    return frame_add(&inputs->schema, &like, &index, err);
}

int serve_inputs_configured(const struct predict_inputs *config,
                            const struct chain *chain, struct serve_inputs *inputs,
                            struct error *err)
{
    int rc = inputs_init(inputs, config->n, err);

    if (rc < 0)
        return -1;
    for (size_t i = 0; rc == 0 && i < config->n; i++) {
        const struct predict_input *in = &config->list[i];

        rc = inputs_column_add(inputs, in->name, in->is_text ? NULL : &in->row, chain,
                               err);
    }
    if (rc < 0)
        serve_inputs_clear(inputs);
    return rc;
}

static int column_like(struct serve_inputs *inputs, const struct frame_column *c,
                       const struct chain *chain, struct error *err)
{
    if (c->kind == FRAME_NUMBERS)
        return inputs_column_add(inputs, c->name, &c->row, chain, err);
    if (c->kind == FRAME_TEXT || c->kind == FRAME_WORDS)
        return inputs_column_add(inputs, c->name, NULL, chain, err);
    return error_set(err, RAYTRAIN_ENOTSUP,
                     "column \"%s\" has sparse vectors or lists of words, and a "
                     "service takes numbers and text; name its inputs, with "
                     "predict.inputs",
                     c->name);
}

int serve_inputs_like(const struct frame *dataset, const char *label,
                      const struct chain *chain, struct serve_inputs *inputs,
                      struct error *err)
{
    int rc = inputs_init(inputs, dataset->n_columns, err);

    if (rc < 0)
        return -1;
    for (size_t i = 0; rc == 0 && i < dataset->n_columns; i++)
        if (!is_label(chain, label, dataset->columns[i].name))
            rc = column_like(inputs, &dataset->columns[i], chain, err);
    if (rc == 0 && inputs->n == 0)
        rc = error_set(err, RAYTRAIN_EINVAL,
                       "there is no column except the label \"%s\"; name the inputs of "
                       "the service, with predict.inputs",
                       label ? label : "");
    if (rc < 0)
        serve_inputs_clear(inputs);
    return rc;
}

static bool is_preprocessed(const struct chain *chain, const char *name)
{
    for (size_t i = 0; chain && i < chain->n; i++)
        if (names_column(chain->list[i].config, name))
            return true;
    return false;
}

void serve_inputs_widen(struct serve_inputs *inputs, const struct chain *chain)
{
    for (size_t i = 0; i < inputs->n; i++) {
        struct service_column *c = &inputs->columns[i];

        if (c->kind == SERVICE_TEXT || c->row.ndim > 0 ||
            is_preprocessed(chain, c->name))
            continue;
        c->row.dtype = RAYTRAIN_FLOAT64;
        inputs->schema.columns[i].row.dtype = RAYTRAIN_FLOAT64;
    }
}

/* ---- Rows ---- */

static int text_fill(const struct service_rows *from, uint64_t rows,
                     struct frame_column *to, struct error *err)
{
    uint64_t n = from->offsets[rows];

    if (frame_reserve(to, rows, n, err) < 0)
        return -1;
    memcpy(to->offsets, from->offsets, (rows + 1) * sizeof *to->offsets);
    if (n > 0)
        memcpy(to->data, from->data, n);
    to->n_data = n;
    return 0;
}

static int words_fill(const struct serve_words *words,
                      const struct missing_texts *missing,
                      const struct service_rows *from, uint64_t rows,
                      struct frame_column *to, struct error *err)
{
    int32_t *codes;

    if (frame_reserve(to, rows, 0, err) < 0)
        return -1;
    codes = (int32_t *)(void *)to->data;
    for (uint64_t i = 0; i < rows; i++) {
        const char *text = (const char *)from->data + from->offsets[i];
        size_t n = from->offsets[i + 1] - from->offsets[i];

        codes[i] = dictionary_find(words->words, text, n);
        if (codes[i] < 0 && n > 0 && !missing_texts_have(missing, text, n))
            codes[i] = words->other;
    }
    return 0;
}

static int numbers_fill(const struct service_rows *from, uint64_t rows,
                        struct frame_column *to, struct error *err)
{
    if (frame_reserve(to, rows, 0, err) < 0)
        return -1;
    memcpy(to->data, from->data, rows * frame_row_bytes(to));
    return 0;
}

int serve_inputs_fill(const struct serve_inputs *inputs, uint64_t rows,
                      const struct service_rows from[], struct frame *f,
                      struct error *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < inputs->n; i++) {
        struct frame_column *to = &f->columns[i];

        if (to->kind == FRAME_NUMBERS)
            rc = numbers_fill(&from[i], rows, to, err);
        else if (to->kind == FRAME_WORDS)
            rc = words_fill(&inputs->words[i], &inputs->missing, &from[i], rows, to,
                            err);
        else
            rc = text_fill(&from[i], rows, to, err);
    }
    f->rows = rc == 0 ? rows : 0;
    return rc;
}
