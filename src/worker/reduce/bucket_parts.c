/*
 * bucket_parts.c - cuts a bucket at the rows of its tensors that are nearest to equal
 * parts.
 */
#include "reduce/bucket_parts.h"

#include "reduce/gradients.h"

size_t bucket_parts_row(const raytrain_tensor *t)
{
    size_t n = 1;

    for (int i = 1; i < t->ndim; i++)
        n *= (size_t)t->shape[i];
    return n;
}

/* The boundary of a row that is nearest to the element. */
static size_t row_near(const struct parted_bucket *b, size_t element)
{
    for (size_t i = 0; i < b->n; i++) {
        size_t row = bucket_parts_row(&b->tensors[i]), in = element - b->offsets[i];

        if (element >= b->offsets[i] && in < gradient_elements(&b->tensors[i]))
            return b->offsets[i] + (in + row / 2) / row * row;
    }
    return b->elements;
}

void bucket_parts_cut(const struct parted_bucket *b, int size, size_t cuts[])
{
    size_t ranks = (size_t)size, whole = b->elements / ranks,
           rest = b->elements % ranks;

    cuts[0] = 0;
    cuts[ranks] = b->elements;
    for (size_t k = 1; k < ranks; k++)
        cuts[k] = row_near(b, whole * k + rest * k / ranks);
}

size_t bucket_parts_cut_in(const struct parted_bucket *b, const size_t cuts[], int k,
                           size_t i)
{
    size_t n = gradient_elements(&b->tensors[i]);

    if (cuts[k] <= b->offsets[i])
        return 0;
    return cuts[k] - b->offsets[i] < n ? cuts[k] - b->offsets[i] : n;
}
