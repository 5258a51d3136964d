/* client_maps.c - says in a reply which preprocessors are left to the client. */
#include "command/client_maps.h"

int client_maps_reply(const raytrain_dataset *ds, const struct request *q,
                      struct reply *reply, struct error *err)
{
    int64_t from = dataset_client_from(ds);

    if (from < 0)
        return 0;
    if (!request_flag(q, "maps"))
        return error_set(
            err, RAYTRAIN_ENOTSUP,
            "dataset \"%s\": a batch_mapper is a function in Python, which "
            "this client cannot call",
            dataset_name(ds));
    return reply_set(reply, "maps", json_integer((json_int_t)from), err);
}
