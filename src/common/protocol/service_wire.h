/*
 * service_wire.h - what a service and its workers say to each other: messages over a
 * Unix stream socket. The front, which clients talk to, listens; its path is the workers'
 * key predict.service. Both are on one node.
 *
 *   HELLO   from a worker, once, first: what it predicts, a JSON object
 *   BATCH   from the front: rows of the inputs
 *   RESULT  the answer: rows of the outputs
 *   FAILED  the other answer: a sentence. Its `rows` is the raytrain_status; with
 *           RAYTRAIN_EINVAL and RAYTRAIN_ETYPE the rows are at fault
 *
 * An answer has the id of its batch, and answers come in the order of the batches. The
 * front closes the connection to end its worker.
 *
 *   {"protocol": 1, "version": N, "checkpoint": PATH, "pid": N, "batch": N,
 *    "inputs": [{"name": NAME, "kind": "numbers", "dtype": DTYPE, "shape": [...]},
 *               {"name": NAME, "kind": "text"}, ...], "outputs": [...],
 *    "missing": [TEXT, ...]}
 *
 * The payload of BATCH and RESULT has the columns in the order of HELLO, each at the next
 * multiple of SERVICE_ALIGN, with zeros in between. Numbers: the rows, dense. Text: rows +
 * 1 offsets (uint64_t, from 0 on), then the bytes; row i has those from offset i to i + 1.
 * All numbers have the byte order of the machine.
 *
 * Nothing that arrives is believed before it is checked.
 */
#ifndef RAYTRAIN_PROTOCOL_SERVICE_WIRE_H
#define RAYTRAIN_PROTOCOL_SERVICE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

#define SERVICE_MAGIC    0x31565352u /* "RSV1" */
#define SERVICE_PROTOCOL 1
#define SERVICE_ALIGN    64
#define SERVICE_TEXT_MAX ((uint64_t)1 << 20) /* bytes of HELLO and of FAILED */
#define SERVICE_MAX      ((uint64_t)1 << 32) /* of the others, unless a reader has less */
#define SERVICE_COLUMNS  4096                /* inputs, and outputs, at most */

enum service_kind { SERVICE_HELLO = 1, SERVICE_BATCH, SERVICE_RESULT, SERVICE_FAILED };

struct service_header {
    uint32_t magic, kind;
    uint64_t id, rows, bytes; /* of the payload, which follows */
};

/* ---- Columns ---- */

enum service_column_kind { SERVICE_NUMBERS, SERVICE_TEXT };

struct service_column {
    char name[RAYTRAIN_NAME_MAX + 1];
    enum service_column_kind kind;
    raytrain_tensor row; /* of numbers: dtype and shape of a row; its data is NULL */
};

/* Rows of a column in a payload. */
struct service_rows {
    const unsigned char *data;
    const uint64_t *offsets; /* text; NULL: numbers */
};

/* Bytes of a row of numbers; 0 if there can be no such row. */
uint64_t service_row_bytes(const struct service_column *c);
/*
 * Where the columns of `rows` rows are in a payload, and its size. text_sizes[i]: the
 * bytes of all texts of column i, which is not read for numbers; NULL: there is no text.
 * RAYTRAIN_EFIT if the payload would be larger than SERVICE_MAX.
 */
int service_layout(const struct service_column columns[], size_t n, uint64_t rows,
                   const uint64_t text_sizes[], uint64_t places[], uint64_t *bytes,
                   struct error *err);
/* The columns of a payload that has arrived, which is aligned to SERVICE_ALIGN.
 * RAYTRAIN_ECORRUPT if it cannot have this number of rows of them. */
int service_find(const struct service_column columns[], size_t n, uint64_t rows,
                 const unsigned char *payload, uint64_t bytes,
                 struct service_rows found[], struct error *err);

/* ---- HELLO ---- */

struct service_hello {
    int64_t version;  /* training_iteration of the checkpoint */
    char *checkpoint; /* malloc'ed; NULL: it is not known */
    int64_t pid;
    uint64_t batch; /* rows that the predictor likes best; 0: any number */
    struct service_column *inputs, *outputs; /* malloc'ed */
    size_t n_inputs, n_outputs;
    /* Texts that mean a missing value, malloc'ed like the list; none: the usual ones. */
    char **missing;
    size_t n_missing;
};

/* The payload: malloc'ed, of *n bytes and a NUL. */
int service_hello_write(const struct service_hello *hello, char **text, size_t *n,
                        struct error *err);
/* RAYTRAIN_ECORRUPT if it is not a HELLO, RAYTRAIN_ENOTSUP if it is of another
 * protocol; then there is nothing to clear. */
int service_hello_read(const void *text, size_t n, struct service_hello *hello,
                       struct error *err);
void service_hello_clear(struct service_hello *hello); /* zeroed is fine */

/* ---- Messages: the socket may block or not ---- */

enum service_progress {
    SERVICE_LATER,  /* a socket that does not block takes, or has, no more now */
    SERVICE_DONE,   /* a whole message */
    SERVICE_CLOSED, /* the other end has closed the connection between two messages */
};

struct service_reader {
    struct service_header header; /* of the message that is complete */
    unsigned char
        *payload;   /* of it, aligned to SERVICE_ALIGN. It may be NULL without bytes */
    uint64_t limit; /* of the bytes of a payload */
    /* The reader's. */
    size_t header_n, payload_n, room;
    bool complete;
};

void service_reader_init(struct service_reader *r, uint64_t limit);
void service_reader_clear(struct service_reader *r);
/*
 * Continue to read: an enum service_progress, or -1. The message is the caller's until
 * the next call. Memory is taken as bytes arrive, not as the header claims, and kept
 * for the next message. RAYTRAIN_ECORRUPT: what arrived is not a message, and the
 * connection is useless; RAYTRAIN_ECOMM: the other end is gone, maybe in the middle of
 * a message.
 */
int service_read(struct service_reader *r, int socket, struct error *err);
/* The payload of the complete message, which the caller frees. */
unsigned char *service_reader_take(struct service_reader *r);

struct service_writer {
    struct service_header header;
    const void *payload;
    uint64_t sent; /* bytes of both */
};

/* Begin a message; the payload stays the caller's, and as it is until it is sent. */
void service_writer_begin(struct service_writer *w, enum service_kind kind, uint64_t id,
                          uint64_t rows, const void *payload, uint64_t bytes);
/* Continue to write: SERVICE_DONE once all is sent, SERVICE_LATER, or -1 with
 * RAYTRAIN_ECOMM: the other end is gone. */
int service_write(struct service_writer *w, int socket, struct error *err);

#endif
