/* preprocessor_text.c - preprocessors as the text of a setting, and back. */
#include <stdlib.h>
#include <string.h>

#include "config/config_file.h"
#include "config/preprocessor_config.h"

char *preprocessors_text(const struct preprocessors_config *cfg)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    bool bad;

    if (!out)
        return NULL;
    preprocessors_render(cfg, PREPROCESSORS_KEY, out, 0);
    bad = ferror(out) != 0;
    if (fclose(out) == 0 && !bad)
        return text;
    free(text);
    return NULL;
}

int preprocessors_parse(struct preprocessors_config *cfg, const char *text,
                        const char *source, struct error *err)
{
    struct config_where root = {.source = source, .err = err};
    struct config_where here = config_where_below(&root, PREPROCESSORS_KEY);
    struct config_node parsed;
    int rc = 0;

    if (config_file_parse(text, source, &parsed, err) < 0)
        return -1;
    if (parsed.n_items > 1 ||
        (parsed.n_items == 1 && strcmp(parsed.items[0].name, PREPROCESSORS_KEY) != 0))
        rc = error_set(err, RAYTRAIN_EINVAL, "%s has other settings", source);
    else if (parsed.n_items == 1)
        rc = preprocessors_set(cfg, &parsed.items[0], &here);
    else
        preprocessors_clear(cfg);
    config_node_clear(&parsed);
    return rc;
}

int preprocessors_copy(const struct preprocessors_config *from,
                       struct preprocessors_config *to, struct error *err)
{
    char *text = preprocessors_text(from);
    int rc = text ? preprocessors_parse(to, text, "the preprocessors", err)
                  : error_no_memory(err);

    free(text);
    return rc;
}
