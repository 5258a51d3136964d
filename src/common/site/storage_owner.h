/*
 * storage_owner.h - may another user rename or replace what this user keeps in a
 * directory? Its owner may, those who may write to it without a sticky bit, and, in the
 * same way, the users of the directories above it.
 */
#ifndef RAYTRAIN_SITE_STORAGE_OWNER_H
#define RAYTRAIN_SITE_STORAGE_OWNER_H

#include <jansson.h>

/*
 *   {"refused": null, or why no run is started there (run_record.h; not for root),
 *    "foreign": null, or who else may replace what is there,
 *    "shared": may the members of a group write there?}
 *
 * path is absolute. New; NULL without memory.
 */
json_t *storage_owner(const char *path);

#endif
