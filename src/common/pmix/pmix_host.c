/*
 * pmix_host.c - the upcalls of libpmix, and the start of its server.
 *
 * There is one namespace. On a single node every collective is complete when the
 * library calls the host, and most callbacks only return what they were given. On
 * several nodes, their hosts exchange what the ranks contribute to a fence. The process
 * around it is in server_process.c.
 */
#include "pmix/pmix_host.h"

#include <pmix.h>
#include <pmix_server.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The library allows one server per process, and its upcalls carry no user argument.
 * Set before the library's thread exists. */
static struct pmix_host {
    char nspace[PMIX_MAX_NSLEN + 1];
    const char *dir;
    const struct pmix_group *group;
    struct pmix_host_events events;
} host;

/* ---- Waiting for the library's callbacks ---- */

struct answer {
    pthread_mutex_t mutex;
    pthread_cond_t come;
    bool here;
    pmix_status_t status;
};

#define ANSWER_INIT                                                                    \
    {                                                                                  \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, PMIX_SUCCESS       \
    }

static void answer_give(pmix_status_t status, void *arg)
{
    struct answer *a = arg;

    pthread_mutex_lock(&a->mutex);
    a->here = true;
    a->status = status;
    pthread_cond_signal(&a->come);
    pthread_mutex_unlock(&a->mutex);
}

/* rc is the result of the call that was given a: its callback comes only after
 * SUCCESS. */
static pmix_status_t answer_wait(struct answer *a, pmix_status_t rc)
{
    if (rc == PMIX_OPERATION_SUCCEEDED)
        return PMIX_SUCCESS;
    if (rc != PMIX_SUCCESS)
        return rc;
    pthread_mutex_lock(&a->mutex);
    while (!a->here)
        pthread_cond_wait(&a->come, &a->mutex);
    pthread_mutex_unlock(&a->mutex);
    return a->status;
}

static int host_error(struct error *err, const char *what, pmix_status_t rc)
{
    return error_set(err, RAYTRAIN_ECOMM, "PMIx server: %s: %s", what,
                     PMIx_Error_string(rc));
}

/* ---- Upcalls ---- */

/* A tool of this user can connect, under a name of its own (to refuse it in
 * tool_connected() crashes libpmix 4.2); it gets nothing, since all that it calls comes
 * here. */
static bool is_worker(const pmix_proc_t *proc)
{
    return strcmp(proc->nspace, host.nspace) == 0 &&
           proc->rank < (pmix_rank_t)host.group->size &&
           host.group->node_of[proc->rank] == host.group->node;
}

static pmix_status_t up_connected(const pmix_proc_t *proc, void *object,
                                  pmix_op_cbfunc_t done, void *arg)
{
    (void)object;
    (void)done;
    (void)arg;
    if (!is_worker(proc))
        return PMIX_ERR_NOT_FOUND;
    host.events.joined((int)proc->rank);
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t up_finalized(const pmix_proc_t *proc, void *object,
                                  pmix_op_cbfunc_t done, void *arg)
{
    (void)object;
    (void)done;
    (void)arg;
    if (is_worker(proc))
        host.events.left((int)proc->rank);
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t up_abort(const pmix_proc_t *proc, void *object, int status,
                              const char msg[], pmix_proc_t procs[], size_t n_procs,
                              pmix_op_cbfunc_t done, void *arg)
{
    (void)object;
    (void)procs;
    (void)n_procs;
    if (!is_worker(proc))
        return PMIX_ERR_NO_PERMISSIONS;
    host.events.aborted((int)proc->rank, status, msg ? msg : "");
    if (done)
        done(PMIX_SUCCESS, arg);
    return PMIX_SUCCESS;
}

/* ---- Fences ---- */

/* A fence that other nodes have not entered yet. The first in the list was the first to
 * begin, and is the first to end. */
struct fence {
    struct fence *next;
    pmix_modex_cbfunc_t done;
    void *arg;
};

static pthread_mutex_t fences_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct fence *fences, **fences_end = &fences;

static int fence_add(pmix_modex_cbfunc_t done, void *arg)
{
    struct fence *f = malloc(sizeof *f);

    if (!f)
        return -1;
    *f = (struct fence){.done = done, .arg = arg};
    pthread_mutex_lock(&fences_mutex);
    *fences_end = f;
    fences_end = &f->next;
    pthread_mutex_unlock(&fences_mutex);
    return 0;
}

void pmix_host_fence_end(char *data, size_t n)
{
    struct fence *f;

    pthread_mutex_lock(&fences_mutex);
    f = fences;
    if (f) {
        fences = f->next;
        if (!fences)
            fences_end = &fences;
    }
    pthread_mutex_unlock(&fences_mutex);
    if (f)
        f->done(PMIX_SUCCESS, data, n, f->arg, free, data);
    else
        free(data);
    free(f);
}

enum participants { OF_THIS_NODE, ALL, OTHERS };

static enum participants participants_of(const pmix_proc_t procs[], size_t n)
{
    const struct pmix_group *g = host.group;
    size_t local = 0;

    for (size_t i = 0; i < n; i++) {
        if (procs[i].rank == PMIX_RANK_WILDCARD)
            return g->n_nodes == 1 ? OF_THIS_NODE : ALL;
        local += procs[i].rank < (pmix_rank_t)g->size &&
                 g->node_of[procs[i].rank] == g->node;
    }
    if (local == n)
        return OF_THIS_NODE;
    return n == (size_t)g->size ? ALL : OTHERS;
}

/* The data of all ranks of this node. The library frees it after use. */
static pmix_status_t up_fence(const pmix_proc_t procs[], size_t n_procs,
                              const pmix_info_t info[], size_t n_info, char *data,
                              size_t n_data, pmix_modex_cbfunc_t done, void *arg)
{
    (void)info;
    (void)n_info;
    switch (participants_of(procs, n_procs)) {
    case OF_THIS_NODE:
        done(PMIX_SUCCESS, data, n_data, arg, free, data);
        return PMIX_SUCCESS;
    case ALL:
        if (!host.events.fence || fence_add(done, arg) < 0)
            return PMIX_ERR_NOMEM;
        host.events.fence(data, n_data);
        free(data);
        return PMIX_SUCCESS;
    case OTHERS:
        break;
    }
    return PMIX_ERR_NOT_SUPPORTED; /* only some ranks, and of several nodes */
}

/* ---- Other upcalls ---- */

/* Data of a rank on another node that was in no fence: it is not available here. */
static pmix_status_t up_direct_modex(const pmix_proc_t *proc, const pmix_info_t info[],
                                     size_t n_info, pmix_modex_cbfunc_t done, void *arg)
{
    (void)proc;
    (void)info;
    (void)n_info;
    (void)done;
    (void)arg;
    return PMIX_ERR_NOT_FOUND;
}

static pmix_status_t up_register_events(pmix_status_t *codes, size_t n_codes,
                                        const pmix_info_t info[], size_t n_info,
                                        pmix_op_cbfunc_t done, void *arg)
{
    (void)codes;
    (void)n_codes;
    (void)info;
    (void)n_info;
    (void)done;
    (void)arg;
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t up_deregister_events(pmix_status_t *codes, size_t n_codes,
                                          pmix_op_cbfunc_t done, void *arg)
{
    (void)codes;
    (void)n_codes;
    (void)done;
    (void)arg;
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_server_module_t upcalls = {
    .client_connected = up_connected,
    .client_finalized = up_finalized,
    .abort = up_abort,
    .fence_nb = up_fence,
    .direct_modex = up_direct_modex,
    .register_events = up_register_events,
    .deregister_events = up_deregister_events,
};

/* ---- Settings of the library ---- */

/*
 * Most of the start-up time goes into features that a private server on one node does
 * not need: they are switched off, unless the user has set them.
 */
static const struct setting {
    const char *name, *value;
    bool worker; /* also for workers: both sides must agree */
} settings[] = {
    /* A hash table in memory instead of files that both sides map. */
    {"PMIX_MCA_gds", "hash", true},
    /* No search for PCI devices, disks, displays: reading the PCI configuration and
     * loading plugins that contact the X server take longer than everything else. */
    {"HWLOC_COMPONENTS", "-linux:pci,-linux:io", false},
    {"HWLOC_PLUGINS_PATH", "/dev/null", false},
};

#define N_SETTINGS (sizeof settings / sizeof *settings)

static int settings_enter(void)
{
    for (size_t i = 0; i < N_SETTINGS; i++)
        if (setenv(settings[i].name, settings[i].value, 0) < 0)
            return PMIX_ERR_NOMEM;
    return PMIX_SUCCESS;
}

/* The user's own settings are in the environment that the worker inherits. */
static pmix_status_t settings_append(char ***env)
{
    pmix_status_t rc = PMIX_SUCCESS;
    char text[256];

    for (size_t i = 0; rc == PMIX_SUCCESS && i < N_SETTINGS; i++) {
        const char *here = getenv(settings[i].name);

        if (!settings[i].worker || !here || strcmp(here, settings[i].value) != 0)
            continue;
        snprintf(text, sizeof text, "%s=%s", settings[i].name, settings[i].value);
        PMIX_ARGV_APPEND(rc, *env, text);
    }
    return rc;
}

/* ---- Start ---- */

static pmix_status_t library_start(void)
{
    pmix_info_t info[5];
    pmix_rank_t rank = 0;
    pmix_status_t rc;
    char nspace[PMIX_MAX_NSLEN + 1];

    snprintf(nspace, sizeof nspace, "raytrain-server-%d", (int)getpid());
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_TMPDIR, host.dir, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_SYSTEM_TMPDIR, host.dir, PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_SERVER_NSPACE, nspace, PMIX_STRING);
    PMIX_INFO_LOAD(&info[3], PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
    PMIX_INFO_LOAD(&info[4], PMIX_HOSTNAME, host.group->hosts[host.group->node],
                   PMIX_STRING);
    rc = settings_enter();
    if (rc == PMIX_SUCCESS)
        rc = PMIx_server_init(&upcalls, info, sizeof info / sizeof *info);
    for (size_t i = 0; i < sizeof info / sizeof *info; i++)
        PMIX_INFO_DESTRUCT(&info[i]);
    return rc;
}

static pmix_status_t namespace_announce(pmix_info_t *info, size_t n)
{
    struct answer registered = ANSWER_INIT, supported = ANSWER_INIT;
    int local = pmix_group_local_size(host.group);
    pmix_status_t rc;

    rc = answer_wait(&registered,
                     PMIx_server_register_nspace(host.nspace, local, info, n,
                                                 answer_give, &registered));
    if (rc != PMIX_SUCCESS)
        return rc;
    return answer_wait(&supported, PMIx_server_setup_local_support(
                                       host.nspace, NULL, 0, answer_give, &supported));
}

static pmix_status_t namespace_register(void)
{
    pmix_info_t *info;
    size_t n;
    pmix_status_t rc =
        pmix_group_describe(host.group, host.nspace, host.dir, &info, &n);

    if (rc == PMIX_SUCCESS)
        rc = namespace_announce(info, n);
    if (info)
        PMIX_INFO_FREE(info, n);
    return rc;
}

int pmix_host_start(const struct pmix_group *group, const char *nspace,
                    const char *private_dir, const struct pmix_host_events *events,
                    struct error *err)
{
    pmix_status_t rc;

    host.group = group;
    host.dir = private_dir;
    host.events = *events;
    if ((size_t)snprintf(host.nspace, sizeof host.nspace, "%s", nspace) >=
        sizeof host.nspace)
        return error_set(err, RAYTRAIN_EINVAL, "PMIx server: the name %s is too long",
                         nspace);
    rc = library_start();
    if (rc != PMIX_SUCCESS)
        return host_error(err,
                          "it cannot start (it needs the loopback network interface, "
                          "see `ip link show lo`)",
                          rc);
    rc = namespace_register();
    if (rc != PMIX_SUCCESS)
        return host_error(err, "it cannot register the workers' namespace", rc);
    return 0;
}

/* ---- Workers ---- */

int pmix_host_worker_env(int rank, char ***env, struct error *err)
{
    struct answer registered = ANSWER_INIT;
    pmix_proc_t proc;
    pmix_status_t rc;

    *env = NULL;
    PMIX_LOAD_PROCID(&proc, host.nspace, (pmix_rank_t)rank);
    rc = answer_wait(&registered,
                     PMIx_server_register_client(&proc, geteuid(), getegid(), NULL,
                                                 answer_give, &registered));
    if (rc == PMIX_SUCCESS)
        rc = PMIx_server_setup_fork(&proc, env);
    if (rc == PMIX_SUCCESS)
        rc = settings_append(env);
    if (rc != PMIX_SUCCESS)
        return host_error(err, "it cannot register a worker", rc);
    return 0;
}
