/*
 * checkpoint_diff.c - compare two checkpoints, tensor by tensor.
 *
 * Tensors are the same if all their bits are. If not, their elements are compared as
 * numbers: two NaNs are equal, and so are the two zeros. The library's own tensors are
 * skipped. Both files are verified first.
 */
#include "config.h"

#include "inspect/element_value.h"
#include "inspect/output.h"
#include "inspect/views.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "util/quote.h"

#define BLOCK_BYTES (1u << 20)

/* ---- Elements ---- */

/* The difference of two tensors. */
struct distance {
    uint64_t elements, differing; /* values, not bits */
    uint64_t one_nan;             /* of these: exactly one of the two is NaN */
    bool bits_differ;
    long double absolute, relative; /* maximum over pairs of numbers */
};

static void element_compare(struct distance *d, long double a, long double b)
{
    long double apart, largest;

    if (a == b || (isnan(a) && isnan(b)))
        return;
    d->differing++;
    if (isnan(a) || isnan(b)) {
        d->one_nan++;
        return;
    }
    apart = fabsl(a - b);
    largest = fmaxl(fabsl(a), fabsl(b));
    d->absolute = fmaxl(d->absolute, apart);
    d->relative = fmaxl(d->relative, isinf(largest) ? INFINITY : apart / largest);
}

static void block_compare(struct distance *d, raytrain_dtype dtype,
                          const unsigned char *a, const unsigned char *b, size_t n)
{
    size_t size = raytrain_dtype_size(dtype);

    if (memcmp(a, b, n) == 0)
        return;
    d->bits_differ = true;
    for (size_t at = 0; at < n; at += size)
        if (memcmp(a + at, b + at, size) != 0)
            element_compare(d, element_value(dtype, a + at),
                            element_value(dtype, b + at));
}

/* ---- Tensors ---- */

struct pair {
    raytrain_checkpoint *a, *b;
    unsigned char *block_a, *block_b;
};

static int items_compare(const struct pair *p, const struct checkpoint_item *item,
                         size_t i, size_t j, struct distance *d, struct error *err)
{
    *d = (struct distance){.elements = item->bytes / raytrain_dtype_size(item->dtype)};
    for (uint64_t at = 0; at < item->bytes;) {
        uint64_t left = item->bytes - at;
        size_t n = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;

        if (checkpoint_item_read(p->a, i, at, p->block_a, n, err) < 0 ||
            checkpoint_item_read(p->b, j, at, p->block_b, n, err) < 0)
            return -1;
        block_compare(d, item->dtype, p->block_a, p->block_b, n);
        at += n;
    }
    return 0;
}

static bool types_are_alike(const struct checkpoint_item *a,
                            const struct checkpoint_item *b)
{
    return a->is_string == b->is_string && a->dtype == b->dtype;
}

static bool shapes_are_alike(const struct checkpoint_item *a,
                             const struct checkpoint_item *b)
{
    bool alike = a->ndim == b->ndim;

    for (int d = 0; alike && d < a->ndim; d++)
        alike = a->shape[d] == b->shape[d];
    return alike;
}

static json_t *diff_number_json(long double value)
{
    return isfinite((double)value) ? json_real((double)value) : json_null();
}

/* "float32 [4, 3]", "string" */
static json_t *kind_json(const struct checkpoint_item *item)
{
    char text[256];
    int n =
        snprintf(text, sizeof text, "%s%s", item->type, item->is_string ? "" : " [");

    for (int d = 0; !item->is_string && d < item->ndim; d++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%llu", d ? ", " : "",
                      (unsigned long long)item->shape[d]);
    if (!item->is_string)
        snprintf(text + n, sizeof text - (size_t)n, "]");
    return json_string(text);
}

static json_t *distance_json(const struct checkpoint_item *item,
                             const struct distance *d)
{
    json_t *out = json_pack("{s:s, s:s, s:s}", "name", item->name, "status",
                            d->differing ? "values" : "bits", "dtype", item->type);

    if (!out || item->is_string)
        return out;
    json_object_set_new(out, "elements", json_integer((json_int_t)d->elements));
    json_object_set_new(out, "differing", json_integer((json_int_t)d->differing));
    if (item->dtype == RAYTRAIN_BYTES)
        return out;
    json_object_set_new(out, "one_nan", json_integer((json_int_t)d->one_nan));
    json_object_set_new(out, "max_absolute", diff_number_json(d->absolute));
    json_object_set_new(out, "max_relative", diff_number_json(d->relative));
    return out;
}

/* Describe the difference of a tensor of A; *out is NULL if it is the same in B. */
static int item_diff(const struct pair *p, size_t i, const struct checkpoint_item *a,
                     json_t **out, struct error *err)
{
    struct checkpoint_item b;
    struct distance d = {0};
    size_t j;

    *out = NULL;
    if (!checkpoint_item_find(p->b, a->name, &j)) {
        *out = json_pack("{s:s, s:s}", "name", a->name, "status", "only_a");
        return 0;
    }
    checkpoint_item(p->b, j, &b);
    if (!types_are_alike(a, &b) || (!a->is_string && !shapes_are_alike(a, &b))) {
        *out = json_pack("{s:s, s:s, s:o, s:o}", "name", a->name, "status",
                         types_are_alike(a, &b) ? "shape" : "dtype", "a", kind_json(a),
                         "b", kind_json(&b));
        return 0;
    }
    if (!shapes_are_alike(a, &b)) /* strings of different lengths */
        d = (struct distance){.bits_differ = true, .differing = 1};
    else if (items_compare(p, a, i, j, &d, err) < 0)
        return -1;
    if (d.bits_differ)
        *out = distance_json(a, &d);
    return 0;
}

/* ---- Checkpoints ---- */

/* In the order of A, then those that only B has. */
static int pair_diff(const struct pair *p, json_t *differences, json_int_t *compared,
                     struct error *err)
{
    struct checkpoint_item item;
    json_t *one;
    size_t other;

    for (size_t i = 0; checkpoint_item(p->a, i, &item); i++) {
        if (item.is_internal)
            continue;
        if (item_diff(p, i, &item, &one, err) < 0)
            return -1;
        if (one)
            json_array_append_new(differences, one);
        ++*compared;
    }
    for (size_t i = 0; checkpoint_item(p->b, i, &item); i++) {
        if (item.is_internal || checkpoint_item_find(p->a, item.name, &other))
            continue;
        json_array_append_new(differences, json_pack("{s:s, s:s}", "name", item.name,
                                                     "status", "only_b"));
        ++*compared;
    }
    return 0;
}

json_t *inspect_diff(const char *a, const char *b, struct error *err)
{
    struct pair p = {.block_a = malloc(BLOCK_BYTES), .block_b = malloc(BLOCK_BYTES)};
    json_t *differences = json_array(), *out = NULL;
    json_int_t compared = 0;
    int rc = 0;

    if (!p.block_a || !p.block_b || !differences)
        rc = error_no_memory(err);
    if (rc == 0 && inspect_open(a, &p.a, err) == 0 && inspect_open(b, &p.b, err) == 0 &&
        pair_diff(&p, differences, &compared, err) == 0) {
        out = json_pack("{s:s, s:o, s:o, s:b, s:I, s:O}", "kind", "diff", "a",
                        json_text(a), "b", json_text(b), "same",
                        json_array_size(differences) == 0, "tensors", compared,
                        "differences", differences);
        if (!out)
            error_no_memory(err);
    }
    json_decref(differences);
    checkpoint_destroy(p.a);
    checkpoint_destroy(p.b);
    free(p.block_a);
    free(p.block_b);
    return out;
}

/* ---- The text ---- */

static void largest_print(FILE *out, const json_t *d, const char *key, const char *what)
{
    const json_t *value = json_object_get(d, key);

    if (json_is_number(value))
        fprintf(out, ", %s %.6g", what, json_number_value(value));
    else
        fprintf(out, ", %s inf", what);
}

static void values_print(FILE *out, const json_t *d)
{
    if (!json_object_get(d, "elements")) {
        fprintf(out, "another string");
        return;
    }
    fprintf(out, "%lld of %lld elements differ", integer_of(d, "differing"),
            integer_of(d, "elements"));
    if (integer_of(d, "one_nan") > 0)
        fprintf(out, ", %lld of them NaN in only one", integer_of(d, "one_nan"));
    if (!json_object_get(d, "max_absolute"))
        return;
    largest_print(out, d, "max_absolute", "at most by");
    largest_print(out, d, "max_relative", "relative");
}

static void difference_print(FILE *out, const json_t *d)
{
    const char *status = string_of(d, "status");

    output_text(out, string_of(d, "name"));
    fprintf(out, ": ");
    if (strcmp(status, "only_a") == 0)
        fprintf(out, "only in the first");
    else if (strcmp(status, "only_b") == 0)
        fprintf(out, "only in the second");
    else if (strcmp(status, "values") == 0)
        values_print(out, d);
    else if (strcmp(status, "bits") == 0)
        fprintf(out, "equal, but not the same bits (zeros or NaNs)");
    else
        fprintf(out, "%s and %s", string_of(d, "a"), string_of(d, "b"));
    fputc('\n', out);
}

void inspect_diff_print(FILE *out, const json_t *diff)
{
    json_t *differences = json_object_get(diff, "differences"), *d;
    long long compared = integer_of(diff, "tensors");
    size_t i, n = json_array_size(differences);

    json_array_foreach(differences, i, d) difference_print(out, d);
    if (n == 0)
        fprintf(out, "%lld tensor%s, all the same\n", compared,
                compared == 1 ? "" : "s");
    else
        fprintf(out, "%zu of %lld tensor%s not the same\n", n, compared,
                compared == 1 ? "" : "s");
}
