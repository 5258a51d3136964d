/* fuzz_reader.h - opening any bytes as a dataset of a format, and reading its rows. */
#ifndef RAYTRAIN_T_FUZZ_READER_H
#define RAYTRAIN_T_FUZZ_READER_H

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/batch.h"
#include "table/reader.h"
#include "util/fs.h"

#define ROWS_MAX  100
#define BYTES_MAX (1u << 20) /* larger rows are not read: malloc is limited here */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static inline void rows_read(const struct table *t)
{
    struct frame batch;
    struct epoch_order order = EPOCH_ORDER_INIT;
    uint64_t rows = t->rows < ROWS_MAX ? t->rows : ROWS_MAX;

    for (size_t i = 0; i < t->n_columns; i++)
        if (t->columns[i].row_bytes > BYTES_MAX / ROWS_MAX)
            return;
    if (rows == 0 || batch_init(&batch, t, NULL) < 0)
        return;
    epoch_order_set(&order, t->rows, &(struct order_kind){1, 0}, 1, 0, NULL);
    if (batch_read(&batch, t, &(struct batch_rows){&order, 0, rows, 0, 0}, NULL) < 0)
        abort(); /* every row of a table that was accepted is there */
    frame_clear(&batch);
}

static inline void reader_try(const struct reader_ops *ops, const uint8_t *data,
                              size_t n)
{
    struct dataset_config cfg = {.name = (char *)"d", .path = (char *)"input"};
    struct words_union words = {0};
    struct reader_job job = {.config = &cfg, .size = 1, .words = &words};
    int fd = memfd_create("input", MFD_CLOEXEC);
    struct table t = {0};
    struct error err;
    size_t index;

    if (fd < 0 || fs_pwrite_full(fd, data, n, 0) < 0 ||
        table_add_source(&t, fd, false, "input", &index, &err) < 0)
        abort();
    ops->probe(data, n < READER_HEAD ? n : READER_HEAD, "input");
    if (ops->open(&job, &t, &err) == 0 && words_union_finish(&words, &t, &err) == 0)
        rows_read(&t);
    words_union_clear(&words);
    table_clear(&t);
}

#endif
