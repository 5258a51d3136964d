/* client_dataset.c - the name and the warnings of a dataset that a client opens. */
#include "command/client_dataset.h"

#include <stdlib.h>
#include <string.h>

#include "util/quote.h"

/* Lost if there is no memory. */
void client_dataset_warn(void *arg, const char *text)
{
    const struct reply *reply = arg;
    json_t *list = json_object_get(reply->json, "warnings");

    if (!list) {
        list = json_array();
        if (json_object_set_new(reply->json, "warnings", list) < 0)
            return;
    }
    json_array_append_new(list, json_text(text));
}

int client_dataset_name(struct dataset_config *cfg, struct error *err)
{
    const char *slash = strrchr(cfg->path, '/');
    char *name = strdup(slash && slash[1] ? slash + 1 : cfg->path);

    if (!name)
        return error_no_memory(err);
    free(cfg->name);
    cfg->name = name;
    return 0;
}
