/*
 * summary_event.c - events as messages of tfevents.proto. Messages are built from
 * structs on the stack and a few arrays, and packed into the buffer.
 */
#include "tfevents/summary_event.h"

#include <stdlib.h>
#include <string.h>

#include "tfevents/tfevents.pb-c.h"

#define FILE_VERSION "brain.Event:2"

/* The plugins, and the tags by which the one for hyperparameters finds its data. */
#define PLUGIN_TEXT            "text"
#define PLUGIN_HYPERPARAMETERS "hparams"
#define TAG_SESSION_START      "_hparams_/session_start_info"
#define TAG_SESSION_END        "_hparams_/session_end_info"

static int event_write(struct record_buffer *buffer, const Tfevents__Event *event)
{
    size_t n = tfevents__event__get_packed_size(event);
    uint8_t *data = record_begin(buffer, n);

    if (!data)
        return -1;
    tfevents__event__pack(event, data);
    record_end(buffer, n);
    return 0;
}

static Tfevents__Event event_at(double wall_time, int64_t step)
{
    Tfevents__Event event = TFEVENTS__EVENT__INIT;

    event.wall_time = wall_time;
    event.step = step;
    return event;
}

int tfevents_write_head(struct record_buffer *buffer, double wall_time)
{
    Tfevents__Event event = event_at(wall_time, 0);

    event.what_case = TFEVENTS__EVENT__WHAT_FILE_VERSION;
    event.file_version = (char *)FILE_VERSION;
    return event_write(buffer, &event);
}

int tfevents_write_start(struct record_buffer *buffer, double wall_time, int64_t step)
{
    Tfevents__Event event = event_at(wall_time, step);
    Tfevents__SessionLog log = TFEVENTS__SESSION_LOG__INIT;

    log.status = TFEVENTS__SESSION_LOG__STATUS__START;
    event.what_case = TFEVENTS__EVENT__WHAT_SESSION_LOG;
    event.session_log = &log;
    return event_write(buffer, &event);
}

static int summary_write(struct record_buffer *buffer, double wall_time, int64_t step,
                         Tfevents__SummaryValue **values, size_t n)
{
    Tfevents__Event event = event_at(wall_time, step);
    Tfevents__Summary summary = TFEVENTS__SUMMARY__INIT;

    summary.value = values;
    summary.n_value = n;
    event.what_case = TFEVENTS__EVENT__WHAT_SUMMARY;
    event.summary = &summary;
    return event_write(buffer, &event);
}

/* ---- Numbers and texts ---- */

/* The structs that a text needs besides the value itself. */
struct text_parts {
    Tfevents__SummaryMetadata metadata;
    Tfevents__PluginData plugin;
    Tfevents__Tensor tensor;
    Tfevents__TensorShape shape;
    ProtobufCBinaryData string;
};

static void text_set(Tfevents__SummaryValue *value, struct text_parts *parts,
                     const char *text)
{
    parts->plugin = (Tfevents__PluginData)TFEVENTS__PLUGIN_DATA__INIT;
    parts->plugin.plugin_name = (char *)PLUGIN_TEXT;
    parts->metadata = (Tfevents__SummaryMetadata)TFEVENTS__SUMMARY_METADATA__INIT;
    parts->metadata.plugin_data = &parts->plugin;
    parts->string = (ProtobufCBinaryData){.len = strlen(text), .data = (uint8_t *)text};
    parts->shape = (Tfevents__TensorShape)TFEVENTS__TENSOR_SHAPE__INIT;
    parts->tensor = (Tfevents__Tensor)TFEVENTS__TENSOR__INIT;
    parts->tensor.dtype = TFEVENTS__TENSOR__TYPE__STRING;
    parts->tensor.tensor_shape = &parts->shape;
    parts->tensor.string_val = &parts->string;
    parts->tensor.n_string_val = 1;
    value->metadata = &parts->metadata;
    value->value_case = TFEVENTS__SUMMARY_VALUE__VALUE_TENSOR;
    value->tensor = &parts->tensor;
}

static void value_set(Tfevents__SummaryValue *value, struct text_parts *parts,
                      const struct tfevents_value *from)
{
    *value = (Tfevents__SummaryValue)TFEVENTS__SUMMARY_VALUE__INIT;
    value->tag = (char *)from->tag;
    if (from->text) {
        text_set(value, parts, from->text);
    } else {
        value->value_case = TFEVENTS__SUMMARY_VALUE__VALUE_SIMPLE_VALUE;
        value->simple_value = (float)from->number;
    }
}

int tfevents_write_values(struct record_buffer *buffer, double wall_time, int64_t step,
                          const struct tfevents_value *values, size_t n)
{
    Tfevents__SummaryValue *all = calloc(n, sizeof *all);
    Tfevents__SummaryValue **list = calloc(n, sizeof *list);
    struct text_parts *parts = calloc(n, sizeof *parts);
    int rc = -1;

    if (all && list && parts) {
        for (size_t i = 0; i < n; i++) {
            value_set(&all[i], &parts[i], &values[i]);
            list[i] = &all[i];
        }
        rc = summary_write(buffer, wall_time, step, list, n);
    }
    free(parts);
    free(list);
    free(all);
    return rc;
}

/* ---- Hyperparameters ---- */

/* A value without a number; the plugin reads its content. */
static int hparams_write(struct record_buffer *buffer, double wall_time,
                         const char *tag, const Tfevents__HparamsData *hparams)
{
    size_t n = tfevents__hparams_data__get_packed_size(hparams);
    uint8_t *content = malloc(n + 1);
    Tfevents__PluginData plugin = TFEVENTS__PLUGIN_DATA__INIT;
    Tfevents__SummaryMetadata metadata = TFEVENTS__SUMMARY_METADATA__INIT;
    Tfevents__SummaryValue value = TFEVENTS__SUMMARY_VALUE__INIT, *list = &value;
    int rc;

    if (!content)
        return -1;
    tfevents__hparams_data__pack(hparams, content);
    plugin.plugin_name = (char *)PLUGIN_HYPERPARAMETERS;
    plugin.content = (ProtobufCBinaryData){.len = n, .data = content};
    metadata.plugin_data = &plugin;
    value.tag = (char *)tag;
    value.metadata = &metadata;
    rc = summary_write(buffer, wall_time, 0, &list, 1);
    free(content);
    return rc;
}

struct hparam_parts {
    Tfevents__Hparam hparam;
    Tfevents__HparamValue value;
};

/* False: hyperparameters cannot have this type. */
static bool hparam_set(struct hparam_parts *parts, const char *name,
                       const json_t *value)
{
    parts->hparam = (Tfevents__Hparam)TFEVENTS__HPARAM__INIT;
    parts->value = (Tfevents__HparamValue)TFEVENTS__HPARAM_VALUE__INIT;
    parts->hparam.key = (char *)name;
    parts->hparam.value = &parts->value;
    if (json_is_number(value)) {
        parts->value.kind_case = TFEVENTS__HPARAM_VALUE__KIND_NUMBER;
        parts->value.number = json_number_value(value);
    } else if (json_is_boolean(value)) {
        parts->value.kind_case = TFEVENTS__HPARAM_VALUE__KIND_TRUTH;
        parts->value.truth = json_is_true(value);
    } else if (json_is_string(value)) {
        parts->value.kind_case = TFEVENTS__HPARAM_VALUE__KIND_TEXT;
        parts->value.text = (char *)json_string_value(value);
    } else {
        return false;
    }
    return true;
}

int tfevents_write_hyperparameters(struct record_buffer *buffer, double wall_time,
                                   const json_t *parameters, const char *place)
{
    size_t n = json_object_size(parameters);
    struct hparam_parts *parts = calloc(n + 1, sizeof *parts);
    Tfevents__Hparam **list = calloc(n + 1, sizeof *list);
    Tfevents__SessionStart start = TFEVENTS__SESSION_START__INIT;
    Tfevents__HparamsData data = TFEVENTS__HPARAMS_DATA__INIT;
    const char *name;
    json_t *value;
    int rc = -1;

    if (parts && list) {
        json_object_foreach((json_t *)parameters, name, value)
        {
            if (hparam_set(&parts[start.n_hparams], name, value)) {
                list[start.n_hparams] = &parts[start.n_hparams].hparam;
                start.n_hparams++;
            }
        }
        start.hparams = list;
        start.model_uri = (char *)place;
        start.start_time = wall_time;
        data.data_case = TFEVENTS__HPARAMS_DATA__DATA_SESSION_START;
        data.session_start = &start;
        rc = hparams_write(buffer, wall_time, TAG_SESSION_START, &data);
    }
    free(list);
    free(parts);
    return rc;
}

static const Tfevents__SessionEnd__Status statuses[] = {
    [TFEVENTS_SUCCESS] = TFEVENTS__SESSION_END__STATUS__SUCCESS,
    [TFEVENTS_FAILURE] = TFEVENTS__SESSION_END__STATUS__FAILURE,
};

int tfevents_write_status(struct record_buffer *buffer, double wall_time,
                          enum tfevents_status status)
{
    Tfevents__SessionEnd end = TFEVENTS__SESSION_END__INIT;
    Tfevents__HparamsData data = TFEVENTS__HPARAMS_DATA__INIT;

    end.status = statuses[status];
    end.end_time = wall_time;
    data.data_case = TFEVENTS__HPARAMS_DATA__DATA_SESSION_END;
    data.session_end = &end;
    return hparams_write(buffer, wall_time, TAG_SESSION_END, &data);
}

/* ---- Reading ---- */

bool tfevents_read_number(const void *data, size_t n, const char *tag, int64_t *step,
                          double *number)
{
    Tfevents__Event *event = tfevents__event__unpack(NULL, n, data);
    bool found = false;

    if (!event)
        return false;
    *step = event->step;
    if (event->what_case == TFEVENTS__EVENT__WHAT_SUMMARY)
        for (size_t i = 0; i < event->summary->n_value && !found; i++) {
            const Tfevents__SummaryValue *value = event->summary->value[i];

            found = value->value_case == TFEVENTS__SUMMARY_VALUE__VALUE_SIMPLE_VALUE &&
                    strcmp(value->tag, tag) == 0;
            if (found)
                *number = (double)value->simple_value;
        }
    tfevents__event__free_unpacked(event, NULL);
    return found;
}
