/* tee.c - the command of a worker that is shown, and how raytrain-keeper becomes that
 * worker. What the process beside the worker does is in tee_process.c. */
#include "config.h"

#include "show/tee.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocol/output_wire.h"
#include "run/run_dir.h"
#include "util/argv.h"
#include "util/fs.h"
#include "util/installed.h"
#include "util/rank_choice.h"

#define ARGUMENTS   4 /* RANKS WORKERS NODE LOG_DIR */
#define PIPE_BYTES  (256 * 1024)
#define HIGH_NUMBER 16 /* above the descriptors of the new process */

int tee_command(const char *ranks, int workers, const char *node, const char *log_dir,
                char *const *worker, char ***argv, struct error *err)
{
    char keeper[PATH_MAX], **v = NULL;

    if (installed_program("raytrain-keeper", keeper, sizeof keeper, err) < 0)
        return -1;
    if (argv_append(&v, keeper, err) < 0 || argv_append(&v, "show", err) < 0 ||
        argv_append(&v, ranks, err) < 0 || argv_appendf(&v, err, "%d", workers) < 0 ||
        argv_append(&v, *node ? node : "-", err) < 0 ||
        argv_append(&v, log_dir, err) < 0 || argv_append_all(&v, worker, err) < 0) {
        argv_free(v);
        return -1;
    }
    *argv = v;
    return 0;
}

/* ---- The process that becomes the worker ---- */

static int rank_of_environment(void)
{
    static const char *const names[] = {"PMIX_RANK", "SLURM_PROCID"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);

        if (value && *value)
            return atoi(value);
    }
    return -1;
}

static int log_open(const char *log_dir, const char *stem, struct error *err)
{
    char path[PATH_MAX];
    int fd;

    if ((size_t)snprintf(path, sizeof path, "%s/%s.out", log_dir, stem) >= sizeof path)
        return error_set(err, RAYTRAIN_ESTORAGE, "the path of a log is too long: %s",
                         log_dir);
    fd = open(path, FS_WRITE | O_CREAT | O_APPEND, 0666);
    return fd < 0 ? fs_error(err, "open", path) : fd;
}

/* The log directory of the attempt that the environment names. */
static char *attempt_log_dir(void)
{
    const char *run = getenv("RAYTRAIN_RUN_DIR"), *attempt = getenv("RAYTRAIN_ATTEMPT");

    return run && attempt ? run_dir_log_dir(run, atoi(attempt)) : NULL;
}

/* Open the log of standard output; that of standard error is open. */
static int out_log_open(char *const *argv, int rank, struct error *err)
{
    const char *node = strcmp(argv[2], "-") == 0 ? getenv("SLURMD_NODENAME") : argv[2];
    char stem[RUN_DIR_LOG_NAME_MAX];
    char *log_dir = *argv[3] ? strdup(argv[3]) : attempt_log_dir();
    int fd;

    if (!log_dir)
        return error_set(err, RAYTRAIN_EUSAGE,
                         "the directory of the logs is unknown; type: raytrain-run "
                         "PROGRAM");
    run_dir_log_name(atoi(argv[1]), rank, node ? node : "unknown", stem);
    fd = log_open(log_dir, stem, err);
    free(log_dir);
    return fd;
}

/* The environment without the variables that identify a worker's processes, but with
 * the mark by which the processes of a group are found. */
static char **tee_environment(void)
{
    static const char *const kept[] = {"RAYTRAIN_GROUP=", "PATH=", "LD_LIBRARY_PATH="};
    extern char **environ;
    char **env = NULL;

    for (size_t i = 0; environ[i]; i++)
        for (size_t k = 0; k < sizeof kept / sizeof *kept; k++)
            if (strncmp(environ[i], kept[k], strlen(kept[k])) == 0 &&
                argv_append(&env, environ[i], NULL) < 0)
                return NULL;
    return env ? env : calloc(1, sizeof *env);
}

/* Run in a new session, so that it outlives the worker's process group. */
static _Noreturn void tee_become(const int fds[TEE_END - TEE_OUT], int rank,
                                 pid_t worker)
{
    char program[PATH_MAX], rank_text[16], pid_text[16];
    char *argv[] = {(char *)"raytrain-keeper", (char *)"tee", rank_text, pid_text,
                    NULL};
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    char **env = tee_environment();
    int high[TEE_END - TEE_OUT], null = open("/dev/null", O_RDWR);

    if (n < 0 || !env || null < 0)
        _exit(1);
    program[n] = '\0';
    snprintf(rank_text, sizeof rank_text, "%d", rank);
    snprintf(pid_text, sizeof pid_text, "%d", (int)worker);
    setsid();
    for (int i = 0; i < TEE_END - TEE_OUT; i++)
        if ((high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, HIGH_NUMBER)) < 0)
            _exit(1);
    for (int i = 0; i < TEE_END - TEE_OUT; i++)
        if (dup2(high[i], TEE_OUT + i) < 0)
            _exit(1);
    for (int fd = 0; fd < TEE_OUT; fd++)
        dup2(null, fd);
    execve(program, argv, env);
    _exit(1);
}

/* Fork twice: the worker may wait for any of its children. */
static int tee_start(const int fds[TEE_END - TEE_OUT], int rank, struct error *err)
{
    pid_t worker = getpid(), child = fork();
    int status;

    if (child == 0) {
        child = fork();
        if (child == 0)
            tee_become(fds, rank, worker);
        _exit(child < 0);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
        return error_set(err, RAYTRAIN_ENOMEM,
                         "cannot start a process for the output of this worker: %s",
                         strerror(errno));
    return 0;
}

/* Pass on the log, for text that must not be shown (worker/rank/own_words.h). */
static int log_leave(int err_log, struct error *err)
{
    char number[16];

    snprintf(number, sizeof number, "%d", err_log);
    if (fcntl(err_log, F_SETFD, 0) < 0 || setenv(OUTPUT_LOG_VARIABLE, number, 1) < 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot pass a log on: %s",
                         strerror(errno));
    return 0;
}

static int pipe_make(int ends[2], struct error *err)
{
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot make a pipe: %s",
                         strerror(errno));
    fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
    return 0;
}

/* Standard output and error become pipes, which the new process reads. */
static int output_divert(int out_log, int rank, struct error *err)
{
    int out[2], errors[2], fds[TEE_END - TEE_OUT], err_log, channel;

    if (pipe_make(out, err) < 0 || pipe_make(errors, err) < 0)
        return -1;
    channel = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, HIGH_NUMBER);
    err_log = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, HIGH_NUMBER);
    if (channel < 0 || err_log < 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot copy a descriptor: %s",
                         strerror(errno));
    fds[TEE_OUT - TEE_OUT] = out[0];
    fds[TEE_ERR - TEE_OUT] = errors[0];
    fds[TEE_OUT_LOG - TEE_OUT] = out_log;
    fds[TEE_ERR_LOG - TEE_OUT] = err_log;
    fds[TEE_CHANNEL - TEE_OUT] = channel;
    if (tee_start(fds, rank, err) < 0 || log_leave(err_log, err) < 0)
        return -1;
    dup2(out[1], STDOUT_FILENO);
    dup2(errors[1], STDERR_FILENO);
    return 0;
}

int tee_become_worker(char *const *argv, struct error *err)
{
    int rank = rank_of_environment(), out_log;

    if (argv_count(argv) <= ARGUMENTS)
        return error_set(err, RAYTRAIN_EUSAGE,
                         "arguments are missing; type: raytrain-run PROGRAM");
    out_log = out_log_open(argv, rank, err);
    if (out_log < 0)
        return -1;
    if (!rank_choice_has(argv[0], rank))
        dup2(out_log, STDOUT_FILENO);
    else if (output_divert(out_log, rank, err) < 0)
        return -1;
    argv += ARGUMENTS;
    execvp(argv[0], argv);
    return error_set(err, RAYTRAIN_ENOTFOUND, "cannot start %s: %s", argv[0],
                     strerror(errno));
}
