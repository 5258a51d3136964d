#include "config.h"
#include "session/report_line.h"

#include <ifaddrs.h>
#include <math.h>
#include <net/if.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/clock.h"

static const char *const reserved[] = {
    "training_iteration",
    "time_total_s",
    "time_this_iter_s",
    "data_wait_s",
    "timestamp",
    "date",
    "pid",
    "hostname",
    "node_ip",
    "done",
    "time_since_restore",
    "iterations_since_restore",
    "attempt",
    "world_size",
    "checkpoint",
    "checkpoint_bytes",
    "checkpoint_stall_s",
    "checkpoint_write_s",
    "by_rank",
};

bool report_line_reserves(const char *name)
{
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        if (strcmp(name, reserved[i]) == 0)
            return true;
    }
    return false;
}

static bool address_find(char out[NI_MAXHOST])
{
    struct ifaddrs *all, *i;

    if (getifaddrs(&all) < 0)
        return false;
    for (i = all; i; i = i->ifa_next) {
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET &&
            (i->ifa_flags & IFF_UP) && !(i->ifa_flags & IFF_LOOPBACK) &&
            getnameinfo(i->ifa_addr, sizeof(struct sockaddr_in), out, NI_MAXHOST, NULL,
                        0, NI_NUMERICHOST) == 0)
            break;
    }
    freeifaddrs(all);
    return i != NULL;
}

/* The first IPv4 address that other hosts could reach. Queries the interfaces, once; a
 * resolver could take seconds. */
static const char *node_ip(void)
{
    static char ip[NI_MAXHOST];

    if (!ip[0] && !address_find(ip))
        strcpy(ip, "127.0.0.1");
    return ip;
}

/* JSON has no NaN and no infinity. */
static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* What is not combined over the ranks has an empty object. */
static json_t *by_rank(const struct report_line *line)
{
    json_t *all = json_object(), *ignored;
    const char *name;

    for (size_t i = 0; all && i < line->n_metrics; i++) {
        json_t *one =
            json_pack("{s:o, s:o, s:o}", "rank0", number(line->rank0[i].value), "min",
                      number(line->stats[i].min), "max", number(line->stats[i].max));

        if (json_object_set_new(all, line->means[i].name, one) < 0) {
            json_decref(all);
            return NULL;
        }
    }
    json_object_foreach((json_t *)line->typed, name, ignored)
    {
        if (json_object_set_new(all, name, json_object()) < 0) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

static json_t *always(const struct report_line *line)
{
    char date[32];

    clock_iso8601(line->timestamp, date);
    return json_pack(
        "{s:I, s:f, s:f, s:I, s:s, s:i, s:s, s:s, s:b, s:f, s:I, s:i, s:i, "
        "s:s?}",
        "training_iteration", (json_int_t)line->training_iteration, "time_total_s",
        line->time_total_s, "time_this_iter_s", line->time_this_iter_s, "timestamp",
        (json_int_t)line->timestamp, "date", date, "pid", (int)getpid(), "hostname",
        line->hostname, "node_ip", node_ip(), "done", 0, "time_since_restore",
        line->time_since_restore, "iterations_since_restore",
        (json_int_t)line->iterations_since_restore, "attempt", line->attempt,
        "world_size", line->world_size, "checkpoint", line->checkpoint);
}

/* A save that is still being written has no write_s. */
static int saved_add(json_t *json, const struct saving_figures *saved)
{
    json_t *write_s = isnan(saved->write_s) ? NULL : json_real(saved->write_s);
    json_t *all =
        json_pack("{s:I, s:f, s:o*}", "checkpoint_bytes", (json_int_t)saved->bytes,
                  "checkpoint_stall_s", saved->stall_s, "checkpoint_write_s", write_s);
    int rc = all ? json_object_update(json, all) : -1;

    json_decref(all);
    return rc;
}

json_t *report_line_json(const struct report_line *line)
{
    json_t *json = always(line);

    if (json && line->saved && saved_add(json, line->saved) < 0) {
        json_decref(json);
        return NULL;
    }
    if (json && line->data_wait_s >= 0 &&
        json_object_set_new(json, "data_wait_s", json_real(line->data_wait_s)) < 0) {
        json_decref(json);
        return NULL;
    }
    for (size_t i = 0; json && i < line->n_metrics; i++) {
        if (json_object_set_new(json, line->means[i].name,
                                number(line->means[i].value)) < 0) {
            json_decref(json);
            return NULL;
        }
    }
    if (json && line->typed && json_object_update(json, (json_t *)line->typed) < 0) {
        json_decref(json);
        return NULL;
    }
    if (json && line->stats &&
        json_object_set_new(json, "by_rank", by_rank(line)) < 0) {
        json_decref(json);
        return NULL;
    }
    return json;
}
