/*
 * file_view.c - see file_view.h.
 *
 * The handler of SIGBUS is installed while there are views. It takes no other's place
 * for good: a signal that is not of a view is passed on to the handler before.
 *
 * Sections: SIGBUS; which files; views.
 */
#include "data/file_view.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Linux 5.14; with an older one, pages are brought in as they are used. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

#define SECTION ((size_t)256 * 1024) /* that is brought in at once */

struct file_view {
    int fd;
    uint64_t size;
    unsigned char *bytes;
    bool *brought_in; /* by section: this process has its pages */
};

/* ---- SIGBUS ---- */

/* Bytes that the thread is working on. */
struct work {
    const unsigned char *begin, *end;
    sigjmp_buf abandon;
};

/* Looked at by the handler: so it must not be allocated when it is looked at first. */
static
    __attribute__((tls_model("initial-exec"))) _Thread_local struct work *volatile now;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t n_views;
static struct sigaction before;
static pid_t owner;

static void signal_unblock(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* As if there were no views. The default action is taken when the access is tried
 * again. */
static void signal_pass_on(int signo, siginfo_t *info, void *context)
{
    struct sigaction none = {.sa_handler = SIG_DFL};
    bool ours = getpid() == owner; /* a child of fork() has no use for the handlers */

    if (!ours || before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN ||
        (before.sa_flags & SA_RESETHAND))
        sigaction(SIGBUS, &none, NULL);
    if (ours && (before.sa_flags & SA_SIGINFO))
        before.sa_sigaction(signo, info, context);
    else if (ours && before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(signo);
    else if (info->si_code <= 0)
        raise(signo); /* sent by a process: no access is tried again */
}

static void signal_handle(int signo, siginfo_t *info, void *context)
{
    struct work *w = now;
    const unsigned char *at = info->si_addr;

    if (w && info->si_code > 0 && at >= w->begin && at < w->end)
        siglongjmp(w->abandon, 1);
    signal_pass_on(signo, info, context);
}

/* Is ours the handler? The training function may have replaced it. */
static bool signal_handled(void)
{
    struct sigaction installed;

    return sigaction(SIGBUS, NULL, &installed) == 0 &&
           (installed.sa_flags & SA_SIGINFO) && installed.sa_sigaction == signal_handle;
}

/* SA_NODEFER: the handler may be left by a jump, and what it calls may raise it
 * again. */
static void handler_install(void)
{
    struct sigaction ours = {.sa_sigaction = signal_handle,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

    pthread_mutex_lock(&lock);
    if (n_views++ == 0) {
        owner = getpid();
        sigaction(SIGBUS, NULL, &before);
        sigaction(SIGBUS, &ours, NULL);
    }
    pthread_mutex_unlock(&lock);
}

static void handler_remove(void)
{
    pthread_mutex_lock(&lock);
    if (--n_views == 0 && signal_handled())
        sigaction(SIGBUS, &before, NULL);
    pthread_mutex_unlock(&lock);
}

/* ---- Which files ---- */

/* File systems on this node's own disks and memory; statfs(2) has the numbers. Others
 * may be unable to map files, read them page by page, or report late that a file is
 * shorter. */
static bool is_local(int fd)
{
    static const unsigned long LOCAL[] = {
        0xef53 /* ext2, 3, 4 */, 0x58465342 /* xfs */,   0x9123683e /* btrfs */,
        0xf2f52010 /* f2fs */,   0x01021994 /* tmpfs */,
    };
    struct statfs fs;

    if (fstatfs(fd, &fs) < 0)
        return false;
    for (size_t i = 0; i < sizeof LOCAL / sizeof *LOCAL; i++)
        if (((unsigned long)fs.f_type & 0xffffffff) == LOCAL[i])
            return true;
    return false;
}

/* ---- Views ---- */

struct file_view *file_view_create(int fd, uint64_t size)
{
    struct file_view *v;
    void *p;

    if (size == 0 || size > SIZE_MAX / 2 || !is_local(fd))
        return NULL;
    v = calloc(1, sizeof *v);
    if (!v)
        return NULL;
    v->fd = fd;
    v->size = size;
    v->brought_in = calloc((size - 1) / SECTION + 1, sizeof *v->brought_in);
    p = v->brought_in ? mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (p == MAP_FAILED) {
        free(v->brought_in);
        free(v);
        return NULL;
    }
    v->bytes = p;
    handler_install();
    return v;
}

/* In larger steps than page faults, which bring in what this does not. */
static void sections_bring_in(struct file_view *v, uint64_t offset, size_t n)
{
    for (size_t i = offset / SECTION; i <= (offset + n - 1) / SECTION; i++) {
        size_t at = i * SECTION, left = v->size - at;

        if (v->brought_in[i])
            continue;
        madvise(v->bytes + at, left < SECTION ? left : SECTION, MADV_WILLNEED);
        madvise(v->bytes + at, left < SECTION ? left : SECTION, MADV_POPULATE_READ);
        v->brought_in[i] = true;
    }
}

/* The end of a page beyond the end of the file is zeros, without a signal. */
static bool still_there(const struct file_view *v, uint64_t end)
{
    struct stat st;

    return fstat(v->fd, &st) == 0 && (uint64_t)st.st_size >= end;
}

bool file_view_use(struct file_view *v, uint64_t offset, size_t n,
                   void (*work)(void *arg, const unsigned char *bytes), void *arg)
{
    struct work w = {.begin = v->bytes + offset, .end = v->bytes + offset + n};
    bool done = false;

    if (!signal_handled())
        return false;
    signal_unblock(); /* of a thread that blocks it, the system ends the process */
    sections_bring_in(v, offset, n);
    if (sigsetjmp(w.abandon, 0) == 0) {
        now = &w;
        work(arg, v->bytes + offset);
        now = NULL;
        done = true;
    }
    now = NULL;
    return done && still_there(v, offset + n);
}

void file_view_destroy(struct file_view *v)
{
    if (!v)
        return;
    munmap(v->bytes, v->size);
    handler_remove();
    free(v->brought_in);
    free(v);
}
