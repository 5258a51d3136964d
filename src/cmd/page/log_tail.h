/*
 * log_tail.h - the end of a log, for people: without colours, and with overwritten
 * lines as a terminal would show them.
 */
#ifndef RAYTRAIN_PAGE_LOG_TAIL_H
#define RAYTRAIN_PAGE_LOG_TAIL_H

#include "util/error.h"

/* The last lines of a file, at most `lines`; *text is malloc'ed, and NULL if the file
 * does not exist, is empty, or cannot be read: the page is then written without it. */
int log_tail(const char *path, int lines, char **text, struct error *err);

#endif
