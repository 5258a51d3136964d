/*
 * npy_header.h - parses the header of NumPy's .npy format, versions 1 to 3: the type
 * and shape of the numbers that follow it. Nothing in it is evaluated.
 */
#ifndef RAYTRAIN_TABLE_NPY_HEADER_H
#define RAYTRAIN_TABLE_NPY_HEADER_H

#include "table/table.h"

/* A field of the records of a structured array. An array of numbers has one field
 * without a name. */
struct npy_field {
    char name[RAYTRAIN_NAME_MAX + 1];
    raytrain_tensor row; /* in each row of the array; dtype 0: it is not supported */
    const char *why;     /* then: "holds complex numbers" */
    bool swapped;        /* the byte order is not this machine's */
    uint64_t offset;     /* in the row */
};

struct npy_header {
    uint64_t bytes;  /* of the header: the rows follow */
    uint64_t rows;   /* the first dimension of the array */
    uint64_t stride; /* bytes of a row */
    bool fortran;    /* the first index varies fastest (fortran_order.h) */
    struct npy_field *fields;
    size_t n_fields;
};

bool npy_probe(const unsigned char *head, size_t n);

/*
 * Reads the header of the array in `size` bytes of a source, from `at` on; `what` names
 * it in messages. RAYTRAIN_ECORRUPT if it is damaged, or if the rows that it claims do
 * not have exactly the size of what follows; RAYTRAIN_ENOTSUP if they are not rows of
 * numbers. On failure *h is empty.
 */
int npy_header_read(const struct source *s, uint64_t at, uint64_t size,
                    const char *what, struct npy_header *h, struct error *err);
void npy_header_clear(struct npy_header *h);

#endif
