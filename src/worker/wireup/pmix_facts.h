/* pmix_facts.h - which PMIx client this process has, and what its server has set. */
#ifndef RAYTRAIN_WIREUP_PMIX_FACTS_H
#define RAYTRAIN_WIREUP_PMIX_FACTS_H

#include <jansson.h>

/*
 *   {"client": "4.2.2", "built": "4.2.2", "server": the version that the server has set, or
 *    null, "security": modules for psec that it offers, or null, "gds": the same}
 *
 * A new reference; NULL without memory.
 */
json_t *pmix_facts(void);

#endif
