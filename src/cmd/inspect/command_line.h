/*
 * command_line.h - the command line of raytrain-inspect: what to look at, by which view,
 * and in which form.
 */
#ifndef RAYTRAIN_INSPECT_COMMAND_LINE_H
#define RAYTRAIN_INSPECT_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "inspect/views.h"
#include "util/error.h"

/* A view that an option asks for; SHOW chooses by what is at the path. */
enum request_view {
    VIEW_SHOW,
    VIEW_DIFF,
    VIEW_EXPORT,
    VIEW_LOGS,
    VIEW_FOLLOW,
    VIEW_COMPARE,
    VIEW_PLOT,
    VIEW_PAGE
};

struct request {
    enum request_view view;
    char *const *paths; /* of argv */
    size_t n_paths;
    bool verify, json, csv;
    bool follow;
    const char *rank;    /* whose log; NULL: all */
    const char *metrics; /* to plot, separated by commas; NULL: none */
    bool log, by_time;   /* how to plot */
    const char *export;  /* NULL: nothing */
    const char *output;  /* a file to write; NULL: none */
    struct inspect_options dataset;
    int status; /* exit status if nothing failed */
};

/* 1: nothing is left to do (--help, --version). RAYTRAIN_EUSAGE. *r is zeros; clear it
 * in any case. */
int request_parse(int argc, char *argv[], struct request *r, struct error *err);
void request_clear(struct request *r);

#endif
