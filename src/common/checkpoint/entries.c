/*
 * entries.c - the list of tensors of a checkpoint: their names, types, and the memory that
 * they hold.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint_impl.h"
#include "util/quote.h"
#include "util/suggest.h"
#include "util/tensor.h"

uint64_t entry_dtype_size(uint32_t dtype)
{
    return dtype == DTYPE_STRING ? 1 : raytrain_dtype_size((raytrain_dtype)dtype);
}

const char *entry_dtype_name(uint32_t dtype)
{
    return dtype == DTYPE_STRING ? "string"
                                 : raytrain_dtype_name((raytrain_dtype)dtype);
}

bool entry_has_slab(const struct tensor_entry *e)
{
    return e->sharded && e->writer < 0;
}

uint64_t chunks_of(uint64_t bytes, uint64_t chunk_bytes)
{
    return bytes / chunk_bytes + (bytes % chunk_bytes != 0);
}

int share_of(uint64_t done, uint64_t total, int size)
{
    long double share = (long double)done / (long double)(total ? total : 1);
    int rank = (int)(share * size);

    return rank < size ? rank : size - 1;
}

void memory_release(const struct memory *m)
{
    if (m->release)
        m->release(m->data, m->arg);
}

/* ---- Names ---- */

/* What is wrong with a component of a name; NULL: nothing. */
static const char *component_fault(const char *part, size_t length)
{
    if (length == 0)
        return "has an empty component; names look like \"model/fc1/weight\"";
    if (length > RAYTRAIN_NAME_MAX)
        return "has a component of more than 255 bytes";
    if (part[0] == '.' && (length == 1 || (length == 2 && part[1] == '.')))
        return "has a component that is \".\" or \"..\"";
    for (size_t i = 0; i < length;) {
        int n = printable_length(part + i);

        if (n == 0)
            return "holds bytes that are not printable UTF-8";
        i += (size_t)n;
    }
    return NULL;
}

bool name_is_below(const char *name, const char *group)
{
    size_t n = strlen(group);

    return strncmp(name, group, n) == 0 && (name[n] == '/' || name[n] == '\0');
}

int entry_check_name(const char *name, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    const char *fault = NULL;

    if (!name)
        return error_set(err, RAYTRAIN_EINVAL, "a tensor's name is NULL");
    if (strlen(name) > TENSOR_NAME_MAX)
        fault = "is longer than 1023 bytes";
    for (const char *part = name; !fault; part += strcspn(part, "/") + 1) {
        fault = component_fault(part, strcspn(part, "/"));
        if (part[strcspn(part, "/")] == '\0')
            break;
    }
    if (!fault && name_is_below(name, CHECKPOINT_RESERVED) &&
        !name_is_below(name, CHECKPOINT_RESERVED "/session"))
        fault = "is reserved: \"raytrain\" is the library's own part of a checkpoint";
    if (fault)
        return error_set(err, RAYTRAIN_EINVAL, "the tensor name %s %s",
                         quote(name, quoted), fault);
    return 0;
}

int checkpoint_check_name(const char *name, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    if (entry_check_name(name, err) < 0)
        return -1;
    if (name_is_below(name, CHECKPOINT_RESERVED))
        return error_set(err, RAYTRAIN_EINVAL,
                         "the tensor name %s is reserved: \"" CHECKPOINT_RESERVED
                         "\" is the library's own part of a checkpoint",
                         quote(name, quoted));
    return 0;
}

/* ---- Entries ---- */

static int entries_grow(raytrain_checkpoint *ck)
{
    size_t room = ck->room ? 2 * ck->room : 16;
    struct tensor_entry *tensors;

    if (ck->n_tensors < ck->room)
        return 0;
    tensors = realloc(ck->tensors, room * sizeof *tensors);
    if (!tensors)
        return -1;
    ck->tensors = tensors;
    ck->room = room;
    return 0;
}

static int clash_error(const char *name, size_t clash, struct error *err)
{
    if (clash == strlen(name))
        return error_set(err, RAYTRAIN_EINVAL,
                         "'%s' is in this checkpoint already, as a tensor or as the "
                         "start of other names",
                         name);
    return error_set(err, RAYTRAIN_EINVAL,
                     "'%s' cannot be put: '%.*s' is a tensor, and cannot hold others",
                     name, (int)clash, name);
}

struct tensor_entry *entry_add(raytrain_checkpoint *ck, char *name, struct error *err)
{
    size_t clash;
    int rc;

    if (!name) {
        error_no_memory(err);
        return NULL;
    }
    if (entry_check_name(name, err) < 0) {
        free(name);
        return NULL;
    }
    rc = entries_grow(ck);
    if (rc == 0)
        rc = name_map_add(&ck->names, name, (int64_t)ck->n_tensors, &clash);
    if (rc != 0) {
        if (rc > 0)
            clash_error(name, clash, err);
        else
            error_no_memory(err);
        /* Without memory the map may hold groups that point into this name: empty it.
         * Such a checkpoint can only be destroyed. */
        if (rc < 0)
            name_map_clear(&ck->names);
        free(name);
        return NULL;
    }
    ck->tensors[ck->n_tensors] = (struct tensor_entry){.name = name, .writer = -1};
    return &ck->tensors[ck->n_tensors++];
}

struct tensor_entry *entry_find(raytrain_checkpoint *ck, const char *name,
                                struct error *err)
{
    int64_t i = name ? name_map_find(&ck->names, name, strlen(name)) : NAME_MAP_NONE;
    char quoted[QUOTE_TEXT_MAX];
    const char *near = NULL;
    size_t distance, best = SIZE_MAX;

    if (i >= 0)
        return &ck->tensors[i];
    if (!name) {
        error_set(err, RAYTRAIN_EINVAL, "a tensor's name is NULL");
        return NULL;
    }
    for (size_t k = 0; k < ck->n_tensors; k++) {
        distance = suggest_distance(name, ck->tensors[k].name);
        if (distance < best) {
            best = distance;
            near = ck->tensors[k].name;
        }
    }
    if (near && !suggest_is_near(name, best))
        near = NULL;
    error_set(err, RAYTRAIN_ENOTFOUND, "%s: there is %s %s%s%s%s",
              ck->path ? ck->path : "this checkpoint",
              i == NAME_MAP_GROUP ? "only a group" : "no tensor", quote(name, quoted),
              near ? " (is it '" : "", near ? near : "", near ? "'?)" : "");
    return NULL;
}
