/* preemption_notice.c - write and read the two files of a preemption notice. */
#include "protocol/preemption_notice.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/fs.h"
#include "util/run_record.h"

#define NOTICE "preemption"
#define END    "preemption.end"
#define KEY    "deadline_ms"

static int path_make(const char *log_dir, const char *name, char path[PATH_MAX],
                     struct error *err)
{
    if ((size_t)snprintf(path, PATH_MAX, "%s/%s", log_dir, name) < PATH_MAX)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL, "%s: the path is too long", log_dir);
}

static json_t *deadline_json(double deadline)
{
    return deadline > 0 ? json_integer((json_int_t)(deadline * 1000)) : json_null();
}

/* Steals record. */
static int notice_record_write(const char *log_dir, const char *name, json_t *record,
                               struct error *err)
{
    char path[PATH_MAX];
    char *text = record ? json_dumps(record, JSON_COMPACT) : NULL;
    int rc;

    json_decref(record);
    if (!text)
        return error_no_memory(err);
    rc = path_make(log_dir, name, path, err);
    if (rc == 0)
        rc = fs_write_atomic(path, text, strlen(text), 0666, err);
    free(text);
    return rc;
}

int preemption_notice_write(const char *log_dir, json_t *nodes, double deadline,
                            struct error *err)
{
    return notice_record_write(
        log_dir, NOTICE,
        json_pack("{so so}", KEY, deadline_json(deadline), "nodes", nodes), err);
}

int preemption_notice_write_end(const char *log_dir, double deadline, struct error *err)
{
    return notice_record_write(log_dir, END,
                               json_pack("{so}", KEY, deadline_json(deadline)), err);
}

static json_t *record_load(const char *log_dir, const char *name)
{
    char path[PATH_MAX];

    if (path_make(log_dir, name, path, NULL) < 0)
        return NULL;
    fs_look_again(path);
    return record_read_json(path, RECORD_OF_ATTEMPT);
}

json_t *preemption_notice_read(const char *log_dir)
{
    json_t *notice = record_load(log_dir, NOTICE);
    json_t *end = notice ? record_load(log_dir, END) : NULL;
    json_t *mine = json_object_get(notice, KEY), *later = json_object_get(end, KEY);

    if (json_is_integer(later) &&
        (!json_is_integer(mine) ||
         json_integer_value(later) < json_integer_value(mine)) &&
        json_object_set(notice, KEY, later) < 0) {
        json_decref(notice);
        notice = NULL;
    }
    json_decref(end);
    return notice;
}

int preemption_notice_add(json_t *nodes, const char *name, int first, int n)
{
    return json_array_append_new(nodes, json_pack("[sii]", name, first, n));
}
