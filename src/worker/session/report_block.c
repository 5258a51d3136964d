/*
 * report_block.c - fills the block of a report, and says which ranks differ, and how.
 */
#include "session/report_block.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "util/rank_list.h"

/* The order and the ends of names matter: the NUL is hashed, too. */
static uint64_t names_hash(const raytrain_metric metrics[], size_t n)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < n; i++)
        hash = XXH64(metrics[i].name, strlen(metrics[i].name) + 1, hash);
    return hash;
}

static struct comm_stat stat_of(double value)
{
    return (struct comm_stat){.sum = value, .min = value, .max = value};
}

static bool has_nan(const raytrain_metric metrics[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (isnan(metrics[i].value))
            return true;
    }
    return false;
}

void report_block_fill(struct comm_stat block[REPORT_BLOCK_MAX],
                       const struct report *report, int rank, int size)
{
    bool own = report->kind == REPORT_METRICS || report->kind == REPORT_LOOSE;
    size_t n = own ? report->n_metrics : 0;
    uint64_t hash = names_hash(report->metrics, n);
    bool nan = has_nan(report->metrics, report->n_metrics);

    memset(block, 0, REPORT_BLOCK_MAX * sizeof block[0]);
    block[LANE_KIND] = stat_of(report->kind);
    block[LANE_METRICS] = stat_of((double)n);
    block[LANE_NAMES_HIGH] = stat_of((double)(hash >> 32));
    block[LANE_NAMES_LOW] = stat_of((double)(hash & 0xffffffff));
    block[LANE_CHECKPOINT] = stat_of(report->has_checkpoint);
    block[LANE_REFUSED] = stat_of(report->refused);
    block[LANE_STOP] = stat_of(report->stop);
    block[LANE_ASKS] = stat_of(report->asks);
    block[LANE_ASKS_STOP] = stat_of(report->asks_stop);
    block[LANE_ENDED] = stat_of(report->ended);
    block[LANE_SAVE_FAILED] = stat_of(report->save_failed);
    block[LANE_GATHERS] = stat_of(report->gathers);
    block[LANE_RANK0] = stat_of(rank == 0 && report->keeps_rank0);
    block[LANE_NAN_RANK] = stat_of(nan ? rank : size);
    block[LANE_TIME] = stat_of(report->time_total_s);
    block[LANE_DATA_WAIT] = stat_of(report->data_wait_s);
    for (int i = 0; i < REPORT_GPU_FIGURES; i++)
        block[LANE_GPUS + i] = stat_of(report->gpus[i]);
    for (size_t i = 0; i < n && i < REPORT_INLINE_METRICS; i++)
        block[REPORT_LANES + i] = stat_of(report->metrics[i].value);
}

bool report_block_refused(const struct comm_stat block[REPORT_BLOCK_MAX])
{
    return block[LANE_REFUSED].max > 0;
}

static bool lanes_agree(const struct comm_stat block[REPORT_BLOCK_MAX], int from,
                        int to)
{
    for (int i = from; i < to; i++) {
        if (block[i].min != block[i].max)
            return false;
    }
    return true;
}

bool report_block_agrees(const struct comm_stat block[REPORT_BLOCK_MAX])
{
    if (!lanes_agree(block, LANE_KIND, LANE_KIND + 1))
        return false;
    return block[LANE_KIND].max == REPORT_LOOSE || lanes_agree(block, 0, REPORT_SAME);
}

bool report_block_has_same_names(const struct comm_stat block[REPORT_BLOCK_MAX])
{
    return lanes_agree(block, LANE_METRICS, LANE_CHECKPOINT);
}

/* "loss, accuracy", truncated if it does not fit. */
static void names_join(const raytrain_metric metrics[], size_t n, char *out, size_t max)
{
    size_t used = 0;

    snprintf(out, max, "%s", n == 0 ? "no metric" : "");
    for (size_t i = 0; i < n && used < max; i++)
        used += (size_t)snprintf(out + used, max - used, "%s%s", i > 0 ? ", " : "",
                                 metrics[i].name);
}

void report_face_fill(struct report_face *face, const struct report *report,
                      const char *refusal)
{
    memset(face, 0, sizeof *face);
    face->kind = report->kind;
    face->n_metrics = (int32_t)report->n_metrics;
    face->has_checkpoint = report->has_checkpoint;
    face->refused = report->refused;
    face->ended = report->ended;
    face->names = names_hash(report->metrics, report->n_metrics);
    if (report->refused)
        snprintf(face->text, sizeof face->text, "%s", refusal);
    else
        names_join(report->metrics, report->n_metrics, face->text, sizeof face->text);
}

static bool names_differ(const struct report_face *a, const struct report_face *b)
{
    return a->n_metrics != b->n_metrics || a->names != b->names;
}

const char *report_kind_text(int kind)
{
    return kind == REPORT_RANK0   ? "raytrain_report_rank0()"
           : kind == REPORT_LOOSE ? "report()"
                                  : "raytrain_report()";
}

/* Two kinds of report, or some ranks have returned. */
static int kinds_explain(const struct report_face faces[], int size, bool *in,
                         struct error *err)
{
    char some[RANK_LIST_MAX], others[RANK_LIST_MAX];
    int a = 0, b = 0;

    while (a < size - 1 && faces[a].kind == REPORT_FINISH)
        a++;
    while (b < size - 1 && faces[b].kind == faces[a].kind)
        b++;
    for (int i = 0; i < size; i++)
        in[i] = faces[i].kind == faces[a].kind;
    rank_list(in, size, some);
    for (int i = 0; i < size; i++)
        in[i] = faces[i].kind == faces[b].kind;
    rank_list(in, size, others);
    if (faces[b].kind == REPORT_FINISH)
        return error_set(
            err, RAYTRAIN_ECOMM,
            "the workers do not agree: %s called %s, but the %s of %s had %s. Every "
            "worker must make the same number of reports",
            some, report_kind_text(faces[a].kind),
            faces[a].kind == REPORT_LOOSE ? "command" : "training function", others,
            faces[a].kind == REPORT_LOOSE ? "ended" : "returned");
    return error_set(err, RAYTRAIN_ECOMM,
                     "the workers do not agree: %s called %s, but %s called %s. Every "
                     "worker makes the same call",
                     some, report_kind_text(faces[a].kind), others,
                     report_kind_text(faces[b].kind));
}

static int checkpoints_explain(const struct report_face faces[], int size, bool *in,
                               struct error *err)
{
    char with[RANK_LIST_MAX], without[RANK_LIST_MAX];

    for (int i = 0; i < size; i++)
        in[i] = faces[i].has_checkpoint;
    rank_list(in, size, with);
    for (int i = 0; i < size; i++)
        in[i] = !in[i];
    return error_set(
        err, RAYTRAIN_ECOMM,
        "the workers do not agree: %s reported a checkpoint and %s did not. "
        "Every worker passes one to raytrain_report(), or none does",
        with, rank_list(in, size, without));
}

static int names_explain(const struct report_face faces[], int size, bool *in,
                         struct error *err)
{
    char others[RANK_LIST_MAX];
    int first = -1;

    for (int i = 0; i < size; i++) {
        in[i] = names_differ(&faces[0], &faces[i]);
        if (in[i] && first < 0)
            first = i;
    }
    return error_set(
        err, RAYTRAIN_ECOMM,
        "the workers do not agree: rank 0 reported %s, but %s reported %s. "
        "Every worker reports the same metrics in the same order",
        faces[0].text, rank_list(in, size, others),
        first < 0 ? "the same" : faces[first].text);
}

int report_first_ended(const struct report_face faces[], int size)
{
    int r = 0;

    while (r < size - 1 && !faces[r].ended)
        r++;
    return faces[r].ended ? r : -1;
}

int report_disagreement(const struct report_face faces[], int size, struct error *err)
{
    bool kinds = false, checkpoints = false;
    bool *in = calloc((size_t)size, sizeof *in);
    int refused = -1;

    if (!in)
        return error_no_memory(err);
    for (int i = size - 1; i >= 0; i--) {
        if (faces[i].refused)
            refused = i;
        kinds = kinds || faces[i].kind != faces[0].kind;
        checkpoints = checkpoints || faces[i].has_checkpoint != faces[0].has_checkpoint;
    }
    if (refused >= 0)
        error_set(err, RAYTRAIN_ECOMM, "the report of rank %d was refused: %s", refused,
                  faces[refused].text);
    else if (kinds)
        kinds_explain(faces, size, in, err);
    else if (checkpoints)
        checkpoints_explain(faces, size, in, err);
    else
        names_explain(faces, size, in, err);
    free(in);
    return -1;
}
