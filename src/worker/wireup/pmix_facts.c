/* pmix_facts.c - which release of PMIx this process uses, for --check. */
#include "wireup/pmix_facts.h"

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/quote.h"

static json_t *variable(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? json_text(value) : json_null();
}

/* The number in "OpenPMIx 4.2.2 (PMIx Standard: ...)"; the text if there is none. */
static json_t *number_in(const char *text)
{
    static const char digits[] = "0123456789";
    const char *at = text + strcspn(text, digits);

    return *at ? json_sprintf("%.*s", (int)strspn(at, "0123456789.abrc"), at)
               : json_text(text);
}

json_t *pmix_facts(void)
{
    json_t *facts = json_object();

    if (!facts)
        return NULL;
    json_object_set_new(facts, "client", number_in(PMIx_Get_version()));
    json_object_set_new(facts, "built",
                        json_sprintf("%ld.%ld.%ld", PMIX_VERSION_MAJOR,
                                     PMIX_VERSION_MINOR, PMIX_VERSION_RELEASE));
    json_object_set_new(facts, "server", variable("PMIX_VERSION"));
    json_object_set_new(facts, "security", variable("PMIX_SECURITY_MODE"));
    json_object_set_new(facts, "gds", variable("PMIX_GDS_MODULE"));
    return facts;
}
