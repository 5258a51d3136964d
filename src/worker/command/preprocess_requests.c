/*
 * preprocess_requests.c - preprocessors for a client, which keeps what they have
 * learned as the bytes of chain_pack(): below, a chain.
 *
 *   preprocess_fit {"config": TEXT}   TEXT has `preprocessor` as in raytrain.cfg and,
 *       if there is something to learn, one dataset of `datasets`. The data of the
 *       request may be a chain, which is applied to the dataset first. The data of the
 *       reply is the chain that has learned; "warnings" are as those of dataset_open. A
 *       preprocessor that has to learn needs a helper: in a run the workers learn
 *       together.
 *   preprocess_state {}   The data is a chain. The reply is what it has learned:
 *       {"items": [{"index", "column", "name", "type": "reals"|"integers"|"words",
 *       "shape", "values"}]}
 *   preprocess_join {"first": BYTES}   The data is two chains, the first of this size.
 *       The data of the reply is both as one chain.
 *   preprocess_rows {"state": BYTES, "columns", "rows", "places", "inverse",
 *       "from"}   The data is a chain of `state` bytes, and rows (frame_parse.h). The
 *       chain is applied beginning with preprocessor number `from` (default 0), and
 *       ending before a function in Python, whose number is "next" in the reply, or at
 *       its end. The reply has "columns", "places", and as data the words, "words"
 *       bytes of them, and the block (frame_wire.h).
 *   preprocess_stages {}   The data is a chain; without data, the chain of the run is
 *       the data of the reply. The reply is {"stages": [{"kind", "python",
 *       "batch_size", "batch_format", "pickle", "function", "library", "configured"}]},
 *       of which all but "kind" are for functions. "pickle": preprocess_pickle has it;
 *       "configured": the configuration of the run names this function.
 *   preprocess_allow {"function": NAME, "library": PATH}   Chains may call this
 *       function, which the client has read in a checkpoint.
 *   preprocess_pickle {"index": I}   The data is a chain. The data of the reply is its
 *       function in Python, pickled.
 *   preprocess_function {"index": I}   The data is a function in Python of the run,
 *       pickled: later checkpoints have it.
 *   preprocess_checkpoint {"path": PATH}   The data of the reply is the chain in a
 *       checkpoint; no data if it has none.
 */
#include "command/client_dataset.h"
#include "command/companion.h"
#include "command/frame_parse.h"
#include "command/frame_wire.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/train_config.h"
#include "data/dataset_fit.h"
#include "preprocess/chain_pack.h"
#include "preprocess/map_function.h"
#include "preprocess/transform.h"
#include "session/preprocessing.h"
#include "util/quote.h"

static int chain_reply(const struct chain *chain, struct reply *reply,
                       struct error *err)
{
    return chain_pack(chain, &reply->data, &reply->n_data, err);
}

/* ---- preprocess_fit ---- */

static int dataset_learn(struct train_config *cfg, const struct chain *before,
                         struct chain *chain, struct reply *reply, struct error *err)
{
    struct dataset_env env = {.size = 1,
                              .chain = before->n > 0 ? before : NULL,
                              .warn = client_dataset_warn,
                              .warn_arg = reply};
    struct dataset_fit job = {.chain = chain};
    struct comm *self;
    raytrain_dataset *ds;
    int rc;

    if (cfg->n_datasets != 1 || !cfg->datasets[0].path)
        return error_set(err, RAYTRAIN_EINVAL,
                         "preprocessors learn from a dataset, and none is given");
    if (client_dataset_name(&cfg->datasets[0], err) < 0 ||
        dataset_open(&cfg->datasets[0], &env, &ds, err) < 0)
        return -1;
    self = comm_self_create(err);
    rc = self ? dataset_fit(ds, self, &job, err) : -1;
    if (self)
        self->ops->free(self);
    dataset_close(ds);
    return rc;
}

static int config_learn(const struct companion *c, struct train_config *cfg,
                        const struct request *q, struct chain *before,
                        struct chain *chain, struct reply *reply, struct error *err)
{
    if (cfg->n_datasets == 1)
        cfg->datasets[0].shuffle = false;
    if (q->n_data > 0 && chain_unpack(before, q->data, q->n_data, err) < 0)
        return -1;
    if (chain_create(chain, &cfg->preprocessors, err) < 0)
        return -1;
    if (chain_is_fitted(chain))
        return 0;
    if (!c->without_run)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "fit() in a worker: the workers of a run learn together; give "
                         "the preprocessor to the trainer");
    return dataset_learn(cfg, before, chain, reply, err);
}

static int handle_preprocess_fit(struct companion *c, const struct request *q,
                                 struct reply *reply, struct error *err)
{
    struct chain chain = {.n = 0}, before = {.n = 0};
    struct train_config cfg;
    const char *text;
    int rc;

    if (request_string(q, "config", &text, err) < 0)
        return -1;
    train_config_init(&cfg);
    rc = train_config_merge_text(&cfg, text, "the preprocessor", err);
    if (rc == 0)
        rc = config_learn(c, &cfg, q, &before, &chain, reply, err);
    if (rc == 0)
        rc = chain_reply(&chain, reply, err);
    chain_clear(&chain);
    chain_clear(&before);
    train_config_clear(&cfg);
    return rc;
}

/* ---- preprocess_state ---- */

static json_t *real_json(double value)
{
    if (isnan(value))
        return json_string("nan");
    if (isinf(value))
        return json_string(value > 0 ? "inf" : "-inf");
    return json_real(value);
}

static json_t *item_value_json(const struct fitted_item *item, size_t i)
{
    const char *word;
    size_t n;

    switch (item->type) {
    case FITTED_REALS:
        return real_json(item->reals[i]);
    case FITTED_INTEGERS:
        return json_integer(item->integers[i]);
    case FITTED_WORDS:
    case FITTED_BYTES:
        break;
    }
    word = dictionary_word(item->words, i, &n);
    return json_text(word);
}

static json_t *item_json(const struct fitted_item *item, size_t index)
{
    static const char *const types[] = {[FITTED_REALS] = "reals",
                                        [FITTED_INTEGERS] = "integers",
                                        [FITTED_WORDS] = "words"};
    json_t *values = json_array(), *shape = json_array();
    size_t n = item->type == FITTED_WORDS ? dictionary_count(item->words) : item->n;

    for (size_t i = 0; values && i < n; i++)
        json_array_append_new(values, item_value_json(item, i));
    for (int d = 0; shape && d < item->ndim; d++)
        json_array_append_new(shape, json_integer((json_int_t)item->shape[d]));
    return json_pack("{s:I, s:s, s:s, s:s, s:o, s:o}", "index", (json_int_t)index,
                     "column", item->column, "name", item->name, "type",
                     types[item->type], "shape", shape, "values", values);
}

static int handle_preprocess_state(struct companion *c, const struct request *q,
                                   struct reply *reply, struct error *err)
{
    struct chain chain = {.n = 0};
    json_t *items = json_array();

    (void)c;
    if (chain_unpack(&chain, q->data, q->n_data, err) < 0) {
        chain_clear(&chain);
        json_decref(items);
        return -1;
    }
    for (size_t i = 0; items && i < chain.n; i++)
        for (size_t k = 0; k < chain.list[i].fitted.n; k++)
            if (chain.list[i].fitted.items[k].type != FITTED_BYTES)
                json_array_append_new(items,
                                      item_json(&chain.list[i].fitted.items[k], i));
    chain_clear(&chain);
    return reply_set(reply, "items", items, err);
}

/* ---- preprocess_join ---- */

static int handle_preprocess_join(struct companion *c, const struct request *q,
                                  struct reply *reply, struct error *err)
{
    const unsigned char *data = q->data;
    struct chain a = {.n = 0}, b = {.n = 0};
    int64_t first;
    int rc;

    (void)c;
    if (request_integer(q, "first", &first, err) < 0)
        return -1;
    if (first < 0 || (uint64_t)first > q->n_data)
        return error_set(err, RAYTRAIN_EINVAL, "there are not two chains");
    rc = chain_unpack(&a, data, (size_t)first, err);
    if (rc == 0)
        rc = chain_unpack(&b, data + first, q->n_data - (size_t)first, err);
    if (rc == 0)
        rc = chain_append(&a, &b, err);
    if (rc == 0)
        rc = chain_reply(&a, reply, err);
    chain_clear(&a);
    chain_clear(&b);
    return rc;
}

/* ---- preprocess_rows ---- */

/* The data of the reply are the words, then the block. */
static int frame_reply(const struct frame *f, struct reply *reply, struct error *err)
{
    struct frame_place *places = calloc(f->n_columns + 1, sizeof *places);
    struct wire_bytes words = {0};
    json_t *columns = NULL;
    unsigned char *data = NULL;
    size_t bytes;
    int rc =
        places ? frame_columns_json(f, &columns, &words, err) : error_no_memory(err);

    if (rc == 0)
        rc = reply_set(reply, "columns", columns, err);
    if (rc == 0)
        rc = frame_places(f, f->rows, places, &bytes, err);
    if (rc == 0 && !(data = realloc(words.data, words.n + bytes + 1)))
        rc = error_set(err, RAYTRAIN_ENOMEM, "no memory for a batch");
    if (rc == 0) {
        frame_copy(f, f->rows, places, data + words.n);
        reply->data = data;
        reply->n_data = words.n + bytes;
        words.data = NULL;
        rc = reply_set(reply, "words", json_integer((json_int_t)words.n), err);
    }
    if (rc == 0)
        rc = reply_set(reply, "places", frame_places_json(places, f->n_columns), err);
    free(words.data);
    free(places);
    return rc;
}

/* Apply [from, end), skipping label encoders whose column is missing. */
static int forward_create(const struct chain *chain, size_t from, size_t end,
                          const struct frame *f, struct transform **t,
                          struct error *err)
{
    bool *use = calloc(chain->n + 1, sizeof *use);
    int rc = use ? 0 : error_no_memory(err);

    for (size_t i = from; rc == 0 && i < end; i++)
        use[i] = preprocessor_is_for(&chain->list[i], f);
    if (rc == 0)
        rc = transform_create(chain, f, use, t, err);
    free(use);
    return rc;
}

static int rows_transform(const struct chain *chain, const struct request *q,
                          struct frame *f, struct reply *reply, struct error *err)
{
    json_int_t from = json_integer_value(json_object_get(q->args, "from"));
    size_t end = chain_python_at(chain, from > 0 ? (size_t)from : 0);
    struct transform *t;
    int rc = request_flag(q, "inverse")
                 ? transform_create_inverse(chain, f, &t, err)
                 : forward_create(chain, from > 0 ? (size_t)from : 0, end, f, &t, err);

    if (rc < 0)
        return -1;
    rc = reply_set(reply, "next", json_integer((json_int_t)end), err);
    if (rc == 0)
        rc = transform_apply(t, f, err);
    if (rc == 0)
        rc = frame_reply(f, reply, err);
    transform_destroy(t);
    return rc;
}

static int handle_preprocess_rows(struct companion *c, const struct request *q,
                                  struct reply *reply, struct error *err)
{
    const unsigned char *data = q->data;
    struct parsed_frame f = {.words = NULL};
    struct chain chain = {.n = 0};
    int64_t n, n_rows;
    int rc;

    (void)c;
    if (request_integer(q, "state", &n, err) < 0 ||
        request_integer(q, "rows", &n_rows, err) < 0)
        return -1;
    if (n < 0 || (uint64_t)n > q->n_data || n_rows < 0)
        return error_set(err, RAYTRAIN_EINVAL, "there are no rows");
    rc = chain_unpack(&chain, data, (size_t)n, err);
    if (rc == 0)
        rc =
            frame_parse(json_object_get(q->args, "columns"),
                        json_object_get(q->args, "places"), (uint64_t)n_rows,
                        &(struct wire_block){data + n, q->n_data - (size_t)n}, &f, err);
    if (rc == 0)
        rc = rows_transform(&chain, q, &f.frame, reply, err);
    parsed_frame_clear(&f);
    chain_clear(&chain);
    return rc;
}

/* ---- Functions ---- */

#define PICKLE "pickle"

static const struct fitted_item *pickle_of(const struct preprocessor *p)
{
    const struct fitted_item *item = fitted_find(&p->fitted, p->config->python, PICKLE);

    return item && item->type == FITTED_BYTES ? item : NULL;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_configured(const struct companion *c,
                          const struct preprocessor_config *cfg)
{
    const struct preprocessors_config *now = &c->ctx->env.config->preprocessors;

    for (size_t i = 0; i < now->n; i++)
        if (now->list[i].kind == cfg->kind &&
            same_text(now->list[i].function, cfg->function) &&
            same_text(now->list[i].library, cfg->library) &&
            same_text(now->list[i].python, cfg->python))
            return true;
    return false;
}

static json_t *stage_json(const struct companion *c, const struct preprocessor *p)
{
    const struct preprocessor_config *cfg = p->config;

    if (!cfg->python)
        return json_pack("{s:s, s:s*, s:s*, s:b}", "kind", p->ops->name, "function",
                         cfg->function, "library", cfg->library, "configured",
                         is_configured(c, cfg));
    return json_pack("{s:s, s:s, s:i, s:s?, s:b, s:b}", "kind", p->ops->name, "python",
                     cfg->python, "batch_size", cfg->batch_size, "batch_format",
                     cfg->batch_format, "pickle", pickle_of(p) != NULL, "configured",
                     is_configured(c, cfg));
}

static int handle_preprocess_stages(struct companion *c, const struct request *q,
                                    struct reply *reply, struct error *err)
{
    struct chain given = {.n = 0}, *chain = &given;
    json_t *list = json_array();
    int rc = 0;

    if (q->n_data > 0)
        rc = chain_unpack(&given, q->data, q->n_data, err);
    else
        chain = &c->ctx->chain;
    for (size_t i = 0; rc == 0 && i < chain->n; i++)
        json_array_append_new(list, stage_json(c, &chain->list[i]));
    if (rc == 0 && q->n_data == 0)
        rc = chain_reply(chain, reply, err);
    chain_clear(&given);
    if (rc < 0) {
        json_decref(list);
        return -1;
    }
    return reply_set(reply, "stages", list, err);
}

static int handle_preprocess_allow(struct companion *c, const struct request *q,
                                   struct reply *reply, struct error *err)
{
    const char *function, *library;

    (void)c;
    (void)reply;
    if (request_string(q, "function", &function, err) < 0 ||
        request_string(q, "library", &library, err) < 0)
        return -1;
    return map_function_allow(library, function, MAP_OF_CHECKPOINT, err);
}

/* The function in Python with the number "index" in the chain. */
static struct preprocessor *python_find(const struct request *q, struct chain *chain,
                                        struct error *err)
{
    int64_t index;

    if (request_integer(q, "index", &index, err) < 0)
        return NULL;
    if (index >= 0 && (uint64_t)index < chain->n && chain->list[index].config->python)
        return &chain->list[index];
    error_set(err, RAYTRAIN_ENOTFOUND,
              "preprocessor %lld of the run is not a function in Python",
              (long long)index);
    return NULL;
}

static int handle_preprocess_pickle(struct companion *c, const struct request *q,
                                    struct reply *reply, struct error *err)
{
    struct chain chain = {.n = 0};
    const struct fitted_item *item = NULL;
    const struct preprocessor *p;
    int rc = chain_unpack(&chain, q->data, q->n_data, err);

    (void)c;
    p = rc == 0 ? python_find(q, &chain, err) : NULL;
    if (p && !(item = pickle_of(p)))
        error_set(err, RAYTRAIN_ENOTFOUND, "the checkpoint has no function \"%s\"",
                  p->config->python);
    rc = item ? 0 : -1;
    if (rc == 0 && !(reply->data = malloc(item->n + 1)))
        rc = error_no_memory(err);
    if (rc == 0) {
        memcpy(reply->data, item->bytes, item->n);
        reply->n_data = item->n;
    }
    chain_clear(&chain);
    return rc;
}

static int handle_preprocess_function(struct companion *c, const struct request *q,
                                      struct reply *reply, struct error *err)
{
    const uint64_t size = q->n_data;
    struct preprocessor *p = python_find(q, &c->ctx->chain, err);
    struct fitted_item *item;

    (void)reply;
    if (!p)
        return -1;
    fitted_clear(&p->fitted);
    item =
        fitted_add(&p->fitted, p->config->python, PICKLE, FITTED_BYTES, 1, &size, err);
    if (!item)
        return -1;
    if (q->n_data > 0)
        memcpy(item->bytes, q->data, q->n_data);
    return 0;
}

/* ---- preprocess_checkpoint ---- */

static int handle_preprocess_checkpoint(struct companion *c, const struct request *q,
                                        struct reply *reply, struct error *err)
{
    struct comm *self = comm_self_create(err);
    struct chain chain = {.n = 0};
    raytrain_checkpoint *ck = NULL;
    const char *path;
    int rc = self ? request_string(q, "path", &path, err) : -1;

    (void)c;
    if (rc == 0)
        rc = checkpoint_open_index(path, &ck, err);
    if (rc == 0)
        rc = preprocessing_load(self, ck, &chain, err);
    if (rc == 0 && chain.n > 0)
        rc = chain_reply(&chain, reply, err);
    chain_clear(&chain);
    checkpoint_destroy(ck);
    if (self)
        self->ops->free(self);
    return rc;
}

static const struct request_row preprocess_request_rows[] = {
    {"preprocess_fit", handle_preprocess_fit},
    {"preprocess_state", handle_preprocess_state},
    {"preprocess_join", handle_preprocess_join},
    {"preprocess_rows", handle_preprocess_rows},
    {"preprocess_stages", handle_preprocess_stages},
    {"preprocess_allow", handle_preprocess_allow},
    {"preprocess_pickle", handle_preprocess_pickle},
    {"preprocess_function", handle_preprocess_function},
    {"preprocess_checkpoint", handle_preprocess_checkpoint},
    {NULL, NULL},
};

const struct request_family preprocess_requests = {
    .rows = preprocess_request_rows,
};
