/*
 * zip_members.h - finds the members of a ZIP archive, also of one larger than 4 GiB,
 * and inflates deflated members.
 */
#ifndef RAYTRAIN_TABLE_ZIP_MEMBERS_H
#define RAYTRAIN_TABLE_ZIP_MEMBERS_H

#include "table/table.h"

struct zip_member {
    char name[RAYTRAIN_NAME_MAX + 1];
    uint64_t packed; /* bytes in the archive */
    uint64_t bytes;  /* of its content */
    uint32_t crc;
    unsigned method; /* 0: stored, 8: deflated */
    bool encrypted;
    uint64_t header; /* where its header is */
};

struct zip_members {
    struct zip_member *all;
    size_t n;
};

/* Lists all members that are not directories. RAYTRAIN_ECORRUPT. On failure *out is
 * empty. */
int zip_list(const struct source *s, struct zip_members *out, struct error *err);
void zip_clear(struct zip_members *members);

/*
 * Finds where the m->packed bytes of a member begin; they are within the file.
 * RAYTRAIN_ECORRUPT for a size that no deflated bytes can expand to, RAYTRAIN_ENOTSUP
 * for other methods.
 */
int zip_locate(const struct source *s, const struct zip_member *m, uint64_t *offset,
               struct error *err);
/* Inflates a deflated member from there into out[0..m->bytes), and verifies its
 * checksum. */
int zip_expand(const struct source *s, const struct zip_member *m, uint64_t offset,
               unsigned char *out, struct error *err);

#endif
