/*
 * file_format.h - a checkpoint file byte by byte, as raytrain-format(5) describes it.
 *
 *   0 ..4095   the user block (struct file_head): magic, length of the file, where the
 *              tables lie, checksums, completeness mark. Written last of all.
 *   4096 ..    an HDF5 file: the tensors as contiguous datasets, or by parts, as
 *              by_parts.c explains; below /raytrain the tables, which are HDF5 datasets
 *              too:
 *                report   one struct report_record
 *                metrics  struct metric_record each
 *                tensors  name (file_head.name_bytes, NUL-padded), struct tensor_record
 *                shapes   of each tensor its shape, then of each of its parts the
 *                         start and the count: one uint64 for each dimension
 *                hashes   XXH3-64 of each chunk of each part
 *
 * A part is a slab that one rank wrote. A tensor without a list of parts is one part as
 * a whole; an empty tensor has none. The stream of a part (slab.h) is cut into chunks
 * of file_head.chunk_bytes; the last one has the remaining bytes. The tables shapes and
 * hashes are read from front to back along with the tensors, so that nothing points
 * into them, and thousands of small tensors cost little besides their bytes. A reader
 * needs only the head and the tables, and no HDF5. Two checksums protect them: one
 * covers the head, the other every byte after the head that is not a tensor's. So some
 * checksum covers every byte of the file.
 *
 * All numbers are little-endian.
 */
#ifndef RAYTRAIN_CHECKPOINT_FILE_FORMAT_H
#define RAYTRAIN_CHECKPOINT_FILE_FORMAT_H

#include <assert.h>
#include <stdint.h>

#include "raytrain.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "checkpoints have the byte order of memory, which must be little-endian"
#endif

#define FORMAT_NAME       "raytrain-checkpoint"
#define FORMAT_VERSION    3
#define FORMAT_OLDEST     2 /* it has no tensors that are stored by parts */
#define HEAD_BYTES        4096u
#define HEAD_MAGIC        "raytrain\r\n\x1a\nckpt" /* 16 bytes, no NUL */
#define HEAD_COMPLETE     "complete"
#define CHUNK_BYTES       (1u << 20)
#define TENSOR_NAME_MAX   1023 /* bytes of a whole name, with all components */
#define TENSOR_NAME_WIDTH 1024 /* so this is the largest in a valid file */
#define DTYPE_STRING      64u  /* beside raytrain_dtype: a NUL-terminated string */
#define TABLE_REPORT      "raytrain/report"
#define TABLE_METRICS     "raytrain/metrics"
#define TABLE_TENSORS     "raytrain/tensors"
#define TABLE_SHAPES      "raytrain/shapes"
#define TABLE_HASHES      "raytrain/hashes"
#define PARTS_GROUP       "raytrain/parts" /* below it: the bytes of tensors by parts */
#define METRIC_NAME_BYTES (RAYTRAIN_NAME_MAX + 1)

struct file_head {
    char magic[16];
    uint32_t version;
    uint32_t head_bytes;
    uint64_t file_bytes;
    uint64_t chunk_bytes;
    uint64_t name_bytes; /* width of the names in the table of tensors */
    uint64_t n_metrics, n_tensors, n_shapes, n_hashes;
    /* Offsets of the tables in the file; 0 for one without rows. */
    uint64_t report_at, metrics_at, tensors_at, shapes_at, hashes_at;
    uint64_t metadata_hash; /* XXH3-64: all after the head except the tensors' bytes */
    char mark[8];           /* HEAD_COMPLETE once everything else is durable */
    char text[3952];        /* tells a human reader what this is; NUL-padded */
    uint64_t head_hash;     /* XXH3-64 of the head before this field */
};
static_assert(sizeof(struct file_head) == HEAD_BYTES, "the head fills the user block");

struct report_record {
    int64_t training_iteration;
    int64_t timestamp;
    double time_total_s;
    int32_t world_size;
    int32_t attempt;
    char run_name[256];
};
static_assert(sizeof(struct report_record) == 288, "no padding");

struct metric_record {
    char name[METRIC_NAME_BYTES];
    double value;
};
static_assert(sizeof(struct metric_record) == 264, "no padding");

struct tensor_record {
    uint16_t dtype; /* raytrain_dtype or DTYPE_STRING */
    uint8_t ndim;
    uint8_t by_parts; /* 1: its parts lie one after the other, in their order */
    uint32_t n_parts; /* 0: it was the same on every rank */
    uint64_t offset;  /* in the file; 0 for an empty tensor */
};
static_assert(sizeof(struct tensor_record) == 16, "no padding");

#endif
