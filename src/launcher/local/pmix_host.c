/*
 * pmix_host.c - see pmix_host.h.
 *
 * There is one node and one namespace, so every collective is complete when the library
 * calls the host, and most callbacks only return what they were given.
 */
#include "local/pmix_host.h"

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
    char host[256];
    const char *dir;
    int n_workers;
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

static pmix_status_t up_connected(const pmix_proc_t *proc, void *object,
                                  pmix_op_cbfunc_t done, void *arg)
{
    (void)object;
    (void)done;
    (void)arg;
    host.events.joined((int)proc->rank);
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t up_finalized(const pmix_proc_t *proc, void *object,
                                  pmix_op_cbfunc_t done, void *arg)
{
    (void)object;
    (void)done;
    (void)arg;
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
    host.events.aborted((int)proc->rank, status, msg ? msg : "");
    if (done)
        done(PMIX_SUCCESS, arg);
    return PMIX_SUCCESS;
}

/* All participants are local, so their data is complete: return it; the library calls
 * free() when it is done. */
static pmix_status_t up_fence(const pmix_proc_t procs[], size_t n_procs,
                              const pmix_info_t info[], size_t n_info, char *data,
                              size_t n_data, pmix_modex_cbfunc_t done, void *arg)
{
    (void)procs;
    (void)n_procs;
    (void)info;
    (void)n_info;
    done(PMIX_SUCCESS, data, n_data, arg, free, data);
    return PMIX_SUCCESS;
}

/* Data of a rank on another node: there is none. */
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
    PMIX_INFO_LOAD(&info[4], PMIX_HOSTNAME, host.host, PMIX_STRING);
    rc = settings_enter();
    if (rc == PMIX_SUCCESS)
        rc = PMIx_server_init(&upcalls, info, sizeof info / sizeof *info);
    for (size_t i = 0; i < sizeof info / sizeof *info; i++)
        PMIX_INFO_DESTRUCT(&info[i]);
    return rc;
}

/* "0,1,2": malloc'ed, NULL if out of memory. */
static char *rank_list(int n)
{
    char *list = malloc((size_t)n * 12 + 1), *end = list;

    if (!list)
        return NULL;
    *end = '\0';
    for (int i = 0; i < n; i++)
        end += sprintf(end, i ? ",%d" : "%d", i);
    return list;
}

struct fact {
    const char *key;
    const void *value;
    pmix_data_type_t type;
};

static void facts_load(pmix_info_t *info, const struct fact *facts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        PMIX_INFO_LOAD(&info[i], facts[i].key, facts[i].value, facts[i].type);
}

/* The facts about one worker, as one PMIX_PROC_DATA. */
static pmix_status_t worker_describe(pmix_info_t *info, int worker)
{
    pmix_rank_t rank = (pmix_rank_t)worker;
    uint16_t local = (uint16_t)worker;
    uint32_t zero = 0;
    bool spawned = false;
    const struct fact facts[] = {
        {PMIX_RANK, &rank, PMIX_PROC_RANK},    {PMIX_LOCAL_RANK, &local, PMIX_UINT16},
        {PMIX_NODE_RANK, &local, PMIX_UINT16}, {PMIX_NODEID, &zero, PMIX_UINT32},
        {PMIX_APPNUM, &zero, PMIX_UINT32},     {PMIX_HOSTNAME, host.host, PMIX_STRING},
        {PMIX_SPAWNED, &spawned, PMIX_BOOL},
    };
    const size_t n = sizeof facts / sizeof *facts;

    PMIX_LOAD_KEY(info->key, PMIX_PROC_DATA);
    PMIX_DATA_ARRAY_CREATE(info->value.data.darray, n, PMIX_INFO);
    if (!info->value.data.darray)
        return PMIX_ERR_NOMEM;
    info->value.type = PMIX_DATA_ARRAY;
    if (!info->value.data.darray->array)
        return PMIX_ERR_NOMEM;
    facts_load(info->value.data.darray->array, facts, n);
    return PMIX_SUCCESS;
}

/* The caller frees *info, an array of *n, also after a failure. */
static pmix_status_t job_describe(const char *ranks, const char *node_map,
                                  const char *proc_map, pmix_info_t **info, size_t *n)
{
    uint32_t size = (uint32_t)host.n_workers, zero = 0, one = 1;
    pmix_status_t rc = PMIX_SUCCESS;
    const struct fact facts[] = {
        {PMIX_UNIV_SIZE, &size, PMIX_UINT32},   {PMIX_JOB_SIZE, &size, PMIX_UINT32},
        {PMIX_LOCAL_SIZE, &size, PMIX_UINT32},  {PMIX_MAX_PROCS, &size, PMIX_UINT32},
        {PMIX_LOCAL_PEERS, ranks, PMIX_STRING}, {PMIX_NODE_MAP, node_map, PMIX_REGEX},
        {PMIX_PROC_MAP, proc_map, PMIX_REGEX},  {PMIX_NODEID, &zero, PMIX_UINT32},
        {PMIX_NUM_NODES, &one, PMIX_UINT32},    {PMIX_JOBID, host.nspace, PMIX_STRING},
        {PMIX_TMPDIR, host.dir, PMIX_STRING},   {PMIX_NSDIR, host.dir, PMIX_STRING},
    };
    const size_t n_facts = sizeof facts / sizeof *facts;

    *n = n_facts + (size_t)host.n_workers;
    PMIX_INFO_CREATE(*info, *n);
    if (!*info)
        return PMIX_ERR_NOMEM;
    facts_load(*info, facts, n_facts);
    for (int i = 0; rc == PMIX_SUCCESS && i < host.n_workers; i++)
        rc = worker_describe(&(*info)[n_facts + (size_t)i], i);
    return rc;
}

static pmix_status_t namespace_announce(pmix_info_t *info, size_t n)
{
    struct answer registered = ANSWER_INIT, supported = ANSWER_INIT;
    pmix_status_t rc;

    rc = answer_wait(&registered,
                     PMIx_server_register_nspace(host.nspace, host.n_workers, info, n,
                                                 answer_give, &registered));
    if (rc != PMIX_SUCCESS)
        return rc;
    return answer_wait(&supported, PMIx_server_setup_local_support(
                                       host.nspace, NULL, 0, answer_give, &supported));
}

static pmix_status_t namespace_register(void)
{
    char *ranks = rank_list(host.n_workers), *node_map = NULL, *proc_map = NULL;
    pmix_status_t rc = ranks ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
    pmix_info_t *info = NULL;
    size_t n = 0;

    if (rc == PMIX_SUCCESS)
        rc = PMIx_generate_regex(host.host, &node_map);
    if (rc == PMIX_SUCCESS)
        rc = PMIx_generate_ppn(ranks, &proc_map);
    if (rc == PMIX_SUCCESS)
        rc = job_describe(ranks, node_map, proc_map, &info, &n);
    if (rc == PMIX_SUCCESS)
        rc = namespace_announce(info, n);
    if (info)
        PMIX_INFO_FREE(info, n);
    free(ranks);
    free(node_map);
    free(proc_map);
    return rc;
}

int pmix_host_start(int n_workers, const char *private_dir,
                    const struct pmix_host_events *events, struct error *err)
{
    pmix_status_t rc;

    host.n_workers = n_workers;
    host.dir = private_dir;
    host.events = *events;
    snprintf(host.nspace, sizeof host.nspace, "raytrain-%d", (int)getpid());
    if (gethostname(host.host, sizeof host.host - 1) < 0)
        strcpy(host.host, "localhost");
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
