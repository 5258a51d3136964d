/*
 * report_block.h - a report as one block of numbers, which a single allreduce combines
 * over all ranks: first the lanes that must be the same on all ranks, then the lanes
 * that are combined, then the metrics.
 *
 * A rank whose call was wrong (a bad metric name), or whose training function has
 * returned, takes part with the same block. So ranks that disagree find out, and do not
 * hang.
 */
#ifndef RAYTRAIN_SESSION_REPORT_BLOCK_H
#define RAYTRAIN_SESSION_REPORT_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "comm/comm.h"

/* Metrics in the block itself; more of them need a second allreduce. */
#define REPORT_INLINE_METRICS 24

/* REPORT_RANK0: the metrics of rank 0 count, and are sent to the others later.
 * REPORT_LOOSE: they do if the names differ, and any rank may have a checkpoint. */
enum report_kind { REPORT_METRICS, REPORT_RANK0, REPORT_LOOSE, REPORT_FINISH };

/* What is known of the GPUs of all ranks. */
enum report_gpu_figure {
    GPU_UTILIZATION,  /* percent */
    GPU_MEMORY_USED,  /* bytes of a rank's GPUs */
    GPU_MEMORY_TOTAL, /* bytes */
    REPORT_GPU_FIGURES
};

enum report_lane {
    LANE_KIND,
    LANE_METRICS,    /* their number */
    LANE_NAMES_HIGH, /* a hash of their names */
    LANE_NAMES_LOW,
    LANE_CHECKPOINT, /* 1: there is one */
    REPORT_SAME,     /* the lanes up to here must be the same on every rank */
    LANE_REFUSED = REPORT_SAME, /* max 1: a rank's call was wrong */
    LANE_STOP,                  /* max 1: a rank was asked to stop */
    LANE_ASKS,                  /* max 1: a rank asks whether a checkpoint is due */
    LANE_ASKS_STOP,             /* max 1: a rank asks whether to stop */
    LANE_ENDED,                 /* max 1: what trained on a rank was asked to end */
    LANE_SAVE_FAILED,           /* max 1: a rank knows of a save that failed */
    LANE_GATHERS,               /* max 1: rank 0 gathers what each rank reports */
    LANE_RANK0,     /* max 1: the values are rank 0's, whatever the others report */
    LANE_NAN_RANK,  /* min: the lowest rank with a NaN; size: none */
    LANE_TIME,      /* max: time_total_s, so that all ranks have the same */
    LANE_DATA_WAIT, /* max: data_wait_s */
    LANE_GPUS,      /* min -1: some rank does not know */
    LANE_GPUS_END = LANE_GPUS + REPORT_GPU_FIGURES,
    REPORT_LANES = LANE_GPUS_END
};

#define REPORT_BLOCK_MAX (REPORT_LANES + REPORT_INLINE_METRICS)

/* One rank's call. */
struct report {
    enum report_kind kind;
    const raytrain_metric *metrics;
    size_t n_metrics;
    bool has_checkpoint;
    bool refused; /* the call was wrong: it has neither metrics nor checkpoint */
    bool stop;
    bool asks; /* raytrain_should_checkpoint() was called */
    bool asks_stop;
    bool ended; /* what trains was asked to end */
    bool save_failed;
    bool gathers;
    bool keeps_rank0; /* on rank 0: its values are those of the report */
    double time_total_s;
    double data_wait_s; /* since the report before; -1: no dataset is open */
    double gpus[REPORT_GPU_FIGURES]; /* -1: not known */
};

/* The whole block is combined, whatever the number of metrics: the ranks may disagree
 * about that number. */
void report_block_fill(struct comm_stat block[REPORT_BLOCK_MAX],
                       const struct report *report, int rank, int size);
/* Was a call of some rank wrong? The block is combined. */
bool report_block_refused(const struct comm_stat block[REPORT_BLOCK_MAX]);
bool report_block_agrees(const struct comm_stat block[REPORT_BLOCK_MAX]);
bool report_block_has_same_names(const struct comm_stat block[REPORT_BLOCK_MAX]);

/* What each rank sends once it is known that the ranks do not agree. */
struct report_face {
    int32_t kind, n_metrics, has_checkpoint, refused, ended;
    uint64_t names;
    char text[240]; /* the metrics' names, or why the call was wrong */
};

void report_face_fill(struct report_face *face, const struct report *report,
                      const char *refusal);
/* The lowest rank on which what trained was asked to end; -1: none. */
int report_first_ended(const struct report_face faces[], int size);
/* The call that makes such a report; not for REPORT_FINISH. */
const char *report_kind_text(int kind);
/* Fill err with which ranks differ, and how. Returns -1 (RAYTRAIN_ECOMM). */
int report_disagreement(const struct report_face faces[], int size, struct error *err);

#endif
