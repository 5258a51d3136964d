/*
 * report_line.c - writes a report as a line of JSON: its own keys, metrics, GPUs, and
 * values by rank.
 */
#include "config.h"
#include "session/report_line.h"

#include <ifaddrs.h>
#include <math.h>
#include <net/if.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "run/metrics.h"
#include "util/report_number.h"
#include "session/report_block.h"
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
    METRICS_REPORTED,
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

/* The first IPv4 address that other hosts could reach. Queries the interfaces once,
 * since a resolver could take seconds. */
static const char *node_ip(void)
{
    static char ip[NI_MAXHOST];

    if (!ip[0] && !address_find(ip))
        strcpy(ip, "127.0.0.1");
    return ip;
}

static void always_write(const struct report_line *line, struct json_writer *w)
{
    char date[32];

    clock_iso8601(line->timestamp, date);
    json_writer_integer(w, "training_iteration", line->training_iteration);
    json_writer_real(w, "time_total_s", line->time_total_s);
    json_writer_real(w, "time_this_iter_s", line->time_this_iter_s);
    json_writer_integer(w, "timestamp", line->timestamp);
    json_writer_string(w, "date", date);
    json_writer_integer(w, "pid", getpid());
    json_writer_string(w, "hostname", line->hostname);
    json_writer_string(w, "node_ip", node_ip());
    json_writer_raw(w, "done", "false");
    json_writer_real(w, "time_since_restore", line->time_since_restore);
    json_writer_integer(w, "iterations_since_restore", line->iterations_since_restore);
    json_writer_integer(w, "attempt", line->attempt);
    json_writer_integer(w, "world_size", line->world_size);
    json_writer_string(w, "checkpoint", line->checkpoint);
}

/* A save that is still being written has no write_s. */
static void saved_write(const struct saving_figures *saved, struct json_writer *w)
{
    json_writer_integer(w, "checkpoint_bytes", (int64_t)saved->bytes);
    json_writer_real(w, "checkpoint_stall_s", saved->stall_s);
    if (!isnan(saved->write_s))
        json_writer_real(w, "checkpoint_write_s", saved->write_s);
}

static void metric_value_write(const char *name, const json_t *value,
                               struct json_writer *w)
{
    char *text =
        json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));

    if (text)
        json_writer_raw(w, name, text);
    else
        w->no_memory = true;
    free(text);
}

/* Is it a vector with infinities, which are texts? */
static bool is_infinite(const json_t *value)
{
    const json_t *element;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)value, i, element)
    {
        if (json_is_string(element))
            return true;
    }
    return false;
}

/* Write a vector with null for infinities. */
static void finite_write(const char *name, const json_t *vector, struct json_writer *w)
{
    json_t *finite = json_copy((json_t *)(uintptr_t)vector), *element;
    size_t i;

    json_array_foreach(finite, i, element)
    {
        if (json_is_string(element))
            json_array_set_new(finite, i, json_null());
    }
    metric_value_write(name, finite, w);
    json_decref(finite);
}

static void typed_write(const json_t *typed, struct json_writer *w)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)typed, name, value)
    {
        if (is_infinite(value))
            finite_write(name, value, w);
        else
            metric_value_write(name, value, w);
    }
}

/* ---- GPUs ---- */

static const char *const gpu_names[] = {
    [GPU_UTILIZATION] = "gpu_utilization",
    [GPU_MEMORY_USED] = "gpu_memory_used_bytes",
    [GPU_MEMORY_TOTAL] = "gpu_memory_total_bytes",
};

/* Do all ranks know it, and does the training function not report this name? */
static bool gpu_is_known(const struct report_line *line, int i)
{
    bool free = json_object_get(line->typed, gpu_names[i]) == NULL;

    for (size_t k = 0; k < line->n_metrics; k++)
        free = free && strcmp(line->values[k].name, gpu_names[i]) != 0;
    return free && line->gpus && line->gpus[i].min >= 0;
}

static void gpu_write(const struct report_line *line, int i, struct json_writer *w)
{
    double mean = line->gpus[i].sum / line->world_size;

    if (i == GPU_UTILIZATION)
        json_writer_real(w, gpu_names[i], mean);
    else
        json_writer_integer(w, gpu_names[i], (int64_t)mean);
}

/* Write the means over the ranks. */
static void gpus_write(const struct report_line *line, struct json_writer *w)
{
    for (int i = 0; i < REPORT_GPU_FIGURES; i++)
        if (gpu_is_known(line, i))
            gpu_write(line, i, w);
}

/* Figures that vary between ranks are written like metrics of the training function. */
static void gpus_by_rank_write(const struct report_line *line, struct json_writer *w)
{
    for (int i = 0; i < GPU_MEMORY_TOTAL; i++) {
        if (!gpu_is_known(line, i))
            continue;
        json_writer_begin(w, gpu_names[i]);
        json_writer_real(w, "rank0", line->rank0_gpus[i]);
        json_writer_real(w, "min", line->gpus[i].min);
        json_writer_real(w, "max", line->gpus[i].max);
        json_writer_end(w);
    }
}

/* ---- Ranks ---- */

/* JSON has no infinities: they are texts here, and null in the report itself. */
static void rank_number_write(struct json_writer *w, const char *key, double value)
{
    if (isinf(value))
        json_writer_string(w, key, value > 0 ? METRIC_INFINITY : "-" METRIC_INFINITY);
    else
        json_writer_real(w, key, value);
}

/* The mean is not repeated if it is the value itself. */
static void ranks_write(const struct report_line *line, size_t i, struct json_writer *w)
{
    const struct comm_stat *of_ranks = &line->stats[i];
    double mean = of_ranks->sum / line->stat_ranks;

    json_writer_begin(w, line->values[i].name);
    rank_number_write(w, "rank0", line->rank0[i].value);
    rank_number_write(w, "min", of_ranks->min);
    rank_number_write(w, "max", of_ranks->max);
    if (line->reported || isinf(mean))
        rank_number_write(w, "mean", mean);
    json_writer_end(w);
}

/* A metric that is not combined over the ranks has an object without numbers. */
static void by_rank_write(const struct report_line *line, struct json_writer *w)
{
    const char *name;
    json_t *value;

    json_writer_begin(w, "by_rank");
    for (size_t i = 0; i < line->n_metrics; i++)
        ranks_write(line, i, w);
    gpus_by_rank_write(line, w);
    json_object_foreach((json_t *)(uintptr_t)line->typed, name, value)
    {
        json_writer_begin(w, name);
        if (is_infinite(value))
            metric_value_write("rank0", value, w);
        json_writer_end(w);
    }
    json_writer_end(w);
}

void report_line_write(const struct report_line *line, struct json_writer *w)
{
    json_writer_reset(w);
    json_writer_begin(w, NULL);
    if (line->workers)
        json_writer_raw(w, METRICS_WORKERS, line->workers);
    always_write(line, w);
    if (line->saved)
        saved_write(line->saved, w);
    if (line->data_wait_s >= 0)
        json_writer_real(w, "data_wait_s", line->data_wait_s);
    gpus_write(line, w);
    for (size_t i = 0; i < line->n_metrics; i++)
        json_writer_real(w, line->values[i].name, line->values[i].value);
    typed_write(line->typed, w);
    if (line->reported)
        json_writer_raw(w, METRICS_REPORTED, line->reported);
    if (line->stats)
        by_rank_write(line, w);
    if (line->if_missing)
        json_writer_raw(w, METRICS_IF_MISSING, "true");
    json_writer_end(w);
}
