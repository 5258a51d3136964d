/* repository.c - the index of models, of the protocol's model repository extension:
 * https://github.com/triton-inference-server/server, protocol/extension_model_repository. */
#include "infer/answer.h"
#include "infer/json_scan.h"
#include "infer/refusal.h"

bool infer_index_parse(const char *body, size_t n, bool *ready,
                       struct infer_refusal *why)
{
    static const char *const keys[] = {"ready"};
    struct json_scan s;
    bool first = true, good;
    uint32_t seen = 0;

    *ready = false;
    if (n == 0)
        return true;
    json_scan_init(&s, body, n);
    good = json_scan_open(&s, '{');
    while (good && json_scan_more(&s, '}', &first)) {
        int key = json_scan_member(&s, keys, 1, &seen);

        good = key == 0 ? json_scan_bool(&s, ready) : key > 0 && json_scan_skip(&s);
    }
    if (good && json_scan_done(&s))
        return true;
    refuse(why, 400,
           "the request is wrong at byte %zu of the JSON: %s; send nothing, or "
           "{\"ready\": true}",
           (size_t)(s.at - s.begin), s.wrong);
    return false;
}

int infer_index_write(const struct infer_index_entry entries[], size_t n,
                      struct infer_answer *a)
{
    struct json_writer w = {.text = NULL};

    json_writer_list_begin(&w, NULL);
    for (size_t i = 0; i < n; i++) {
        json_writer_begin(&w, NULL);
        json_writer_string(&w, "name", entries[i].name);
        if (entries[i].version)
            json_writer_string(&w, "version", entries[i].version);
        json_writer_string(&w, "state", entries[i].ready ? "READY" : "UNAVAILABLE");
        json_writer_string(&w, "reason", entries[i].ready ? "" : "no worker is ready");
        json_writer_end(&w);
    }
    json_writer_list_end(&w);
    return answer_take(&w, a);
}
