/* document.h - an HTML page from its first to its last line, around its contents. */
#ifndef RAYTRAIN_PAGE_DOCUMENT_H
#define RAYTRAIN_PAGE_DOCUMENT_H

#include <stdio.h>

#include "util/error.h"

struct document {
    /* title of the window */
    void (*title)(FILE *out, const void *arg);
    /* what is inside <main> */
    int (*body)(FILE *out, const void *arg, struct error *err);
    const void *arg;
};

/* Write it to a file, which gets its name when it is complete; an existing one is
 * replaced. The page needs no other file and no network. RAYTRAIN_ESTORAGE if it cannot
 * be written. */
int document_write(const char *file, const struct document *d, struct error *err);

#endif
