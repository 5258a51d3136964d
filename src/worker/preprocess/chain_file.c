/*
 * chain_file.c - writes what preprocessors have learned to HDF5, under readable names,
 * and reads it. chain_pack.c turns such a file into bytes.
 */
#include "preprocess/chain_file.h"

#include <stdlib.h>
#include <string.h>

#define PATH_ROOM  1200
#define LARGEST    ((uint64_t)4 << 30) /* bytes of one item */
#define ESCAPE_MAX (3 * RAYTRAIN_NAME_MAX + 1)

/* ---- Names of columns as names of groups ---- */

static void name_escape(const char *name, char out[ESCAPE_MAX])
{
    bool dot = !strcmp(name, ".");

    for (; *name; name++) {
        if (*name == '/' || *name == '%' || dot)
            out += sprintf(out, "%%%02X", (unsigned)(unsigned char)*name);
        else
            *out++ = *name;
    }
    *out = '\0';
}

static void name_unescape(const char *name, size_t n, char out[RAYTRAIN_NAME_MAX + 1])
{
    size_t used = 0;
    unsigned byte;

    for (size_t i = 0; i < n && used < RAYTRAIN_NAME_MAX; i++) {
        if (name[i] == '%' && i + 2 < n && sscanf(name + i + 1, "%2x", &byte) == 1) {
            out[used++] = (char)byte;
            i += 2;
        } else {
            out[used++] = name[i];
        }
    }
    out[used] = '\0';
}

/* ---- Writing ---- */

static int configuration_save(const struct chain *chain, hid_t file, const char *group,
                              struct error *err)
{
    char path[PATH_ROOM], *text = preprocessors_text(&chain->config);
    hid_t type;
    int rc;

    if (!text)
        return error_no_memory(err);
    snprintf(path, sizeof path, "%s/configuration", group);
    type = h5_string_type(strlen(text) + 1);
    rc = type < 0 ? -1 : h5_dataset(file, path, type, 0, NULL, text, NULL);
    if (type >= 0)
        H5Tclose(type);
    free(text);
    return rc < 0 ? h5_error(err, "write the preprocessors' configuration") : 0;
}

/* Save words as strings of equal size, padded with zeros. */
static int words_save(const struct dictionary *words, hid_t file, const char *path,
                      struct error *err)
{
    size_t count = dictionary_count(words), longest = 0, n;
    hsize_t shape = count;
    hid_t type;
    char *all;
    int rc;

    for (size_t i = 0; i < count; i++) {
        dictionary_word(words, i, &n);
        longest = n > longest ? n : longest;
    }
    if ((uint64_t)count * (longest + 1) > LARGEST)
        return error_set(err, RAYTRAIN_EFIT,
                         "%zu categories of up to %zu bytes are too large", count,
                         longest);
    all = calloc(count + 1, longest + 1);
    if (!all)
        return error_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const char *word = dictionary_word(words, i, &n);

        memcpy(all + i * (longest + 1), word, n);
    }
    type = h5_string_type(longest + 1);
    rc = type < 0 ? -1 : h5_dataset(file, path, type, 1, &shape, all, NULL);
    if (type >= 0)
        H5Tclose(type);
    free(all);
    return rc < 0 ? h5_error(err, "write categories") : 0;
}

static int item_save(const struct fitted_item *item, hid_t file, const char *path,
                     struct error *err)
{
    hsize_t shape[RAYTRAIN_MAX_DIMS];
    hid_t type = item->type == FITTED_REALS   ? H5T_IEEE_F64LE
                 : item->type == FITTED_BYTES ? H5T_STD_U8LE
                                              : H5T_STD_I64LE;
    const void *data = item->type == FITTED_REALS   ? (const void *)item->reals
                       : item->type == FITTED_BYTES ? (const void *)item->bytes
                                                    : item->integers;

    if (item->type == FITTED_WORDS)
        return words_save(item->words, file, path, err);
    for (int i = 0; i < item->ndim; i++)
        shape[i] = item->shape[i];
    if (h5_dataset(file, path, type, item->ndim, shape, data, NULL) < 0)
        return h5_error(err, "write what a preprocessor has learned");
    return 0;
}

static int all_save(const struct chain *chain, hid_t file, const char *group,
                    struct error *err)
{
    char path[PATH_ROOM], column[ESCAPE_MAX];

    if (configuration_save(chain, file, group, err) < 0)
        return -1;
    for (size_t i = 0; i < chain->n; i++) {
        const struct fitted *fitted = &chain->list[i].fitted;

        for (size_t k = 0; k < fitted->n; k++) {
            name_escape(fitted->items[k].column, column);
            snprintf(path, sizeof path, "%s/%zu/%s/%s/%s", group, i,
                     chain->list[i].ops->name, column, fitted->items[k].name);
            if (item_save(&fitted->items[k], file, path, err) < 0)
                return -1;
        }
    }
    return 0;
}

int chain_save(const struct chain *chain, hid_t file, const char *group,
               struct error *err)
{
    struct h5_quiet quiet;
    int rc;

    if (!chain_is_fitted(chain))
        return error_set(err, RAYTRAIN_EINVAL, "the preprocessors are not fitted");
    h5_quiet_begin(&quiet);
    rc = all_save(chain, file, group, err);
    h5_quiet_end(&quiet);
    return rc;
}

/* ---- Reading ---- */

/* The content of an HDF5 dataset. */
struct loaded {
    hid_t set, space, type;
    int ndim;
    hsize_t shape[RAYTRAIN_MAX_DIMS];
    uint64_t n; /* elements */
    size_t size;
};

static void loaded_close(struct loaded *l)
{
    if (l->type >= 0)
        H5Tclose(l->type);
    if (l->space >= 0)
        H5Sclose(l->space);
    if (l->set >= 0)
        H5Dclose(l->set);
}

static int loaded_open(struct loaded *l, hid_t at, const char *name, struct error *err)
{
    *l = (struct loaded){
        .set = H5Dopen2(at, name, H5P_DEFAULT), .space = -1, .type = -1};
    if (l->set >= 0) {
        l->space = H5Dget_space(l->set);
        l->type = H5Dget_type(l->set);
    }
    if (l->space < 0 || l->type < 0) {
        h5_error(err, "read what a preprocessor has learned");
        loaded_close(l);
        return -1;
    }
    l->ndim = H5Sget_simple_extent_ndims(l->space);
    if (l->ndim < 0 || l->ndim > RAYTRAIN_MAX_DIMS) {
        loaded_close(l);
        return error_set(err, RAYTRAIN_ECORRUPT, "%s has too many dimensions", name);
    }
    H5Sget_simple_extent_dims(l->space, l->shape, NULL);
    l->n = (uint64_t)H5Sget_simple_extent_npoints(l->space);
    l->size = H5Tget_size(l->type);
    if (l->size > 0 && l->n <= LARGEST / l->size)
        return 0;
    loaded_close(l);
    return error_set(err, RAYTRAIN_ECORRUPT, "%s is too large", name);
}

static int read_into(const struct loaded *l, hid_t type, void *to, struct error *err)
{
    if (l->n > 0 && H5Dread(l->set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) < 0)
        return h5_error(err, "read what a preprocessor has learned");
    return 0;
}

static int words_read(const struct loaded *l, struct dictionary *words,
                      struct error *err)
{
    char *all = malloc((size_t)l->n * l->size + 1);
    int rc = all ? read_into(l, l->type, all, err) : error_no_memory(err);
    int32_t code;

    for (size_t i = 0; rc == 0 && i < l->n; i++) {
        const char *word = all + i * l->size;

        rc = dictionary_add(words, word, strnlen(word, l->size), &code, err);
        if (rc == 0 && (size_t)code != i)
            rc = error_set(err, RAYTRAIN_ECORRUPT, "a category occurs twice");
    }
    free(all);
    return rc;
}

static int item_read(struct fitted *fitted, const char *column, const char *name,
                     const struct loaded *l, struct error *err)
{
    H5T_class_t class = H5Tget_class(l->type);
    enum fitted_type type = class == H5T_STRING  ? FITTED_WORDS
                            : class == H5T_FLOAT ? FITTED_REALS
                            : l->size == 1       ? FITTED_BYTES
                                                 : FITTED_INTEGERS;
    uint64_t shape[RAYTRAIN_MAX_DIMS];
    struct fitted_item *item;

    if ((class != H5T_STRING && class != H5T_INTEGER && class != H5T_FLOAT) ||
        (class == H5T_STRING && (l->ndim != 1 || H5Tis_variable_str(l->type) != 0)))
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "%s of column \"%s\" has an unknown type", name, column);
    for (int i = 0; i < l->ndim; i++)
        shape[i] = l->shape[i];
    item = fitted_add(fitted, column, name, type, l->ndim, shape, err);
    if (!item)
        return -1;
    if (type == FITTED_WORDS)
        return words_read(l, item->words, err);
    if (type == FITTED_BYTES)
        return read_into(l, H5T_NATIVE_UINT8, item->bytes, err);
    return type == FITTED_REALS ? read_into(l, H5T_NATIVE_DOUBLE, item->reals, err)
                                : read_into(l, H5T_NATIVE_INT64, item->integers, err);
}

struct visit {
    struct fitted *fitted;
    struct error *err;
};

/* Load the item "COLUMN/NAME" in the group of a preprocessor. */
static int visit_item(void *arg, hid_t group, const char *path, bool is_dataset)
{
    struct visit *v = arg;
    const char *slash = strchr(path, '/');
    char column[RAYTRAIN_NAME_MAX + 1];
    struct loaded l;
    int rc;

    if (!is_dataset)
        return 0;
    if (!slash || strchr(slash + 1, '/') || strlen(slash + 1) > FITTED_NAME_MAX)
        return error_set(v->err, RAYTRAIN_ECORRUPT,
                         "\"%s\" is not something that a preprocessor learns", path);
    name_unescape(path, (size_t)(slash - path), column);
    if (loaded_open(&l, group, path, v->err) < 0)
        return -1;
    rc = item_read(v->fitted, column, slash + 1, &l, v->err);
    loaded_close(&l);
    return rc;
}

static int fitted_load(struct preprocessor *p, hid_t file, const char *path,
                       struct error *err)
{
    struct visit v = {&p->fitted, err};
    hid_t group;
    int rc;

    /* A function in Python is in the file, or is found by its name. */
    if (p->config->python ? H5Lexists(file, path, H5P_DEFAULT) <= 0
                          : !preprocessor_needs_fit(p))
        return 0;
    group = H5Gopen2(file, path, H5P_DEFAULT);
    if (group < 0)
        return h5_error(err, "open the group of a preprocessor");
    if (err)
        err->text[0] = '\0';
    rc = h5_visit(group, visit_item, &v);
    if (rc < 0 && err && !err->text[0])
        h5_error(err, "read what a preprocessor has learned");
    H5Gclose(group);
    p->is_fitted = rc == 0;
    return rc;
}

static int configuration_load(hid_t file, const char *group,
                              struct preprocessors_config *config, struct error *err)
{
    char path[PATH_ROOM], *text;
    struct loaded l;
    int rc;

    snprintf(path, sizeof path, "%s/configuration", group);
    if (loaded_open(&l, file, path, err) < 0)
        return -1;
    text = calloc(1, l.size + 1);
    if (!text)
        rc = error_no_memory(err);
    else if (H5Tget_class(l.type) != H5T_STRING || l.n != 1 ||
             H5Tis_variable_str(l.type) != 0)
        rc = error_set(err, RAYTRAIN_ECORRUPT, "%s is not a string", path);
    else
        rc = read_into(&l, l.type, text, err);
    loaded_close(&l);
    if (rc == 0)
        rc = preprocessors_parse(config, text, path, err);
    free(text);
    return rc;
}

static int all_load(struct chain *chain, hid_t file, const char *group,
                    struct error *err)
{
    struct preprocessors_config config = {NULL, 0};
    char path[PATH_ROOM];
    int rc = configuration_load(file, group, &config, err);

    if (rc == 0)
        rc = chain_create(chain, &config, err);
    for (size_t i = 0; rc == 0 && i < chain->n; i++) {
        snprintf(path, sizeof path, "%s/%zu/%s", group, i, chain->list[i].ops->name);
        rc = fitted_load(&chain->list[i], file, path, err);
    }
    preprocessors_clear(&config);
    return rc;
}

int chain_load(struct chain *chain, hid_t file, const char *group, struct error *err)
{
    struct h5_quiet quiet;
    int rc;

    *chain = (struct chain){.list = NULL};
    h5_quiet_begin(&quiet);
    rc = all_load(chain, file, group, err);
    h5_quiet_end(&quiet);
    return rc;
}
