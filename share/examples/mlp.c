#include "mlp.h"

#include "mlp_kernels.h"

int mlp_create(struct mlp *m, const int widths[], int n_layers, int batch)
{
    int complete = 1;

    *m = (struct mlp){.batch = batch, .device = kernels_device(), .n_layers = n_layers};
    for (int i = n_layers - 1; i >= 0; i--) {
        struct mlp_layer *l = &m->layers[i];

        l->in = widths[i];
        l->out = widths[i + 1];
        l->weight = m->n_params;
        l->bias = l->weight + (size_t)l->in * l->out;
        m->n_params = l->bias + l->out;
        l->output = kernels_alloc((size_t)batch * l->out * sizeof(float));
        l->delta = kernels_alloc((size_t)batch * l->out * sizeof(float));
        complete = complete && l->output && l->delta;
    }
    m->input = kernels_alloc((size_t)batch * widths[0] * sizeof(float));
    m->velocity = kernels_alloc(m->n_params * sizeof(float));
    m->tally = kernels_alloc(2 * sizeof(double));
    complete = complete && m->input && m->velocity && m->tally;
    if (!complete)
        mlp_destroy(m);
    return complete ? 0 : -1;
}

void mlp_destroy(struct mlp *m)
{
    for (int i = 0; i < m->n_layers; i++) {
        kernels_free(m->layers[i].output);
        kernels_free(m->layers[i].delta);
    }
    kernels_free(m->input);
    kernels_free(m->velocity);
    kernels_free(m->tally);
    *m = (struct mlp){0};
}

void mlp_load_pixels(struct mlp *m, const uint8_t *pixels, int rows)
{
    kernels_pixels(pixels, (size_t)rows * m->layers[0].in, m->input);
}

void mlp_forward(struct mlp *m, int rows)
{
    const float *x = m->input;

    for (int i = 0; i < m->n_layers; i++) {
        struct mlp_layer *l = &m->layers[i];

        kernels_layer(x, m->params + l->weight, m->params + l->bias, rows, l->in,
                      l->out, i < m->n_layers - 1, l->output);
        x = l->output;
    }
}

void mlp_classify(const struct mlp *m, int rows, float *probability, uint8_t *best)
{
    const struct mlp_layer *last = &m->layers[m->n_layers - 1];

    kernels_softmax(last->output, rows, last->out, probability, best);
}

int mlp_loss(struct mlp *m, const uint8_t *labels, int rows)
{
    const struct mlp_layer *last = &m->layers[m->n_layers - 1];

    for (int r = 0; r < rows; r++)
        if (labels[r] >= last->out)
            return -1;
    kernels_loss(last->output, labels, rows, last->out, last->delta, m->tally);
    m->rows += rows;
    return 0;
}

struct mlp_tally mlp_pass_end(struct mlp *m)
{
    struct mlp_tally sum = {.rows = m->rows};
    double totals[2];

    kernels_read(totals, m->tally, sizeof totals);
    kernels_zero(m->tally, sizeof totals);
    m->rows = 0;
    sum.loss = totals[0];
    sum.correct = totals[1];
    return sum;
}

int mlp_backward(struct mlp *m, int rows, int (*ready)(void *arg, int layer), void *arg)
{
    int rc;

    for (int i = m->n_layers - 1; i >= 0; i--) {
        const struct mlp_layer *l = &m->layers[i], *below = i > 0 ? l - 1 : NULL;

        kernels_gradient(l->delta, below ? below->output : m->input, rows, l->in,
                         l->out, m->grads + l->weight, m->grads + l->bias);
        if ((rc = ready(arg, i)))
            return rc;
        if (below)
            kernels_delta(l->delta, m->params + l->weight, below->output, rows, l->in,
                          l->out, below->delta);
    }
    return 0;
}

void mlp_sgd_step(struct mlp *m, size_t first, size_t n, float lr, float momentum,
                  const float *rows)
{
    kernels_sgd(m->params + first, m->velocity + first, m->grads + first, n, lr,
                momentum, rows);
}
