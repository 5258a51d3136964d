/*
 * file_predictor.c - predicts the rows of files, and makes one file of the predictions.
 * The life of a prediction:
 *
 *   1. cmd/raytrain-predict.c chooses the checkpoint and completes the configuration:
 *      the run is called FILE.run, and lies beside the output FILE. It is a run like
 *      others (cmd/program.c), but its workers call a predict function; for a model of
 *      trees that is gbdt/gbdt_predict.c, which takes its features from the columns of
 *      a batch (gbdt/feature_rows.c).
 *   2. session/predict_calls.c opens the input. With the first batch all ranks agree on
 *      the outputs, rank 0 compares them with the record of an earlier attempt
 *      (predict_record.c), and the rows are cut into parts (predict_plan.c). The ranks
 *      look which parts exist (output_part.c), and take the missing ones, in rounds.
 *   3. What the predict function puts becomes streams of bytes in the output's format
 *      (predicted.h), and at the end of a part a file. After each round the ranks
 *      report how many rows are done, and learn of a request to stop.
 *   4. When all parts exist, each rank copies a range of the output from them
 *      (assembly.c), and rank 0 gives the file its name. raytrain-predict removes the
 *      run.
 *
 * In a service the rows come over a socket instead: serve/service_predictor.c.
 */
#include "predict/file_predictor.h"

#include <stdlib.h>
#include <string.h>

#include "predict/assembly.h"
#include "predict/predict_record.h"
#include "predict/output_part.h"
#include "predict/staged.h"
#include "run/predicted_parts.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/fs.h"

struct file_predictor {
    struct raytrain_predictor base;
    struct file_predictor_env env;
    /* The same rows without preprocessors, for columns that are kept; NULL if none are
     * kept, or there are no preprocessors. */
    raytrain_dataset *kept;
    struct dataset_config input_config;
    char *parts; /* their directory */

    /* From the first next on. */
    struct predict_plan plan;
    uint64_t *missing; /* the parts to make, in order */
    uint64_t n_missing;
    uint64_t end, at;       /* this rank still has to make missing[at..end) */
    uint64_t round, rounds; /* rounds that this rank has completed; all rounds */
    uint64_t reported;      /* rounds that all ranks have completed */
    uint64_t report_at;     /* the round after which the next report comes */
    struct predict_progress progress;
    struct staged staged; /* the columns of the current batch */
    struct predicted_stream *streams;
    uint64_t position; /* the first row that has not been delivered */
    bool in_part, stopped, ended;
    double began; /* clock_now() at the first batch */
};

static const struct predictor_ops file_ops;

/* ---- Life ---- */

/* COLLECTIVE: open the rows in the order of the files, all of them on each rank. */
static int rows_open(struct file_predictor *p, const struct chain *chain,
                     raytrain_dataset **out, struct error *err)
{
    const struct file_predictor_env *env = &p->env;
    char *directory = NULL;
    struct dataset_env data = {.rank = 0,
                               .size = 1,
                               .node = env->node,
                               .all = env->comm,
                               .chain = chain,
                               .invocation = env->invocation,
                               .watch = env->watch,
                               .warn = env->warn,
                               .warn_arg = env->warn_arg,
                               .goes_on = true,
                               .again = p->base.input != NULL};
    int rc = 0;

    if (asprintf(&directory, "%s/data/input", env->run_dir) < 0) {
        directory = NULL;
        rc = error_no_memory(err);
    }
    if (comm_agree(env->comm, rc, err) < 0) {
        free(directory);
        return -1;
    }
    data.directory = directory;
    rc = dataset_open(&p->input_config, &data, out, err);
    free(directory);
    if (comm_agree(env->comm, rc, err) < 0)
        return -1;
    return dataset_compare(*out, env->comm, err);
}

/* COLLECTIVE */
static int input_open(struct file_predictor *p, struct error *err)
{
    const struct chain *chain = p->env.input->preprocess ? p->env.chain : NULL;

    p->input_config = *p->env.input;
    p->input_config.shuffle = false;
    p->input_config.shuffle_window = 0;
    p->input_config.last_batch = LAST_BATCH_KEEP;
    p->input_config.split = false;
    if (rows_open(p, chain, &p->base.input, err) < 0)
        return -1;
    if (!chain || p->env.config->n_columns == 0)
        return 0;
    return rows_open(p, NULL, &p->kept, err);
}

/* The rows from which columns are kept. */
static raytrain_dataset *kept_rows(const struct file_predictor *p)
{
    return p->kept ? p->kept : p->base.input;
}

/* COLLECTIVE: find the longest string of a column; each rank looks at some of the
 * rows. */
static int strings_measure(const struct file_predictor *p, const char *name,
                           uint64_t *longest, struct error *err)
{
    struct comm *comm = p->env.comm;
    raytrain_dataset *ds = kept_rows(p);
    uint64_t rows = dataset_rows(ds), mine = 0;
    uint64_t first = predict_cut(rows, comm->rank, comm->size);
    uint64_t end = predict_cut(rows, comm->rank + 1, comm->size);
    int64_t most;
    int rc = dataset_longest(ds, name, first, end - first, &mine, err);

    if (comm_agree(comm, rc, err) < 0)
        return -1;
    most = (int64_t)mine;
    if (comm->ops->allreduce(comm, &most, 1, COMM_INT64, COMM_MAX, err) < 0)
        return -1;
    *longest = (uint64_t)most;
    return 0;
}

/* COLLECTIVE, with the same outcome on every rank, as columns are equal on all. */
static int column_keep(struct file_predictor *p, const char *name, struct error *err)
{
    const struct frame_column *c = frame_find(dataset_schema(kept_rows(p)), name);
    raytrain_tensor row;
    uint64_t longest;

    if (c && (c->kind == FRAME_WORDS || c->kind == FRAME_TEXT))
        return strings_measure(p, name, &longest, err) < 0
                   ? -1
                   : predicted_add_strings(&p->base.predicted, name, longest, err);
    if (c && c->kind != FRAME_NUMBERS)
        return error_set(
            err, RAYTRAIN_ENOTSUP,
            "--columns: column \"%s\" has sparse vectors or lists of words, and "
            "only numbers and strings can be kept; leave it out",
            name);
    if (dataset_column_info(kept_rows(p), name, &row, err) < 0)
        return error_prefix(err, "--columns");
    return predicted_add(&p->base.predicted, name, &row, true, err);
}

/* COLLECTIVE */
static int columns_keep(struct file_predictor *p, struct error *err)
{
    const struct predict_config *cfg = p->env.config;
    enum predict_format format;
    int rc = predict_format_of(cfg->output, &format, err);

    if (rc == 0)
        predicted_init(&p->base.predicted, format);
    for (size_t i = 0; i < cfg->n_columns && rc == 0; i++)
        rc = comm_agree(p->env.comm, column_keep(p, cfg->columns[i], err), err);
    return comm_agree(p->env.comm, rc, err);
}

static struct file_predictor *file_predictor_of(raytrain_predictor *base)
{
    return (struct file_predictor *)(void *)base;
}

static void file_destroy(raytrain_predictor *base)
{
    struct file_predictor *p = file_predictor_of(base);

    for (size_t i = 0; p->streams && i < predicted_streams(&base->predicted); i++)
        free(p->streams[i].data);
    staged_clear(&p->staged);
    free(p->streams);
    free(p->missing);
    dataset_close(p->kept);
    free(p->parts);
    free(p);
}

int file_predictor_create(const struct file_predictor_env *env,
                          raytrain_predictor **out, struct error *err)
{
    struct file_predictor *p = calloc(1, sizeof *p);
    int rc = 0;

    if (!p || asprintf(&p->parts, "%s/" RUN_PARTS, env->run_dir) < 0) {
        if (p)
            p->parts = NULL;
        rc = error_no_memory(err);
    }
    if (p)
        p->base.ops = &file_ops;
    rc = comm_agree(env->comm, rc, err);
    if (rc == 0) {
        p->env = *env;
        rc = input_open(p, err);
        p->env.watch = NULL; /* valid only during this call */
    }
    if (rc == 0)
        rc = columns_keep(p, err);
    if (rc < 0) {
        predictor_destroy(p ? &p->base : NULL);
        return -1;
    }
    *out = &p->base;
    return 0;
}

/* ---- The beginning: finding the parts to make ---- */

static void file_plan_make(struct file_predictor *p)
{
    uint64_t batch = (uint64_t)p->env.config->batch_size, row_bytes = 0;

    if (batch == 0)
        batch = p->base.batch > 0 ? p->base.batch : PREDICTOR_BATCH;
    for (size_t i = 0; i < p->base.predicted.n; i++)
        row_bytes += p->base.predicted.columns[i].row_bytes;
    predict_plan_make(&p->plan, dataset_rows(p->base.input), batch, row_bytes,
                      p->env.comm->size);
}

/* On rank 0: continue with the existing record, or begin one. *part_rows are the rows
 * of a part. */
static int record_enter(const struct file_predictor *p, const json_t *now,
                        uint64_t *part_rows, struct error *err)
{
    const char *dir = p->env.run_dir;
    json_t *before;
    int rc = 0;

    *part_rows = p->plan.part_rows;
    if (predict_record_load(dir, &before, err) < 0)
        return -1;
    if (before) {
        rc = predict_record_compare(before, now, err);
        *part_rows = predict_record_part_rows(before);
        if (rc == 0 && *part_rows == 0)
            rc = error_set(err, RAYTRAIN_ECORRUPT,
                           "%s/prediction.json: shard_rows is not a multiple of batch; "
                           "--fresh begins the prediction again",
                           dir);
    } else {
        rc = fs_mkdirs_durable(p->parts, 0777, err);
        if (rc == 0)
            rc = predict_record_save(dir, now, err);
    }
    json_decref(before);
    return rc;
}

/* COLLECTIVE: check that rank 0 makes the same prediction as this rank. */
static int record_agree(const struct file_predictor *p, json_t *now, struct error *err)
{
    struct comm *comm = p->env.comm;
    char *mine = json_dumps(now, JSON_COMPACT), *first = mine;
    uint64_t n = mine ? strlen(mine) + 1 : 0;
    int rc = comm_agree(comm, mine ? 0 : error_no_memory(err), err);

    if (rc == 0)
        rc = comm->ops->bcast(comm, &n, sizeof n, 0, err);
    if (rc == 0)
        rc = comm_bcast_alloc(comm, (void **)&first, n, 0, err);
    if (rc == 0) {
        if (strcmp(first, mine) != 0)
            rc = error_set(err, RAYTRAIN_ECOMM,
                           "the ranks do not predict the same: rank 0 %.1000s, this "
                           "one %.1000s",
                           first, mine);
        rc = comm_agree(comm, rc, err);
        if (first != mine)
            free(first);
    }
    free(mine);
    return rc;
}

/* COLLECTIVE */
static int plan_agree(struct file_predictor *p, struct error *err)
{
    struct comm *comm = p->env.comm;
    const struct predict_facts facts = {.output = p->env.config->output,
                                        .input = p->env.input->path,
                                        .checkpoint = p->env.checkpoint,
                                        .iteration = p->env.iteration,
                                        .predicted = &p->base.predicted,
                                        .plan = &p->plan};
    uint64_t part_rows = 0;
    json_t *now;
    int rc = predictor_check(&p->base, err);

    if (rc == 0)
        rc = p->base.predicted.format->check(&p->base.predicted, err);

    if (comm_agree(comm, rc, err) < 0)
        return -1;
    file_plan_make(p);
    now = predict_record_make(&facts);
    rc = comm_agree(comm, now ? 0 : error_no_memory(err), err);
    if (rc == 0)
        rc = record_agree(p, now, err);
    if (rc == 0 && comm->rank == 0)
        rc = record_enter(p, now, &part_rows, err);
    json_decref(now);
    if (comm_agree(comm, rc, err) < 0 ||
        comm->ops->bcast(comm, &part_rows, sizeof part_rows, 0, err) < 0)
        return -1;
    predict_plan_set(&p->plan, p->plan.rows, p->plan.batch, part_rows);
    return 0;
}

/* COLLECTIVE: find the lengths of the streams of all parts, [part * streams + stream];
 * each rank looks at some of the files. found[i]: part i exists. All malloc'ed. */
static int parts_look(const struct file_predictor *p, int64_t **lengths,
                      int64_t **found, struct error *err)
{
    struct comm *comm = p->env.comm;
    size_t streams = predicted_streams(&p->base.predicted), n = (size_t)p->plan.n;
    int rc = 0;

    *lengths = calloc(n * streams, sizeof **lengths);
    *found = calloc(n, sizeof **found);
    if (!*lengths || !*found)
        rc = error_no_memory(err);
    for (size_t i = (size_t)comm->rank; i < n && rc >= 0; i += (size_t)comm->size) {
        uint64_t *bytes = (uint64_t *)*lengths + i * streams;

        rc = output_part_look(p->parts, i, predict_plan_count(&p->plan, i), streams,
                              bytes, err);
        (*found)[i] = rc > 0;
        if (rc == 0)
            memset(bytes, 0, streams * sizeof *bytes);
    }
    rc = comm_agree(comm, rc < 0 ? -1 : 0, err);
    if (rc == 0)
        rc = comm->ops->allreduce(comm, *found, n, COMM_INT64, COMM_SUM, err);
    if (rc == 0)
        rc = comm->ops->allreduce(comm, *lengths, n * streams, COMM_INT64, COMM_SUM,
                                  err);
    return rc;
}

/* COLLECTIVE */
static int missing_find(struct file_predictor *p, struct error *err)
{
    struct comm *comm = p->env.comm;
    int64_t *lengths, *found;
    int rc;

    p->missing = calloc(p->plan.n, sizeof *p->missing);
    rc = comm_agree(comm, p->missing ? 0 : error_no_memory(err), err);
    if (rc < 0)
        return -1;
    rc = parts_look(p, &lengths, &found, err);
    for (uint64_t i = 0; i < p->plan.n && rc == 0; i++) {
        if (!found[i])
            p->missing[p->n_missing++] = i;
        else
            p->progress.done += predict_plan_count(&p->plan, i);
    }
    free(lengths);
    free(found);
    p->progress.rows = p->plan.rows;
    p->at = predict_cut(p->n_missing, comm->rank, comm->size);
    p->end = predict_cut(p->n_missing, comm->rank + 1, comm->size);
    p->rounds = predict_rounds(p->n_missing, comm->size);
    p->report_at = 1;
    return rc;
}

static int buffers_make(struct file_predictor *p, struct error *err)
{
    uint64_t rows = p->plan.batch < p->plan.rows ? p->plan.batch : p->plan.rows;

    p->streams = calloc(predicted_streams(&p->base.predicted), sizeof *p->streams);
    if (!p->streams)
        return error_no_memory(err);
    if (staged_init(&p->staged, &p->base.predicted, rows, err) < 0 ||
        dataset_set_batch_size(p->base.input, p->plan.batch, err) < 0)
        return -1;
    return p->kept ? dataset_set_batch_size(p->kept, p->plan.batch, err) : 0;
}

/* COLLECTIVE */
static int file_predictor_begin(struct file_predictor *p, struct error *err)
{
    p->base.begun = true;
    if (plan_agree(p, err) < 0 || missing_find(p, err) < 0 ||
        comm_agree(p->env.comm, buffers_make(p, err), err) < 0)
        return -1;
    p->began = clock_now();
    return 0;
}

/* ---- A batch ---- */

static int file_predictor_put(raytrain_predictor *base, size_t column, const void *data,
                              struct error *err)
{
    struct file_predictor *p = file_predictor_of(base);

    (void)err;
    staged_put(&p->staged, &base->predicted, column, data, base->rows);
    return 0;
}

/* Copy the columns of the input that are kept. */
static int batch_keep(struct file_predictor *p, struct error *err)
{
    staged_begin(&p->staged);
    for (size_t i = 0; i < p->base.predicted.n; i++) {
        const struct predicted_column *c = &p->base.predicted.columns[i];
        const struct frame_column *from;

        if (!c->kept)
            continue;
        from = dataset_frame_column(kept_rows(p), c->name, err);
        if (!from ||
            staged_keep(&p->staged, &p->base.predicted, i, from, p->base.rows, err) < 0)
            return -1;
    }
    return 0;
}

/* End the current batch: the predict function asks for the next one. */
static int batch_end(struct file_predictor *p, struct error *err)
{
    long missing = staged_missing(&p->staged);
    uint64_t rows = p->base.rows;

    if (missing >= 0)
        return error_set(err, RAYTRAIN_EINVAL,
                         "output \"%s\" of rows %llu to %llu was not put: each batch "
                         "needs raytrain_predictor_put() of all outputs before the "
                         "next one",
                         p->base.predicted.columns[missing].name,
                         (unsigned long long)(p->position - rows),
                         (unsigned long long)(p->position - 1));
    p->base.rows = 0;
    return p->base.predicted.format->append(&p->base.predicted, p->streams,
                                            p->staged.rows, rows, err);
}

static int rows_next(struct file_predictor *p, raytrain_dataset *ds, struct error *err)
{
    struct dataset_state at;
    int rc;

    dataset_state_get(ds, &at);
    if (at.position != p->position)
        return error_set(err, RAYTRAIN_EINVAL,
                         "only raytrain_predictor_next() may move the rows of a "
                         "prediction");
    rc = dataset_next(ds, &p->base.rows, err);
    if (rc > 0)
        rc = error_set(err, RAYTRAIN_ECORRUPT, "the input has become shorter");
    return rc;
}

static int batch_begin(struct file_predictor *p, uint64_t *rows, struct error *err)
{
    (void)fault_point("predict.batch", p->env.comm->rank);
    if (rows_next(p, p->base.input, err) < 0 ||
        (p->kept && rows_next(p, p->kept, err) < 0))
        return -1;
    p->position += p->base.rows;
    *rows = p->base.rows;
    return batch_keep(p, err);
}

/* ---- Parts and rounds ---- */

static int rows_seek(raytrain_dataset *ds, uint64_t position, struct error *err)
{
    const struct dataset_state first = {.position = position};
    struct dataset_state at;

    dataset_state_get(ds, &at);
    if (at.epoch == first.epoch && at.position == first.position)
        return 0; /* they are read ahead already */
    return dataset_state_set(ds, &first, err);
}

static int part_begin(struct file_predictor *p, struct error *err)
{
    p->position = predict_plan_first(&p->plan, p->missing[p->at]);
    p->in_part = true;
    if (rows_seek(p->base.input, p->position, err) < 0)
        return -1;
    return p->kept ? rows_seek(p->kept, p->position, err) : 0;
}

static bool part_has_more(const struct file_predictor *p)
{
    uint64_t i = p->missing[p->at];

    return p->position <
           predict_plan_first(&p->plan, i) + predict_plan_count(&p->plan, i);
}

static int part_end(struct file_predictor *p, struct error *err)
{
    size_t n = predicted_streams(&p->base.predicted);
    uint64_t i = p->missing[p->at];

    if (output_part_write(p->parts, i, predict_plan_count(&p->plan, i), p->streams, n,
                          err) < 0)
        return -1;
    fault_point("predict.part", (int)i);
    for (size_t s = 0; s < n; s++)
        p->streams[s].n = 0;
    p->in_part = false;
    p->at++;
    return 0;
}

/* Add the rows of all ranks in the rounds that were completed since the last report: in
 * round k each rank made part k of its own, if it has that many. */
static void rounds_count(struct file_predictor *p)
{
    int size = p->env.comm->size;

    for (; p->reported < p->round; p->reported++)
        for (int r = 0; r < size; r++) {
            uint64_t i = predict_cut(p->n_missing, r, size) + p->reported;

            if (i < predict_cut(p->n_missing, r + 1, size)) {
                p->progress.done += predict_plan_count(&p->plan, p->missing[i]);
                p->progress.here += predict_plan_count(&p->plan, p->missing[i]);
            }
        }
}

/* COLLECTIVE. The time is that of the slowest rank, as a rank without a part takes
 * none. */
static int rounds_report(struct file_predictor *p, struct error *err)
{
    double seconds = clock_now() - p->began;

    if (p->env.comm->ops->allreduce(p->env.comm, &seconds, 1, COMM_FLOAT64, COMM_MAX,
                                    err) < 0)
        return -1;
    rounds_count(p);
    p->progress.seconds = seconds;
    p->report_at = predict_report_at(p->round, p->rounds, seconds);
    return p->env.progress(p->env.arg, &p->progress, &p->stopped, err);
}

/* COLLECTIVE if a report is due; all ranks compute the same rounds for reports. */
static int round_end(struct file_predictor *p, struct error *err)
{
    p->round++;
    return p->round == p->report_at ? rounds_report(p, err) : 0;
}

static int file_next(raytrain_predictor *base, uint64_t *rows, struct error *err)
{
    struct file_predictor *p = file_predictor_of(base);

    p->env.goes_on(p->env.arg);
    if ((!base->begun && file_predictor_begin(p, err) < 0) ||
        (base->rows > 0 && batch_end(p, err) < 0))
        return -1;
    while (!p->stopped) {
        if (p->in_part && part_has_more(p))
            return batch_begin(p, rows, err);
        if (p->in_part && (part_end(p, err) < 0 || round_end(p, err) < 0))
            return -1;
        if (p->stopped || p->round == p->rounds)
            break;
        if (p->at < p->end ? part_begin(p, err) < 0 : round_end(p, err) < 0)
            return -1;
    }
    p->ended = true;
    return 1;
}

/* ---- The end ---- */

/* COLLECTIVE */
static int assemble(struct file_predictor *p, struct error *err)
{
    int64_t *lengths = NULL, *found = NULL;
    int rc = parts_look(p, &lengths, &found, err);

    for (uint64_t i = 0; i < p->plan.n && rc == 0; i++)
        if (!found[i])
            rc = error_set(err, RAYTRAIN_ESTORAGE,
                           "part %llu of the predictions in %s no longer exists",
                           (unsigned long long)i, p->parts);
    if (rc == 0) {
        const struct assembly a = {.comm = p->env.comm,
                                   .parts = p->parts,
                                   .output = p->env.config->output,
                                   .plan = &p->plan,
                                   .predicted = &p->base.predicted,
                                   .bytes = (const uint64_t *)lengths,
                                   .goes_on = p->env.goes_on,
                                   .arg = p->env.arg};

        rc = assembly_make(&a, err);
    }
    free(lengths);
    free(found);
    return rc;
}

static int file_finish(raytrain_predictor *base, struct error *err)
{
    struct file_predictor *p = file_predictor_of(base);

    /* Not COLLECTIVE: the other ranks may still be in a round that this one has
     * left. */
    if (!p->ended)
        return predictor_fail_early(err);
    return p->stopped ? 0 : assemble(p, err);
}

static const struct predictor_ops file_ops = {.next = file_next,
                                              .put = file_predictor_put,
                                              .finish = file_finish,
                                              .destroy = file_destroy};
