/* conversion.c - see conversion.h. In order: the sink of the rows, what the ranks know
 * of each other, and the parts. */
#include "convert/conversion.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/conversion_key.h"
#include "convert/decompress.h"
#include "convert/part.h"
#include "convert/part_index.h"
#include "convert/text_formats.h"
#include "hdf5/h5_image.h"
#include "table/reader.h"
#include "util/fs.h"

/* The numbers that each rank sends to all others: LEADER, ROWS, then the elements of
 * each column. */
enum { LEADER, ROWS, ELEMENTS };

struct conversion {
    const struct conversion_job *job;
    struct conversion_result *result;
    struct spool spool;
    /* The group: the ranks that write one part together. */
    int first, last;
    unsigned part;    /* its number */
    unsigned n_parts; /* groups that have rows */
    uint64_t *start;  /* for each column, elements of the ranks before this one */
    uint64_t *total;  /* for each column, elements of the group */
    struct part_start at;
    struct part_shape shape;
    struct part_places *places;
    const int32_t **codes;
    struct part_sums sums; /* of the bytes that this rank writes */

    char path[PATH_MAX], hidden[PATH_MAX];
    int fd;
    uint64_t bytes; /* of the part; known to the first rank of the group */
};

/* ---- The sink ---- */

static bool conversion_wanted(const void *arg, const char *name)
{
    return reader_wants(arg, name);
}

static int text_column_check(const struct dataset_config *cfg, const char *column,
                             const struct frame *columns, struct error *err)
{
    char names[512];

    if (!column || frame_find(columns, column))
        return 0;
    frame_names(columns, names, sizeof names);
    return error_set(err, RAYTRAIN_ENOTFOUND,
                     "%s: no column \"%s\"; the columns are: %s", cfg->path, column,
                     names);
}

static int sink_begin(void *arg, const struct frame *columns, uint64_t rows,
                      struct error *err)
{
    struct conversion *c = arg;

    const struct dataset_config *cfg = c->job->cfg;

    (void)rows;
    for (size_t i = 0; i < cfg->n_columns; i++)
        if (text_column_check(cfg, cfg->columns[i], columns, err) < 0)
            return -1;
    if (text_column_check(cfg, cfg->label, columns, err) < 0)
        return -1;
    return spool_begin(&c->spool, columns, conversion_wanted, cfg, err);
}

static int sink_put(void *arg, uint64_t first, const struct frame *rows,
                    struct error *err)
{
    struct conversion *c = arg;

    (void)first; /* a rank's rows follow those of the ranks before it */
    return spool_put(&c->spool, rows, err);
}

/* Give the columns of the spool the properties that all ranks have agreed on. */
static int columns_settle(struct conversion *c, const struct frame *columns,
                          int32_t *const codes[], struct error *err)
{
    struct frame *own = &c->spool.rows;
    size_t n = own->n_columns;

    c->start = calloc(n + 1, sizeof *c->start);
    c->total = calloc(n + 1, sizeof *c->total);
    c->places = calloc(n + 1, sizeof *c->places);
    c->codes = calloc(n + 1, sizeof *c->codes);
    if (!c->start || !c->total || !c->places || !c->codes)
        return error_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const struct frame_column *from = &columns->columns[c->spool.columns[i]];

        own->columns[i].row = from->row;
        own->columns[i].words = from->words;
        c->codes[i] = codes[c->spool.columns[i]];
    }
    return 0;
}

/* ---- The rows of each rank ---- */

/* COLLECTIVE: *leader is the first rank of this node, as a rank of `all`. */
static int leader_find(const struct conversion *c, int64_t *leader, struct error *err)
{
    struct comm *node = c->job->node;

    *leader = c->job->all->rank;
    return node ? node->ops->bcast(node, leader, sizeof *leader, 0, err) : 0;
}

static int64_t *facts_gather(struct conversion *c, size_t width, struct error *err)
{
    struct comm *all = c->job->all;
    int64_t *facts = calloc((size_t)all->size * width, sizeof *facts);
    int64_t *own = calloc(width, sizeof *own);
    int rc = facts && own ? 0 : error_no_memory(err);

    rc = comm_agree(all, rc, err);
    if (rc == 0) {
        own[ROWS] = (int64_t)c->spool.n_rows;
        for (size_t i = 0; i + ELEMENTS < width; i++)
            own[ELEMENTS + i] = (int64_t)c->spool.elements[i];
        rc = leader_find(c, &own[LEADER], err);
    }
    if (rc == 0)
        rc = all->ops->allgather(all, own, width * sizeof *own, facts, err);
    free(own);
    if (rc == 0)
        return facts;
    free(facts);
    return NULL;
}

/* The last rank of the group that begins at rank `first`; *rows are its rows. */
static int group_end(const int64_t *facts, size_t width, int size, int first,
                     uint64_t *rows)
{
    int last = first;

    *rows = (uint64_t)facts[(size_t)first * width + ROWS];
    while (last + 1 < size && facts[(size_t)(last + 1) * width + LEADER] ==
                                  facts[(size_t)first * width + LEADER]) {
        last++;
        *rows += (uint64_t)facts[(size_t)last * width + ROWS];
    }
    return last;
}

static void conversion_group_settle(struct conversion *c, const int64_t *facts,
                                    size_t width)
{
    int rank = c->job->all->rank;

    for (int r = c->first; r <= c->last; r++) {
        const int64_t *other = facts + (size_t)r * width;

        if (r < rank)
            c->at.row += (uint64_t)other[ROWS];
        for (size_t i = 0; i + ELEMENTS < width; i++) {
            c->total[i] += (uint64_t)other[ELEMENTS + i];
            if (r < rank)
                c->start[i] += (uint64_t)other[ELEMENTS + i];
        }
    }
    c->at.elements = c->start;
    c->shape.elements = c->total;
    c->shape.columns = &c->spool.rows;
}

/* COLLECTIVE */
static int groups_find(struct conversion *c, struct error *err)
{
    size_t width = ELEMENTS + c->spool.rows.n_columns;
    int64_t *facts = facts_gather(c, width, err);
    int size = c->job->all->size, rank = c->job->all->rank, last;
    uint64_t rows;

    if (!facts)
        return -1;
    for (int first = 0; first < size; first = last + 1) {
        last = group_end(facts, width, size, first, &rows);
        c->result->rows += rows;
        if (first <= rank && rank <= last) {
            c->first = first;
            c->last = last;
            c->part = c->n_parts;
            c->shape.rows = rows;
        }
        c->n_parts += rows > 0;
    }
    conversion_group_settle(c, facts, width);
    free(facts);
    return 0;
}

/* ---- The parts ---- */

static bool part_is_mine(const struct conversion *c)
{
    return c->job->all->rank == c->first && c->shape.rows > 0;
}

static int own_part_begin(struct conversion *c, const struct h5_image *image,
                          struct error *err)
{
    if (!part_is_mine(c))
        return 0;
    c->bytes = h5_image_length(image);
    c->sums.part = c->part;
    c->fd = part_create(c->hidden, &c->shape, c->places, image, &c->sums, err);
    return c->fd < 0 ? -1 : 0;
}

static int own_part_open(struct conversion *c, struct error *err)
{
    if (c->shape.rows == 0 || c->fd >= 0)
        return 0;
    c->fd = open(c->hidden, FS_WRITE);
    return c->fd < 0 ? fs_error(err, "open", c->hidden) : 0;
}

static int rows_write(struct conversion *c, struct error *err)
{
    if (c->shape.rows == 0)
        return 0;
    c->sums.part = c->part;
    if (part_write(c->fd, c->hidden, c->places, &c->at, &c->spool, c->codes, &c->sums,
                   err) < 0)
        return -1;
    return fsync(c->fd) < 0 ? fs_error(err, "write", c->hidden) : 0;
}

static int part_publish(struct conversion *c, struct error *err)
{
    if (c->fd >= 0 && close(c->fd) < 0) {
        c->fd = -1;
        return fs_error(err, "write", c->hidden);
    }
    c->fd = -1;
    if (!part_is_mine(c))
        return 0;
    if (rename(c->hidden, c->path) < 0)
        return fs_error(err, "rename", c->hidden);
    return fs_sync_parent(c->path, err);
}

/* COLLECTIVE: the list of all parts. */
static int parts_list(struct conversion *c, struct error *err)
{
    struct comm *all = c->job->all;
    uint64_t own = part_is_mine(c) ? c->bytes : 0;
    uint64_t *bytes = calloc((size_t)all->size, sizeof *bytes);
    char path[PATH_MAX];
    unsigned part = 0;
    int rc = comm_agree(all, bytes ? 0 : error_no_memory(err), err);

    if (rc == 0)
        rc = all->ops->allgather(all, &own, sizeof own, bytes, err);
    if (rc == 0)
        c->result->parts = json_array();
    for (int r = 0; rc == 0 && r < all->size; r++) {
        if (bytes[r] == 0)
            continue;
        part_path(path, "", c->job->number, part++);
        json_array_append_new(
            c->result->parts,
            json_pack("{ss sI}", "name", path + 1, "bytes", (json_int_t)bytes[r]));
    }
    free(bytes);
    return rc;
}

static int image_sum(struct conversion *c, const struct h5_image *image,
                     struct error *err)
{
    if (!part_is_mine(c))
        return 0;
    if (part_sum_image(c->hidden, image, &c->sums, err) < 0)
        return -1;
    return part_sums_end(&c->sums, err);
}

/* COLLECTIVE: a step begins when all ranks have completed the one before. */
static int conversion_parts_make(struct conversion *c, struct error *err)
{
    struct comm *all = c->job->all;
    struct h5_image *image = NULL;
    int rc = 0;

    part_path(c->path, c->job->directory, c->job->number, c->part);
    part_path_hidden(c->hidden, c->job->directory, c->job->number, c->part);
    if (c->shape.rows > 0)
        rc = part_layout(&c->shape, c->places, &image, err);
    rc = comm_agree(all, rc, err);
    if (rc == 0)
        rc = comm_agree(all, own_part_begin(c, image, err), err);
    if (rc == 0)
        rc = comm_agree(all, own_part_open(c, err), err);
    if (rc == 0)
        rc = comm_agree(all, rows_write(c, err), err);
    if (rc == 0)
        rc = comm_agree(all, image_sum(c, image, err), err);
    h5_image_destroy(image);
    if (rc == 0)
        rc = comm_agree(all, part_publish(c, err), err);
    if (rc == 0)
        rc = parts_list(c, err);
    return rc == 0 ? part_sums_gather(&c->sums, all, c->result->parts, err) : rc;
}

static int sink_end(void *arg, const struct frame *columns, int32_t *const codes[],
                    struct error *err)
{
    struct conversion *c = arg;
    struct comm *all = c->job->all;
    int rc = columns_settle(c, columns, codes, err);

    rc = comm_agree(all, rc, err);
    if (rc == 0)
        rc = groups_find(c, err);
    if (rc == 0 && c->result->rows > 0)
        rc = conversion_parts_make(c, err);
    return rc;
}

static void sink_warn(void *arg, const char *text)
{
    const struct conversion *c = arg;

    if (c->job->warn)
        c->job->warn(c->job->warn_arg, text);
}

/* ---- The conversion ---- */

static int conversion_convert(struct conversion *c, struct error *err)
{
    static const struct row_sink sink = {sink_begin, sink_put, sink_end, sink_warn};
    const struct conversion_job *job = c->job;
    size_t n = 0;
    struct text_source *sources = conversion_key_sources(job->key, &n);
    struct decompressed plain = {.n = 0};
    int rc = sources ? 0 : error_no_memory(err);

    for (size_t i = 0; rc == 0 && i < n; i++)
        sources[i].watch = job->watch;
    if (rc == 0)
        rc = spool_create(&c->spool, job->directory, job->watch, err);
    rc = comm_agree(job->all, rc, err);
    if (rc == 0)
        rc = sources_decompress(job->all, job->directory, sources, n, &plain, err);
    if (rc == 0)
        rc = text_format_convert(job->all, job->cfg, conversion_key_format(job->key),
                                 sources, n, &sink, c, err);
    decompressed_clear(&plain);
    free(sources);
    return rc;
}

static void conversion_undo(struct conversion *c)
{
    if (c->path[0] && part_is_mine(c)) {
        unlink(c->hidden);
        unlink(c->path);
    }
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    json_decref(c->result->parts);
    c->result->parts = NULL;
}

int conversion_run(const struct conversion_job *job, struct conversion_result *result,
                   struct error *err)
{
    struct conversion c = {
        .job = job, .result = result, .spool = {.rows = FRAME_INIT}, .fd = -1};
    int rc;

    *result = (struct conversion_result){.parts = NULL};
    rc = conversion_convert(&c, err);
    if (rc == 0 && result->rows == 0)
        rc = error_set(err, RAYTRAIN_EINVAL, "%s: it has no rows", job->cfg->path);
    if (rc < 0)
        conversion_undo(&c);
    spool_clear(&c.spool);
    part_sums_clear(&c.sums);
    free(c.start);
    free(c.total);
    free(c.places);
    free(c.codes);
    return rc;
}
