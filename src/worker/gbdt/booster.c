/* booster.c - the table of boosters. */
#include "gbdt/booster.h"

#include <string.h>

#include "config/registry.h"

#define BOOSTER_DECLARE(name) extern const struct booster_ops booster_##name;
#define BOOSTER_ADDRESS(name) &booster_##name,

BOOSTERS(BOOSTER_DECLARE)

static const struct booster_ops *const boosters[] = {BOOSTERS(BOOSTER_ADDRESS)};

const struct booster_ops *booster_find(const char *name)
{
    for (size_t i = 0; i < sizeof boosters / sizeof boosters[0]; i++)
        if (strcmp(boosters[i]->name, name) == 0)
            return boosters[i];
    return NULL;
}
