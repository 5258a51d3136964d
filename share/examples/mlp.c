#include "mlp.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int mlp_create(struct mlp *m, const int widths[], int n_layers, int batch)
{
    int complete = 1;

    *m = (struct mlp){.batch = batch, .n_layers = n_layers};
    for (int i = n_layers - 1; i >= 0; i--) {
        struct mlp_layer *l = &m->layers[i];

        l->in = widths[i];
        l->out = widths[i + 1];
        l->weight = m->n_params;
        l->bias = l->weight + (size_t)l->in * l->out;
        m->n_params = l->bias + l->out;
        l->output = calloc((size_t)batch * l->out, sizeof(float));
        l->delta = calloc((size_t)batch * l->out, sizeof(float));
        complete = complete && l->output && l->delta;
    }
    m->input = calloc((size_t)batch * widths[0], sizeof(float));
    m->velocity = calloc(m->n_params, sizeof(float));
    complete = complete && m->input && m->velocity;
    if (!complete)
        mlp_destroy(m);
    return complete ? 0 : -1;
}

void mlp_destroy(struct mlp *m)
{
    for (int i = 0; i < m->n_layers; i++) {
        free(m->layers[i].output);
        free(m->layers[i].delta);
    }
    free(m->input);
    free(m->velocity);
    *m = (struct mlp){0};
}

void mlp_load_pixels(struct mlp *m, const uint8_t *pixels, int rows)
{
    size_t n = (size_t)rows * m->layers[0].in;
    float *restrict input = m->input;

#pragma omp simd
    for (size_t i = 0; i < n; i++)
        input[i] = ((float)pixels[i] - 72.94f) * (1 / 90.02f);
}

/* y = x W' + b */
static void layer_forward(const struct mlp *m, const struct mlp_layer *l,
                          const float *x, int rows)
{
    for (int r = 0; r < rows; r++)
        memcpy(l->output + (size_t)r * l->out, m->params + l->bias,
               l->out * sizeof(float));
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, l->out, l->in, 1, x,
                l->in, m->params + l->weight, l->in, 1, l->output, l->out);
}

static void relu(float *y, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = y[i] > 0 ? y[i] : 0;
}

void mlp_forward(struct mlp *m, int rows)
{
    const float *x = m->input;

    for (int i = 0; i < m->n_layers; i++) {
        struct mlp_layer *l = &m->layers[i];

        layer_forward(m, l, x, rows);
        if (i < m->n_layers - 1)
            relu(l->output, (size_t)rows * l->out);
        x = l->output;
    }
}

/* The probabilities, and the sum by which they were divided. */
static float softmax(const float *z, int classes, float *probability, int *best)
{
    float total = 0;

    *best = 0;
    for (int c = 1; c < classes; c++)
        *best = z[c] > z[*best] ? c : *best;
    for (int c = 0; c < classes; c++)
        total += probability[c] = expf(z[c] - z[*best]);
    for (int c = 0; c < classes; c++)
        probability[c] /= total;
    return total;
}

int mlp_softmax(const float *z, int classes, float *probability)
{
    int best;

    softmax(z, classes, probability, &best);
    return best;
}

/* delta = softmax of the logits z - one-hot row of the label */
static float row_loss(const float *z, int classes, int label, float *delta, int *best)
{
    float total = softmax(z, classes, delta, best);

    delta[label] -= 1;
    return logf(total) + z[*best] - z[label];
}

int mlp_loss(struct mlp *m, const uint8_t *labels, int rows, struct mlp_tally *sum)
{
    const struct mlp_layer *last = &m->layers[m->n_layers - 1];
    int best;

    for (int r = 0; r < rows; r++) {
        size_t row = (size_t)r * last->out;

        if (labels[r] >= last->out)
            return -1;
        sum->loss += row_loss(last->output + row, last->out, labels[r],
                              last->delta + row, &best);
        sum->correct += best == labels[r];
    }
    sum->rows += rows;
    return 0;
}

static void layer_gradient(struct mlp *m, const struct mlp_layer *l, const float *x,
                           int rows)
{
    float *weight = m->grads + l->weight, *bias = m->grads + l->bias;

    memset(bias, 0, l->out * sizeof *bias);
    for (int r = 0; r < rows; r++) {
        const float *delta = l->delta + (size_t)r * l->out;
#pragma omp simd
        for (int i = 0; i < l->out; i++)
            bias[i] += delta[i];
    }
    if (rows > 0)
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, l->out, l->in, rows, 1,
                    l->delta, l->out, x, l->in, 0, weight, l->in);
    else
        memset(weight, 0, (size_t)l->in * l->out * sizeof *weight);
}

/* The delta of the layer below l, through the weight of l and the ReLU. */
static void layer_backward(const struct mlp *m, const struct mlp_layer *l,
                           const struct mlp_layer *below, int rows)
{
    const float *restrict output = below->output;
    float *restrict delta = below->delta;

    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, l->in, l->out, 1,
                l->delta, l->out, m->params + l->weight, l->in, 0, delta, l->in);
#pragma omp simd
    for (size_t i = 0; i < (size_t)rows * l->in; i++)
        delta[i] = output[i] > 0 ? delta[i] : 0;
}

int mlp_backward(struct mlp *m, int rows, int (*ready)(void *arg, int layer), void *arg)
{
    int rc;

    for (int i = m->n_layers - 1; i >= 0; i--) {
        const struct mlp_layer *l = &m->layers[i];

        layer_gradient(m, l, i > 0 ? m->layers[i - 1].output : m->input, rows);
        if ((rc = ready(arg, i)))
            return rc;
        if (i > 0)
            layer_backward(m, l, &m->layers[i - 1], rows);
    }
    return 0;
}

void mlp_sgd_step(struct mlp *m, size_t first, size_t n, float lr, float momentum,
                  float scale)
{
    float *restrict w = m->params + first, *restrict v = m->velocity + first;
    const float *restrict g = m->grads + first;

#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        v[i] = momentum * v[i] + scale * g[i];
        w[i] -= lr * v[i];
    }
}
