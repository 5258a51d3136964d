/*
 * child_server.c - starts raytrain-pmix for MPI programs in commands, and asks it for
 * their variables.
 */
#include "config.h"

#include "wireup/child_server.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "pmix/group_file.h"
#include "pmix/message.h"
#include "util/argv.h"
#include "util/child.h"
#include "util/thread.h"
#include "wireup/node_dir.h"

#define NAME "raytrain-pmix"
/* At the end no program is in a fence any more, and the thread ends at once. */
#define STOP_WAIT_S 2

struct child_server {
    struct child_server_config config;
    struct child process;
    struct node_dir dir;
    int socket;
    pthread_t thread;
    bool threaded;
    atomic_bool used, stopping;
    struct pmix_message in;
};

extern char **environ;

/* ---- The process ---- */

/* Beside this program's own file, so that an installed tree can be moved. */
static void program_path(char path[PATH_MAX])
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (n > 0) {
        self[n] = '\0';
        if ((size_t)snprintf(path, PATH_MAX, "%.*s/" NAME,
                             (int)(strrchr(self, '/') - self), self) < PATH_MAX &&
            access(path, X_OK) == 0)
            return;
    }
    snprintf(path, PATH_MAX, "%s/" NAME, RAYTRAIN_LIBEXECDIR);
}

/* Without the variables of the group to which this process belongs. */
static int environment_make(char ***env, struct error *err)
{
    *env = NULL;
    for (char **at = environ; *at; at++)
        if (strncmp(*at, "PMIX_", 5) != 0 && argv_append(env, *at, err) < 0)
            return -1;
    return 0;
}

static int pmix_arguments_make(const struct child_server *s, char ***argv,
                               struct error *err)
{
    char path[PATH_MAX];

    *argv = NULL;
    program_path(path);
    if (argv_append(argv, path, err) < 0 || argv_append(argv, s->dir.path, err) < 0 ||
        argv_appendf(argv, err, "%d", s->config.node) < 0)
        return -1;
    return argv_append(argv, "0", err);
}

static int pmix_process_start(struct child_server *s, struct error *err)
{
    struct child_spec spec = {.out = -1, .err = STDERR_FILENO, .die_with_parent = true};
    char **argv = NULL, **env = NULL;
    int ends[2], rc;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return error_set(err, RAYTRAIN_ECOMM, "cannot make a socket pair: %s",
                         strerror(errno));
    s->socket = ends[0];
    spec.in = ends[1];
    rc = group_file_write(s->dir.path, s->config.hosts, s->config.ranks, err);
    if (rc == 0 &&
        pmix_text_send(s->socket, PMIX_MESSAGE_NAMESPACE, -1, 0, s->config.nspace) < 0)
        rc = error_set(err, RAYTRAIN_ECOMM, "cannot reach the PMIx server: %s",
                       strerror(errno));
    if (rc == 0)
        rc = pmix_arguments_make(s, &argv, err);
    if (rc == 0)
        rc = environment_make(&env, err);
    if (rc == 0) {
        spec.argv = argv;
        spec.env = env;
        rc = child_spawn(&spec, &s->process, err);
    }
    argv_free(argv);
    argv_free(env);
    close(ends[1]);
    return rc;
}

/* ---- Its first messages: the variables ---- */

static int variables_append(const struct pmix_message *m, char **variables, size_t *n,
                            struct error *err)
{
    char *longer = realloc(*variables, *n + m->n + 1);

    if (!longer)
        return error_no_memory(err);
    memcpy(longer + *n, m->text, m->n);
    longer[*n + m->n] = '\0';
    *variables = longer;
    *n += m->n + 1;
    return 0;
}

static int variables_receive(struct child_server *s, char **variables, size_t *n,
                             struct error *err)
{
    for (int i = 0; i < s->config.local_size; i++) {
        if (pmix_message_receive(s->socket, true, &s->in) < 0)
            return error_set(err, RAYTRAIN_ECOMM,
                             "the PMIx server of the commands has died");
        if (s->in.kind == PMIX_MESSAGE_ERROR)
            return error_set(err, (raytrain_status)s->in.status, "%s", s->in.text);
        if (s->in.kind != PMIX_MESSAGE_ENV)
            return error_set(err, RAYTRAIN_ECOMM,
                             "the PMIx server of the commands sends message %d",
                             (int)s->in.kind);
        if (variables_append(&s->in, variables, n, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- The thread ---- */

static int fence_serve(struct child_server *s, const char *data, size_t n,
                       struct error *err)
{
    char *all = NULL;
    size_t n_all = 0;
    int rc;

    rc = s->config.exchange(s->config.exchange_arg, data, n, &all, &n_all, err);
    if (rc == 0)
        rc = pmix_fence_send(s->socket, all, n_all);
    if (rc < 0 && all)
        error_set(err, RAYTRAIN_ECOMM, "cannot reach the PMIx server: %s",
                  strerror(errno));
    free(all);
    return rc;
}

/* Until the server ends, or cannot be served. */
static void messages_serve(struct child_server *s, struct error *err)
{
    char *data = NULL;
    size_t n = 0;

    error_set(err, RAYTRAIN_ECOMM, "the PMIx server of the commands has died");
    while (pmix_message_receive(s->socket, true, &s->in) > 0) {
        int last = 0;

        if (s->in.kind == PMIX_MESSAGE_JOINED)
            atomic_store(&s->used, true);
        if (s->in.kind == PMIX_MESSAGE_FENCE)
            last = pmix_fence_append(&s->in, &data, &n);
        if (last < 0)
            error_no_memory(err);
        if (last < 0 || (last > 0 && fence_serve(s, data, n, err) < 0))
            break;
        if (last > 0)
            n = 0;
    }
    free(data);
}

static void *thread_run(void *arg)
{
    struct child_server *s = arg;
    struct error err;

    messages_serve(s, &err);
    if (!atomic_load(&s->stopping))
        s->config.failed(s->config.failed_arg, err.text);
    shutdown(s->socket, SHUT_RDWR); /* the server ends */
    return NULL;
}

/* ---- Start and stop ---- */

int child_server_start(const struct child_server_config *config,
                       struct child_server **out, char **variables, size_t *n,
                       struct error *err)
{
    struct child_server *s = calloc(1, sizeof *s);

    *variables = NULL;
    *n = 0;
    if (!s)
        return error_no_memory(err);
    s->config = *config;
    s->process = (struct child)CHILD_INIT;
    s->dir = (struct node_dir)NODE_DIR_INIT;
    s->socket = -1;
    if (node_dir_make(&s->dir, PATH_MAX - 1, err) < 0 ||
        pmix_process_start(s, err) < 0 || variables_receive(s, variables, n, err) < 0 ||
        thread_start(&s->thread, thread_run, s, err) < 0) {
        (void)child_server_stop(s);
        free(*variables);
        *variables = NULL;
        return -1;
    }
    s->threaded = true;
    s->config.nspace = s->config.hosts = s->config.ranks = NULL;
    *out = s;
    return 0;
}

bool child_server_used(const struct child_server *s)
{
    return atomic_load(&s->used);
}

/* A thread that is still in a fence stays behind, with what it uses. */
static bool thread_stop(struct child_server *s)
{
    struct timespec until;

    if (!s->threaded)
        return true;
    atomic_store(&s->stopping, true);
    shutdown(s->socket, SHUT_RDWR);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STOP_WAIT_S;
    return pthread_timedjoin_np(s->thread, NULL, &until) == 0;
}

bool child_server_stop(struct child_server *s)
{
    bool ended;

    if (!s)
        return true;
    ended = thread_stop(s);
    child_clear(&s->process);
    node_dir_remove(&s->dir);
    if (!ended)
        return false;
    if (s->socket >= 0)
        close(s->socket);
    free(s);
    return true;
}
