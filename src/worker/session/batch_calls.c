/*
 * batch_calls.c - the raytrain_batch_* functions, on top of preprocess/map_batch.h.
 * Threads other than the session's call them, so errors stay in the batch.
 */
#include <stdlib.h>
#include <string.h>

#include "preprocess/map_batch.h"
#include "session/session.h"

static int null_argument(raytrain_batch *batch, const char *call, const char *what)
{
    if (batch)
        error_set(&batch->error, RAYTRAIN_EINVAL, "%s: the %s is NULL", call, what);
    return RAYTRAIN_EINVAL;
}

static int status(const raytrain_batch *batch, int rc)
{
    if (rc == 0)
        return RAYTRAIN_OK;
    return batch->error.code != RAYTRAIN_OK ? (int)batch->error.code : RAYTRAIN_EFAILED;
}

uint64_t raytrain_batch_rows(const raytrain_batch *batch)
{
    return batch ? batch->frame->rows : 0;
}

int raytrain_batch_column(raytrain_batch *batch, const char *column,
                          raytrain_tensor *tensor)
{
    if (!batch || !column || !tensor)
        return null_argument(batch, __func__, column ? "tensor" : "column");
    return status(batch, map_batch_column(batch, column, tensor));
}

int raytrain_batch_words(raytrain_batch *batch, const char *column, uint64_t *n)
{
    const struct dictionary *words;

    if (!batch || !column || !n)
        return null_argument(batch, __func__, column ? "number" : "column");
    words = map_batch_words(batch, column);
    if (words)
        *n = dictionary_count(words);
    return status(batch, words ? 0 : -1);
}

const char *raytrain_batch_word(raytrain_batch *batch, const char *column, int64_t code,
                                uint64_t *bytes)
{
    const struct dictionary *words;
    const char *word;
    size_t n;

    if (!batch || !column) {
        null_argument(batch, __func__, "column");
        return NULL;
    }
    words = map_batch_words(batch, column);
    if (!words)
        return NULL;
    if (code < 0 || (uint64_t)code >= dictionary_count(words)) {
        error_set(&batch->error, RAYTRAIN_ENOTFOUND,
                  "column \"%s\" has no word with code %lld", column, (long long)code);
        return NULL;
    }
    word = dictionary_word(words, (size_t)code, &n);
    if (bytes)
        *bytes = n;
    return word;
}

int raytrain_batch_ragged(raytrain_batch *batch, const char *column,
                          raytrain_ragged *out)
{
    if (!batch || !column || !out)
        return null_argument(batch, __func__, column ? "output" : "column");
    return status(batch, map_batch_ragged(batch, column, out));
}

int raytrain_batch_output(raytrain_batch *batch, const char *name, raytrain_dtype dtype,
                          int ndim, const uint64_t shape[], void **data)
{
    raytrain_tensor row = {.dtype = dtype, .ndim = ndim};

    if (!batch || !name || !data || (ndim > 0 && !shape))
        return null_argument(batch, __func__,
                             !name   ? "name"
                             : !data ? "data"
                                     : "shape");
    for (int i = 0; i < ndim && i < RAYTRAIN_MAX_DIMS; i++)
        row.shape[i] = shape[i];
    return status(batch, map_batch_output(batch, name, &row, data));
}

int raytrain_batch_output_words(raytrain_batch *batch, const char *name,
                                const char *const words[], size_t n, int32_t **codes)
{
    if (!batch || !name || !codes || (n > 0 && !words))
        return null_argument(batch, __func__,
                             !name    ? "name"
                             : !codes ? "codes"
                                      : "words");
    for (size_t i = 0; i < n; i++)
        if (!words[i])
            return null_argument(batch, __func__, "word");
    return status(batch, map_batch_output_words(batch, name, words, n, codes));
}

int raytrain_batch_put_ragged(raytrain_batch *batch, const char *name,
                              const raytrain_ragged *rows)
{
    if (!batch || !name || !rows)
        return null_argument(batch, __func__, name ? "rows" : "name");
    return status(batch, map_batch_put_ragged(batch, name, rows));
}

int raytrain_batch_remove(raytrain_batch *batch, const char *column)
{
    if (!batch || !column)
        return null_argument(batch, __func__, "column");
    return status(batch, map_batch_remove(batch, column));
}

int raytrain_batch_fail(raytrain_batch *batch, int status, const char *sentence)
{
    if (status <= RAYTRAIN_OK || status >= RAYTRAIN_END)
        status = RAYTRAIN_EFAILED;
    if (batch)
        error_set(&batch->error, (raytrain_status)status, "%s",
                  sentence ? sentence : "the function failed");
    return status;
}
