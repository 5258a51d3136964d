/* helper.c - a companion without a command, in a session of one rank without a run. */
#include "command/helper.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "command/companion.h"
#include "preprocess/map_function.h"
#include "session/session_life.h"

struct helper {
    struct world world;
    struct backend backend;
    struct train_config config;
    struct companion companion;
    bool exit_now;
};

static int helper_start(struct helper *h, struct error *err)
{
    struct session_env env = {
        .world = &h->world, .config = &h->config, .backend = &h->backend};

    h->world = (struct world){.size = 1, .local_size = 1, .n_nodes = 1};
    if (gethostname(h->world.host, sizeof h->world.host - 1) < 0)
        h->world.host[0] = '\0';
    if (backend_find("none", &h->backend.ops, err) < 0 ||
        h->backend.ops->on_start(&h->backend, NULL, err) < 0)
        return -1;
    return session_create_alone(&env, &h->companion.ctx, err);
}

static int helper_serve(int socket, struct error *err)
{
    struct helper h = {0};
    int rc;

    if (fcntl(socket, F_SETFD, FD_CLOEXEC) < 0)
        return error_set(
            err, RAYTRAIN_EUSAGE,
            "--serve: there is no open socket of this number; the Python module "
            "starts this process");
    train_config_init(&h.config);
    map_function_object(NULL);
    h.companion = (struct companion){.without_run = true,
                                     .listener = -1,
                                     .client = {.socket = socket},
                                     .exit_timer = -1,
                                     .child = CHILD_INIT};
    rc = helper_start(&h, err);
    if (rc == 0)
        companion_serve_client(&h.companion);
    companion_close(&h.companion);
    session_destroy(h.companion.ctx, true);
    if (h.backend.comm)
        h.backend.ops->on_shutdown(&h.backend, true, &h.exit_now);
    train_config_clear(&h.config);
    return rc;
}

int raytrain_helper_run(int socket, struct error *err)
{
    return helper_serve(socket, err) < 0 ? error_exit_status(err->code) : 0;
}
