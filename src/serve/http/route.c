/*
 * route.c - the table of paths, and how a path is decoded and matched. model_routes.c,
 * infer_route.c and watch_routes.c answer.
 */
#include "http/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct route routes[] = {
    {"GET", "/", true, false, answer_page},
    {"GET", "/metrics", false, false, answer_metrics},
    {"GET", "/raytrain/state", false, false, answer_state},
    {"GET", "/v2", false, false, answer_server},
    {"GET", "/v2/health/live", true, false, answer_live},
    {"GET", "/v2/health/ready", true, false, answer_ready},
    {"GET", "/v2/models/*", false, false, answer_model},
    {"GET", "/v2/models/*/ready", false, false, answer_model_ready},
    {"GET", "/v2/models/*/versions/*", false, false, answer_model},
    {"GET", "/v2/models/*/versions/*/ready", false, false, answer_model_ready},
    {"POST", "/v2/repository/index", false, false, answer_index},
    {"POST", "/v2/models/*/infer", false, true, answer_infer},
    {"POST", "/v2/models/*/versions/*/infer", false, true, answer_infer},
};

#define N (sizeof routes / sizeof *routes)

/* ---- Paths ---- */

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decode the %XX in n bytes into `out`, which has room for n + 1. False: there is a
 * NUL, or a % that is not followed by two digits. */
static bool decode(const char *text, size_t n, char *out)
{
    for (size_t i = 0; i < n; i++) {
        int high, low;

        if (text[i] != '%') {
            *out++ = text[i];
            continue;
        }
        high = n - i > 2 ? hex(text[i + 1]) : -1;
        low = high >= 0 ? hex(text[i + 2]) : -1;
        if (low < 0 || (high == 0 && low == 0))
            return false;
        *out++ = (char)(16 * high + low);
        i += 2;
    }
    *out = '\0';
    return true;
}

static void args_free(struct exchange *x)
{
    for (int i = 0; i < ROUTE_ARGS; i++) {
        free(x->args[i]);
        x->args[i] = NULL;
    }
}

/* Take the part of a path that stands for a "*". 0, 404 or 500. */
static int arg_take(struct exchange *x, int i, const char *text, size_t n)
{
    if (n == 0 || i >= ROUTE_ARGS)
        return 404;
    x->args[i] = malloc(n + 1);
    if (!x->args[i])
        return 500;
    return decode(text, n, x->args[i]) ? 0 : 404;
}

/* Does the path match? Then x->args has its arguments. 0, 404 or 500. */
static int path_match(struct exchange *x, const char *pattern, const char *path)
{
    int args = 0, status = 0;

    args_free(x);
    while (status == 0 && *pattern && *path) {
        size_t n = strcspn(path, "/");

        if (*pattern == '*') {
            status = arg_take(x, args++, path, n);
            pattern++;
            path += n;
        } else if (*pattern++ != *path++) {
            status = 404;
        }
    }
    return status ? status : *pattern || *path ? 404 : 0;
}

/* ---- Routes ---- */

static void allow(struct exchange *x, const char *method)
{
    snprintf(x->allow, sizeof x->allow, "%s, OPTIONS",
             strcmp(method, "GET") == 0 ? "GET, HEAD" : method);
}

int route_find(struct exchange *x, const char *method, const char *path)
{
    const char *as = strcmp(method, "HEAD") == 0 ? "GET" : method;

    for (size_t i = 0; i < N; i++) {
        int status = path_match(x, routes[i].path, path);

        if (status == 404)
            continue;
        if (status != 0)
            return status;
        if (strcmp(as, routes[i].method) == 0) {
            x->route = &routes[i];
            return 0;
        }
        allow(x, routes[i].method);
        return strcmp(method, "OPTIONS") == 0 ? 204 : 405;
    }
    args_free(x);
    return 404;
}
