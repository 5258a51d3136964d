/*
 * infer.h - the Open Inference Protocol, version 2, as text: what a model is, requests
 * for predictions, and the answers. No sockets and no threads; a request may be parsed,
 * and an answer written, in any thread.
 *
 *     struct infer_request q;
 *
 *     if (infer_request_parse(model, &body, &limits, &q, &why) < 0)
 *         answer with why.status and infer_error_write(why.text);
 *     predict q.rows rows, q.inputs[i] for each input of the model;
 *     infer_response_write(model, &q, outputs, &answer, &why);
 *
 * The protocol: https://github.com/kserve/open-inference-protocol, with the binary
 * tensor data extension. A request is JSON, JSON with binary data after it, or CSV.
 *
 * Datatypes are BOOL (for uint8), UINT8 to UINT64, INT8 to INT64, FP16, BF16 (in binary
 * only), FP32, FP64, and BYTES for text. Numbers may come in another datatype than that
 * of the model, as far as nothing is lost. The first dimension of a tensor is rows;
 * dimensions of 1 may be left out or added after it. Numbers in JSON are rounded to the
 * nearest that the model's datatype has, but an integer must be exact. JSON has no NaN
 * and no infinities, binary data may: in JSON that comes in, null is a missing number,
 * NaN, or an empty text; in JSON that goes out they are null.
 *
 * CSV has a header with the names of inputs; NAME_0, NAME_1 and so on for the elements
 * of an input whose rows have several. Other columns are not looked at. In a column of
 * numbers, a field that means a missing value to the model is NaN, as an empty one is,
 * and true is 1.
 *
 * Nothing that arrives is believed before it is checked, and memory that a request
 * takes is in proportion to the bytes of its body.
 */
#ifndef RAYTRAIN_INFER_INFER_H
#define RAYTRAIN_INFER_INFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "raytrain.h"
#include "util/missing_text.h"

/* ---- The model ---- */

enum infer_kind { INFER_NUMBERS, INFER_TEXT };

struct infer_column {
    const char *name;
    enum infer_kind kind;
    raytrain_tensor row; /* for numbers: dtype and shape of a row; data is NULL */
};

struct infer_model {
    const char *name;
    const char *version; /* the number as */
    const struct infer_column *inputs, *outputs;
    size_t n_inputs, n_outputs;
    struct missing_texts missing; /* fields of CSV that mean NaN */
};

/*
 * Rows of a column, as in a message between a service and its workers (service_wire.h).
 * Numbers: the rows, dense. Text: row i is bytes[offsets[i]] to bytes[offsets[i + 1]]; the
 * first offset need not be 0, so that some of the rows are `offsets` from another place on.
 * Numbers may begin at any address: copy them before they are used as such.
 */
struct infer_data {
    const void *bytes;
    size_t n_bytes;          /* for numbers: rows times the bytes of a row */
    const uint64_t *offsets; /* for text: rows + 1 offsets */
    /* to be freed by infer_request_clear(); NULL: the rows are in the body */
    void *owned;
};

/* Bytes of a row of numbers; 0 for text, or if the shape is not possible. */
uint64_t infer_row_bytes(const struct infer_column *c);

/* ---- Requests ---- */

#define INFER_REFUSAL_MAX 1024

/* Why a request is not answered: a status of HTTP, and a sentence for the client. */
struct infer_refusal {
    int status; /* 400, 413, 415, or 500 */
    char text[INFER_REFUSAL_MAX];
};

/* A request as it arrived. The caller owns it, and keeps it until
 * infer_request_clear(). */
struct infer_body {
    const void *bytes;
    size_t n_bytes;
    const char *content_type;  /* the HTTP header; NULL: there is none */
    const char *header_length; /* Inference-Header-Content-Length */
};

struct infer_limits {
    uint64_t rows;  /* of a request; 0: no limit */
    uint64_t bytes; /* of all inputs, converted; 0: no limit */
};

struct infer_output {
    size_t column; /* index of the model's output */
    bool binary;
};

struct infer_request {
    char *id; /* NULL: none */
    uint64_t rows;
    struct infer_data *inputs; /* inputs of the model, in its order */
    size_t n_inputs;
    struct infer_output *outputs; /* outputs that are wanted, in this order */
    size_t n_outputs;
};

/* On failure returns -1 and sets `why`; there is nothing to clear. */
int infer_request_parse(const struct infer_model *m, const struct infer_body *body,
                        const struct infer_limits *limits, struct infer_request *q,
                        struct infer_refusal *why);
void infer_request_clear(struct infer_request *q); /* zeroed is fine */

/* ---- Answers ---- */

struct infer_answer {
    char *bytes; /* malloc'ed */
    size_t n_bytes;
    const char *content_type;
    /* Inference-Header-Content-Length, if there is binary data; else 0. */
    size_t header_length;
};

void infer_answer_clear(struct infer_answer *a); /* zeroed is fine */

/* q->rows rows of each output of the model, in its order; those that are not wanted are
 * not looked at. -1, and why: an output cannot be written in JSON, or there is no memory;
 * then there is nothing to clear. */
int infer_response_write(const struct infer_model *m, const struct infer_request *q,
                         const struct infer_data outputs[], struct infer_answer *a,
                         struct infer_refusal *why);

/* The other bodies. -1: no memory, and nothing to clear. Texts that are not UTF-8 are
 * escaped. */
int infer_error_write(const char *sentence, struct infer_answer *a);
int infer_server_write(const char *name, const char *version, struct infer_answer *a);
int infer_server_live_write(bool live, struct infer_answer *a);
int infer_server_ready_write(bool ready, struct infer_answer *a);
/* versions[0..n): the versions that clients can ask for. */
int infer_model_write(const struct infer_model *m, const char *const versions[],
                      size_t n, struct infer_answer *a);
int infer_model_ready_write(const char *name, bool ready, struct infer_answer *a);

/* A version of a model in the index of the model repository extension. */
struct infer_index_entry {
    const char *name, *version; /* version NULL: not known yet */
    bool ready;
};
int infer_index_write(const struct infer_index_entry entries[], size_t n,
                      struct infer_answer *a);
/* Parse the request for an index, a JSON object or nothing: does it ask only for models
 * that are ready? False with `why`: it is not such a request. */
bool infer_index_parse(const char *body, size_t n, bool *ready,
                       struct infer_refusal *why);

#endif
