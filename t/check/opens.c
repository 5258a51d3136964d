/*
 * opens.c - a training function that opens checkpoints and reads them.
 *
 * train_loop_config:
 *   path: what rank 0 and all others open; empty: NULL, this run
 *   tensor ("model/w"), sum: read the tensor on each rank, whole and by slab; the sum of
 *          its elements is an error if it is another one
 *   string, text: read this string; another text is an error
 *   names: the names that the walk must find, separated by spaces
 *   iteration (0), verified (true): what the checkpoint must say
 *   reports (0): first, this many reports of score 3, 9, 1, 2 ... with a checkpoint whose
 *          model/w sums to 10 times the iteration
 *   fail: this word must be in the error of open
 *   calls: "wrong": make the calls that are refused, too
 *   restored (false): look at the checkpoint of raytrain_get_checkpoint(), then close it
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <raytrain.h>

#define CHECK(what)                                                                    \
    do {                                                                               \
        if (!(what)) {                                                                 \
            fprintf(stderr, "%s:%d: rank %d: not so: %s (%s)\n", __FILE__, __LINE__,   \
                    raytrain_rank(ctx), #what, raytrain_last_error(ctx));              \
            return 1;                                                                  \
        }                                                                              \
    } while (0)

static const char *setting(raytrain_context *ctx, const char *key, const char *fallback)
{
    const char *text = "";

    raytrain_config_string(ctx, key, fallback, &text);
    return text;
}

static int64_t number(raytrain_context *ctx, const char *key, int64_t fallback)
{
    int64_t value = -1;

    raytrain_config_int(ctx, key, fallback, &value);
    return value;
}

static bool truth(raytrain_context *ctx, const char *key, bool fallback)
{
    bool value = fallback;

    raytrain_config_bool(ctx, key, fallback, &value);
    return value;
}

/* ---- Checkpoints of this run ---- */

static int reports(raytrain_context *ctx)
{
    static const double scores[] = {3, 9, 1, 2};

    for (int64_t i = 1; i <= number(ctx, "reports", 0); i++) {
        float model[4] = {(float)(10 * i)};
        const raytrain_tensor w = {
            .data = model, .dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {4}};
        const raytrain_metric score = {"score", scores[(i - 1) % 4]};
        raytrain_checkpoint *ck = raytrain_checkpoint_create(ctx);

        CHECK(ck && raytrain_checkpoint_put(ck, "model/w", &w) == RAYTRAIN_OK);
        CHECK(raytrain_checkpoint_put_string(ck, "model/note", "own") == RAYTRAIN_OK);
        CHECK(raytrain_report(ctx, &score, 1, ck) == RAYTRAIN_OK);
    }
    return 0;
}

/* ---- Reading ---- */

static double element(const raytrain_tensor *t, size_t i)
{
    return t->dtype == RAYTRAIN_FLOAT32   ? ((const float *)t->data)[i]
           : t->dtype == RAYTRAIN_FLOAT64 ? ((const double *)t->data)[i]
           : t->dtype == RAYTRAIN_INT32   ? ((const int32_t *)t->data)[i]
                                          : ((const int8_t *)t->data)[i];
}

/* The rows that a rank reads: all in turn. */
static double rows_sum(raytrain_checkpoint *ck, const char *name, raytrain_tensor *t)
{
    raytrain_slab slab = {{0}, {0}};
    double sum = 0;

    for (int d = 0; d < t->ndim; d++)
        slab.count[d] = t->shape[d];
    slab.count[0] = 1;
    for (slab.start[0] = 0; slab.start[0] < t->shape[0]; slab.start[0]++) {
        size_t n = 1;

        if (raytrain_checkpoint_get_shard(ck, name, t, &slab) != RAYTRAIN_OK)
            return -1;
        for (int d = 1; d < t->ndim; d++)
            n *= t->shape[d];
        for (size_t i = 0; i < n; i++)
            sum += element(t, i);
    }
    return sum;
}

static int tensor_read(raytrain_context *ctx, raytrain_checkpoint *ck)
{
    const char *name = setting(ctx, "tensor", "model/w");
    double expected = (double)number(ctx, "sum", 0), sum = 0;
    raytrain_tensor t = {0};
    size_t n = 1;

    CHECK(raytrain_checkpoint_info(ck, name, &t) == RAYTRAIN_OK);
    for (int d = 0; d < t.ndim; d++)
        n *= t.shape[d];
    t.data = calloc(n + 1, raytrain_dtype_size(t.dtype));
    CHECK(t.data && raytrain_checkpoint_get(ck, name, &t) == RAYTRAIN_OK);
    for (size_t i = 0; i < n; i++)
        sum += element(&t, i);
    CHECK(sum == expected);
    CHECK(t.ndim == 0 || rows_sum(ck, name, &t) == expected);
    free(t.data);
    return 0;
}

static int string_read(raytrain_context *ctx, raytrain_checkpoint *ck)
{
    const char *name = setting(ctx, "string", "");
    char *text = NULL;

    if (!name[0])
        return 0;
    CHECK(raytrain_checkpoint_get_string(ck, name, &text) == RAYTRAIN_OK);
    CHECK(strcmp(text, setting(ctx, "text", "")) == 0);
    free(text);
    return 0;
}

static int names_walk(raytrain_context *ctx, raytrain_checkpoint *ck)
{
    const char *expected = setting(ctx, "names", ""), *name;
    char found[1000] = "";
    size_t i = 0;

    for (; (name = raytrain_checkpoint_name(ck, i)); i++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s",
                 i ? " " : "", name);
    CHECK(!raytrain_checkpoint_name(ck, i + 1));
    if (strcmp(found, expected) != 0)
        fprintf(stderr, "found \"%s\"\n", found);
    CHECK(strcmp(found, expected) == 0);
    return 0;
}

static int look(raytrain_context *ctx, raytrain_checkpoint *ck)
{
    CHECK(raytrain_checkpoint_is_verified(ck) == truth(ctx, "verified", true));
    CHECK(raytrain_checkpoint_iteration(ck) == number(ctx, "iteration", 0));
    if (tensor_read(ctx, ck) || string_read(ctx, ck) || names_walk(ctx, ck))
        return 1;
    return 0;
}

/* ---- Calls that are refused ---- */

static int wrong_calls(raytrain_context *ctx, raytrain_checkpoint *ck, const char *path)
{
    const raytrain_tensor t = {
        .data = &(float){1}, .dtype = RAYTRAIN_FLOAT32, .ndim = 0};
    raytrain_checkpoint *written = raytrain_checkpoint_create(ctx);
    const char *other = raytrain_rank(ctx) == 0 ? "a.h5" : "b.h5";
    double score;

    CHECK(!raytrain_checkpoint_open(NULL, path));
    CHECK(!raytrain_checkpoint_open(ctx, "gone.h5"));
    CHECK(strstr(raytrain_last_error(ctx), "gone.h5"));
    CHECK(!raytrain_checkpoint_open(ctx, "/"));
    CHECK(strstr(raytrain_last_error(ctx), "no complete checkpoint"));
    CHECK(!raytrain_checkpoint_open(ctx, other));
    CHECK(
        strstr(raytrain_last_error(ctx), "rank 0 called raytrain_checkpoint_open(\"a"));
    CHECK(raytrain_checkpoint_put(ck, "x", &t) == RAYTRAIN_EINVAL);
    CHECK(raytrain_report(ctx, NULL, 0, ck) == RAYTRAIN_EINVAL);
    CHECK(raytrain_checkpoint_metric(ck, "absent", &score) == RAYTRAIN_ENOTFOUND);
    CHECK(!raytrain_checkpoint_is_verified(written) &&
          !raytrain_checkpoint_is_verified(NULL) && !raytrain_checkpoint_name(NULL, 0));
    CHECK(!raytrain_checkpoint_name(written, 0));
    raytrain_checkpoint_close(written);
    CHECK(strstr(raytrain_last_error(ctx), "raytrain_checkpoint_discard"));
    CHECK(raytrain_checkpoint_put(written, "x", &t) == RAYTRAIN_OK);
    raytrain_checkpoint_discard(written);
    raytrain_checkpoint_discard(ck);
    raytrain_checkpoint_close(NULL);
    return look(ctx, ck);
}

/* ---- The two ways to a checkpoint ---- */

static int open_and_look(raytrain_context *ctx)
{
    const char *path = setting(ctx, "path", ""), *fail = setting(ctx, "fail", "");
    raytrain_checkpoint *ck, *again;

    path = path[0] ? path : NULL;
    ck = raytrain_checkpoint_open(ctx, path);
    if (fail[0]) {
        CHECK(!ck && strstr(raytrain_last_error(ctx), fail));
        return 0;
    }
    again = raytrain_checkpoint_open(ctx, path);
    CHECK(ck && again && ck != again);
    if (look(ctx, again))
        return 1;
    raytrain_checkpoint_close(again);
    if (look(ctx, ck))
        return 1;
    /* ck stays open: the session closes it. */
    return setting(ctx, "calls", "")[0] ? wrong_calls(ctx, ck, path) : 0;
}

static int restored_look(raytrain_context *ctx)
{
    raytrain_checkpoint *ck = raytrain_get_checkpoint(ctx);

    CHECK(ck && raytrain_training_iteration(ctx) == number(ctx, "iteration", 0));
    if (look(ctx, ck))
        return 1;
    raytrain_checkpoint_close(ck);
    CHECK(!raytrain_get_checkpoint(ctx));
    return reports(ctx);
}

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    if (truth(ctx, "restored", false))
        return restored_look(ctx);
    return reports(ctx) || open_and_look(ctx);
}
