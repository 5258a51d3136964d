/*
 * text_rows.c - reads the dataset "train", whose column `id` is int64, and prints the
 * id, the word of column `city` and the text of column `note` of each row. It fails
 * after train_loop_config.batches batches, each of which is reported with a checkpoint.
 */
#include <inttypes.h>
#include <stdio.h>

#include <raytrain.h>

static int batch_print(raytrain_dataset *ds)
{
    raytrain_tensor id, city;
    raytrain_ragged note;
    uint64_t n;

    if (raytrain_dataset_column(ds, "id", &id) ||
        raytrain_dataset_column(ds, "city", &city) ||
        raytrain_dataset_ragged(ds, "note", &note) ||
        raytrain_dataset_words(ds, "city", &n) ||
        raytrain_dataset_ragged(ds, "id", &note) != RAYTRAIN_ETYPE ||
        raytrain_dataset_ragged(ds, "note", &note) ||
        raytrain_dataset_column(ds, "note", &id) != RAYTRAIN_ETYPE ||
        raytrain_dataset_words(ds, "id", &n) != RAYTRAIN_ETYPE ||
        raytrain_dataset_column(ds, "id", &id) ||
        raytrain_dataset_word(ds, "city", (int64_t)n, NULL))
        return -1;
    for (uint64_t i = 0; i < id.shape[0]; i++) {
        int32_t code = ((const int32_t *)city.data)[i];
        const char *word = code < 0 ? "-" : raytrain_dataset_word(ds, "city", code, &n);

        if (!word || note.rows != id.shape[0])
            return -1;
        printf("row %" PRId64 " %s %.*s\n", ((const int64_t *)id.data)[i], word,
               (int)(note.offsets[i + 1] - note.offsets[i]),
               (const char *)note.values + note.offsets[i]);
    }
    return 0;
}

static int batch_report(raytrain_context *ctx)
{
    raytrain_metric metric = {"loss", 1};
    raytrain_checkpoint *ck = raytrain_checkpoint_create(ctx);

    if (!ck || raytrain_checkpoint_put_string(ck, "note", "rows"))
        return -1;
    return raytrain_report(ctx, &metric, 1, ck);
}

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    raytrain_dataset *ds = raytrain_get_dataset_shard(ctx, "train");
    int64_t batches;
    uint64_t rows;
    int rc = 0;

    if (!ds || raytrain_config_int(ctx, "batches", 1000000, &batches) ||
        raytrain_dataset_set_batch_size(ds, 10))
        rc = -1;
    for (int64_t i = 0; rc == 0; i++) {
        if (i == batches)
            return 1;
        rc = raytrain_dataset_next(ds, &rows);
        if (rc == RAYTRAIN_OK)
            rc = batch_print(ds);
        if (rc == 0)
            rc = batch_report(ctx);
    }
    if (rc != RAYTRAIN_END)
        fprintf(stderr, "text_rows: %d: %s\n", rc, raytrain_last_error(ctx));
    return rc == RAYTRAIN_END ? 0 : (int)raytrain_last_status(ctx);
}
