/*
 * mlp.h - a multi-layer perceptron: ReLU, softmax cross entropy, SGD with momentum. It
 * computes with the kernels of mlp_kernels.h, on the CPU or on a GPU, where all its
 * memory is then. It is independent of raytrain; fashion_mlp.c makes it parallel.
 */
#ifndef MLP_H
#define MLP_H

#include <stddef.h>
#include <stdint.h>

#define MLP_MAX_LAYERS 16

struct mlp_layer {
    int in, out;
    size_t weight,
        bias;      /* offsets of [out][in] and [out] in each block of the network */
    float *output; /* [batch][out], after the ReLU in hidden layers */
    float *delta;  /* the same shape: gradient of the loss by the output */
};

struct mlp {
    int batch; /* capacity of the buffers, in rows */
    int device; /* where its memory is; -1: on the host */
    int n_layers;
    struct mlp_layer layers[MLP_MAX_LAYERS];
    float *input; /* [batch][layers[0].in] */
    /* Blocks of n_params, the last layer first: the order in which backward completes them.
     */
    size_t n_params;
    float *velocity;
    float *params, *grads; /* the caller's memory, before the first mlp_forward() */
    double *tally;         /* loss and correct of the pass */
    double rows;           /* of the pass */
};

/* Totals of a pass over the data. */
struct mlp_tally {
    double loss, correct, rows;
};
#define MLP_TALLY_DOUBLES 3 /* it can be reduced as an array */

/* widths[0] inputs, widths[n_layers] classes. Initially all zeros. -1 without memory. */
int mlp_create(struct mlp *m, const int widths[], int n_layers, int batch);
void mlp_destroy(struct mlp *m);

/* Scale pixels, which are host memory, to inputs. */
void mlp_load_pixels(struct mlp *m, const uint8_t *pixels, int rows);
void mlp_forward(struct mlp *m, int rows);
/* The probabilities of the classes of each row, and the best class, to host memory. */
void mlp_classify(const struct mlp *m, int rows, float *probability, uint8_t *best);
/* Add the batch to the pass and prepare backward. -1 if a label is not a class. */
int mlp_loss(struct mlp *m, const uint8_t *labels, int rows);
/* The totals of the pass; another one begins. */
struct mlp_tally mlp_pass_end(struct mlp *m);
/*
 * Gradients of the batch's summed loss. ready(arg, layer) is called as soon as a
 * layer's gradients are complete, the last layer first; a return value other than 0 ends
 * the pass and is returned.
 */
int mlp_backward(struct mlp *m, int rows, int (*ready)(void *arg, int layer),
                 void *arg);
/* velocity = momentum * velocity + grads / *rows; params -= lr * velocity; for n
 * parameters, from number `first` on. rows is where the network is. */
void mlp_sgd_step(struct mlp *m, size_t first, size_t n, float lr, float momentum,
                  const float *rows);

#endif
