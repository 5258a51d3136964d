/* chain.c - makes, extends and clears the list of a chain. chain_fit.c lets it
 * learn. */
#include "preprocess/chain.h"

#include <stdlib.h>

#define ADDRESS(id, ...) &preprocessor_##id,
static const struct preprocessor_ops *const all_ops[] = {PREPROCESSORS(ADDRESS)};

bool preprocessor_needs_fit(const struct preprocessor *p)
{
    return !p->is_fitted && p->ops->fit_size > 0 &&
           !(p->ops->is_given && p->ops->is_given(p->config));
}

bool preprocessor_is_for(const struct preprocessor *p, const struct frame *columns)
{
    return !p->ops->of_labels || frame_find(columns, p->config->columns[0]);
}

size_t chain_python_at(const struct chain *chain, size_t from)
{
    while (from < chain->n && !chain->list[from].config->python)
        from++;
    return from;
}

/* Preprocessors cannot learn from what a function in Python makes: it is not visible to
 * this process. */
static int lessons_check(const struct chain *chain, struct error *err)
{
    size_t python = chain_python_at(chain, 0);

    for (size_t i = python; i < chain->n; i++)
        if (preprocessor_needs_fit(&chain->list[i]))
            return error_set(
                err, RAYTRAIN_EINVAL,
                "preprocessor: %s comes after the function in Python \"%s\" "
                "and would have to learn from its output: put it "
                "before the batch_mapper",
                chain->list[i].ops->name, chain->list[python].config->python);
    return 0;
}

int chain_create(struct chain *chain, struct preprocessors_config *config,
                 struct error *err)
{
    *chain = (struct chain){.config = *config};
    *config = (struct preprocessors_config){NULL, 0};
    chain->list = calloc(chain->config.n + 1, sizeof *chain->list);
    if (!chain->list)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for preprocessors");
    chain->n = chain->config.n;
    for (size_t i = 0; i < chain->n; i++) {
        chain->list[i].config = &chain->config.list[i];
        chain->list[i].ops = all_ops[chain->config.list[i].kind];
    }
    return lessons_check(chain, err);
}

void chain_clear(struct chain *chain)
{
    for (size_t i = 0; i < chain->n; i++)
        fitted_clear(&chain->list[i].fitted);
    free(chain->list);
    preprocessors_clear(&chain->config);
    *chain = (struct chain){.list = NULL};
}

int chain_append(struct chain *chain, struct chain *more, struct error *err)
{
    size_t n = chain->n + more->n;
    struct preprocessor_config *configs = calloc(n + 1, sizeof *configs);
    struct preprocessor *list = calloc(n + 1, sizeof *list);

    if (!configs || !list) {
        free(configs);
        free(list);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for preprocessors");
    }
    for (size_t i = 0; i < n; i++) {
        struct chain *from = i < chain->n ? chain : more;
        size_t k = i < chain->n ? i : i - chain->n;

        configs[i] = from->config.list[k];
        list[i] = from->list[k];
        list[i].config = &configs[i];
    }
    free(chain->list);
    free(chain->config.list);
    free(more->list);
    free(more->config.list);
    *chain = (struct chain){.config = {.list = configs, .n = n},
                            .list = list,
                            .n = n,
                            .client_maps = chain->client_maps};
    *more = (struct chain){.list = NULL};
    return 0;
}

bool chain_is_fitted(const struct chain *chain)
{
    for (size_t i = 0; i < chain->n; i++)
        if (preprocessor_needs_fit(&chain->list[i]))
            return false;
    return true;
}
