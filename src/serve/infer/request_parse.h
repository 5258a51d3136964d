/* request_parse.h - the state of a request while it is parsed, for the files of this
 * room. */
#ifndef RAYTRAIN_INFER_REQUEST_PARSE_H
#define RAYTRAIN_INFER_REQUEST_PARSE_H

#include "infer/infer.h"
#include "infer/json_scan.h"

struct request_parse {
    const struct infer_model *model;
    const struct infer_limits *limits;
    struct infer_request *q;
    struct infer_refusal *why;
    struct json_scan scan;           /* scanner of the JSON */
    const char *binary, *binary_end; /* the rest of the binary data */
    bool has_binary;                 /* the header has the length of the JSON */
    bool binary_output;              /* unless an output says otherwise */
    const char *first;               /* the input that set the number of rows */
    uint64_t bytes;                  /* bytes of all inputs so far */
    signed char
        *says; /* of each output of the model: binary 1, JSON 0, or nothing: -1 */
};

/* A tensor as the request has it, before it is compared with the model. */
struct request_tensor {
    size_t number;                    /* of the request's inputs, from 0 on */
    char name[RAYTRAIN_NAME_MAX + 2]; /* "": there is none, or it is too long */
    char datatype[16];
    raytrain_dtype dtype; /* type of its elements, if the column has numbers */
    int64_t shape[RAYTRAIN_MAX_DIMS + 1];
    int ndim;         /* -1: there is no shape */
    const char *data; /* the list in the JSON, NULL: none */
    size_t n_data;
    int64_t binary_bytes; /* -1: none */
};

/* ---- Sources: each fills p->q->inputs and p->q->rows, or refuses ---- */

int request_json(struct request_parse *p);
int request_csv(struct request_parse *p, const char *text, size_t n);

/* ---- Steps of them: 0, or -1 and p->why ---- */

/* Take one of the request's inputs. */
int tensor_take(struct request_parse *p, struct request_tensor *t);

/* This input has `rows` rows: compare that with other inputs, and with the limits. */
int request_rows(struct request_parse *p, const char *input, uint64_t rows);
/* Count bytes of inputs that will be taken, and check the limit. */
int request_bytes(struct request_parse *p, const char *input, uint64_t bytes);
/* Refuse a request that lacks inputs of the model. */
int request_complete(struct request_parse *p);

/* Take the rows of a column from JSON, or from binary data. */
int rows_from_json(struct request_parse *p, const struct infer_column *c,
                   const struct request_tensor *t, struct infer_data *d);
int rows_from_binary(struct request_parse *p, const struct infer_column *c,
                     const struct request_tensor *t, struct infer_data *d);

/* Make space for texts of `n` bytes in all; *bytes is where they go. The first offset
 * is 0. */
int text_room(struct request_parse *p, uint64_t rows, uint64_t n, struct infer_data *d,
              uint64_t **offsets, char **bytes);
int request_no_memory(struct request_parse *p);

#endif
