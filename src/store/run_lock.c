/* run_lock.c - see run_lock.h. */
#include "store/run_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/fs.h"
#include "util/thread.h"

#define LOCK_NAME ".lock"
#define TOUCH_S   5.0
#define SILENCE_S 60.0
#define LOOK_S    0.05 /* between two looks at a file that another one may touch */
#define SETTLE_S  0.3  /* for which one that comes at the same moment is waited for */
#define TRIES     100  /* to lock what another may rename under our hands */
#define PLACE_MAX 160

struct run_lock {
    int fd;
    char *file;
    int end_fd; /* tells the thread to end; -1: there is none */
    double touch_s;
    pthread_t thread;
};

/* ---- Who ---------------------------------------------------------------------------
 */

/* Where a pid means the same process: host, boot and pid name space. */
static void place_of_self(char place[PLACE_MAX])
{
    char host[65] = "unknown", boot[64] = "";
    struct stat ns = {0};
    FILE *in = fopen("/proc/sys/kernel/random/boot_id", "re");

    gethostname(host, sizeof host - 1);
    if (in && !fgets(boot, sizeof boot, in))
        boot[0] = '\0';
    if (in)
        fclose(in);
    boot[strcspn(boot, "\n")] = '\0';
    stat("/proc/self/ns/pid", &ns);
    snprintf(place, PLACE_MAX, "%s %s %lu", host, boot, (unsigned long)ns.st_ino);
}

/* The file's own number: a copy has another one. */
static unsigned long number_of(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 ? (unsigned long)st.st_ino : 0;
}

/* The first line is for people, the second for us: the file's number, pid and place. */
static int holder_write(int fd)
{
    char host[65] = "unknown", text[512], date[32], place[PLACE_MAX], job[64] = "";
    const char *id = getenv("SLURM_JOB_ID");
    int n;

    gethostname(host, sizeof host - 1);
    place_of_self(place);
    clock_iso8601(clock_unix(), date);
    if (id && *id)
        snprintf(job, sizeof job, "job %.32s, ", id);
    n = snprintf(text, sizeof text, "host %s, %spid %ld, since %s\n%lu %ld %s\n", host,
                 job, (long)getpid(), date, number_of(fd), (long)getpid(), place);
    if (ftruncate(fd, 0) < 0)
        return -1;
    return fs_pwrite_full(fd, text, (size_t)n, 0);
}

/* Both lines, whatever somebody may have put there. "": nobody has it. */
static void holder_read(int fd, char line[256], char machine[256])
{
    char text[512];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    char *second;

    text[n > 0 ? n : 0] = '\0';
    second = strchr(text, '\n');
    if (second)
        *second++ = '\0';
    snprintf(line, 256, "%.255s", text);
    snprintf(machine, 256, "%.*s", second ? (int)strcspn(second, "\n") : 0,
             second ? second : "");
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
            *c = ' ';
}

static int held_error(const char *path, int fd, struct error *err)
{
    char holder[256], machine[256], *shown = fs_printable(path);

    holder_read(fd, holder, machine);
    error_set(
        err, RAYTRAIN_ESTORAGE,
        "%s is in use by another raytrain-run (%s); wait for it, end it, or choose "
        "another --name",
        shown ? shown : "the run directory", holder[0] ? holder : "holder unknown");
    free(shown);
    return -1;
}

/* ---- Does it live? -----------------------------------------------------------------
 */

static bool same_file(int fd, const char *path)
{
    struct stat a, b;

    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* When it was last touched. Opening it makes a network file system look again. */
static bool touched_at(const char *file, struct timespec *at)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    bool found = fd >= 0 && fstat(fd, &st) == 0;

    if (found)
        *at = st.st_mtim;
    if (fd >= 0)
        close(fd);
    return found;
}

/* Somebody who wants the lock. */
struct taker {
    const char *path;
    char *file; /* the lock in it */
    double silence_s;
    bool without;
    void (*tell)(const char *text); /* NULL: once it has been told */
};

static void wait_tell(struct taker *t, const char *holder)
{
    char *shown = t->tell ? fs_printable(t->path) : NULL, *text = NULL;

    if (shown &&
        asprintf(&text,
                 "%s is locked by another raytrain-run (%s); watching for up to "
                 "%.0f s whether that one lives",
                 shown, holder[0] ? holder : "holder unknown", t->silence_s) > 0)
        t->tell(text);
    t->tell = NULL;
    free(text);
    free(shown);
}

/* Watch a file that is held elsewhere: true once it has been silent for so long. */
static bool is_silent(struct taker *t, const char *holder)
{
    double until = clock_now() + t->silence_s;
    struct timespec first, now;

    wait_tell(t, holder);
    if (!touched_at(t->file, &first))
        return true;
    while (clock_now() < until) {
        poll(NULL, 0, (int)(LOOK_S * 1e3));
        if (!touched_at(t->file, &now) || now.tv_sec != first.tv_sec ||
            now.tv_nsec != first.tv_nsec)
            return false;
    }
    return true;
}

/* Is who wrote this file gone? locked: the kernel says that somebody has it locked, and
 * of a process of this host it knows. */
static bool is_abandoned(struct taker *t, int fd, bool locked)
{
    char line[256], machine[256], place[PLACE_MAX], *end;
    unsigned long number;
    long pid;

    holder_read(fd, line, machine);
    place_of_self(place);
    number = strtoul(machine, &end, 10);
    pid = *end == ' ' ? strtol(end + 1, &end, 10) : 0;
    if (!locked && (!line[0] || (pid > 0 && number != number_of(fd))))
        return true;
    if (pid > 0 && *end == ' ' && strcmp(end + 1, place) == 0)
        return !locked &&
               (pid == (long)getpid() || (kill((pid_t)pid, 0) < 0 && errno == ESRCH));
    return is_silent(t, line);
}

/* ---- Take --------------------------------------------------------------------------
 */

enum answer { GRANTED, REFUSED, NO_LOCKS, BROKEN };

static enum answer kernel_ask(int fd, bool without)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    if (without)
        return NO_LOCKS;
    if (fcntl(fd, F_SETLK, &whole) == 0)
        return GRANTED;
    if (errno == EACCES || errno == EAGAIN)
        return REFUSED;
    if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP || errno == EINVAL)
        return NO_LOCKS;
    return BROKEN;
}

/* Without locks, of two that come at the same moment the one whose name stands in the
 * end has it. */
static bool is_ours_still(int fd, const char *file)
{
    char line[256], machine[256], ours[256];
    int again;

    holder_read(fd, line, ours);
    fsync(fd);
    poll(NULL, 0, (int)(SETTLE_S * 1e3));
    again = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (again < 0)
        return false;
    holder_read(again, line, machine);
    close(again);
    return strcmp(machine, ours) == 0;
}

/* One try: 1 it is ours, 0 look again, -1 held by another, or an error. A fresh start
 * elsewhere may rename the directory between our open and our lock: then the lock is
 * another run's. */
static int lock_try(struct taker *t, int fd, struct error *err)
{
    enum answer answer = kernel_ask(fd, t->without);
    const char *file = t->file;

    if (answer == BROKEN)
        return fs_error(err, "lock", file);
    if (answer != GRANTED) {
        if (!is_abandoned(t, fd, answer == REFUSED))
            return held_error(t->path, fd, err);
        if (answer == REFUSED) {
            /* The dead one keeps its lock, on a file that is no more. */
            if (same_file(fd, file))
                unlink(file);
            return 0;
        }
    }
    if (!same_file(fd, file))
        return 0;
    if (holder_write(fd) < 0) {
        fs_error(err, "write", file);
        unlink(file);
        return -1;
    }
    if (answer == NO_LOCKS && !is_ours_still(fd, file))
        return held_error(t->path, fd, err);
    return 1;
}

int run_lock_take_as(const char *path, double silence_s, bool without,
                     void (*tell)(const char *text), struct run_lock **out,
                     struct error *err)
{
    struct run_lock *lock = calloc(1, sizeof *lock);
    struct taker t = {
        .path = path, .silence_s = silence_s, .without = without, .tell = tell};
    int rc = 0;

    if (!lock || asprintf(&lock->file, "%s/%s", path, LOCK_NAME) < 0) {
        free(lock);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    }
    lock->end_fd = -1;
    t.file = lock->file;
    for (int i = 0; rc == 0 && i < TRIES; i++) {
        lock->fd = open(lock->file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (lock->fd < 0)
            rc = fs_error(err, "create", lock->file);
        else
            rc = lock_try(&t, lock->fd, err);
        if (rc <= 0 && lock->fd >= 0)
            close(lock->fd);
    }
    if (rc == 1) {
        *out = lock;
        return 0;
    }
    if (rc == 0)
        error_set(err, RAYTRAIN_ESTORAGE, "%s changes all the time; try again", path);
    free(lock->file);
    free(lock);
    return -1;
}

int run_lock_take(const char *path, void (*tell)(const char *text),
                  struct run_lock **lock, struct error *err)
{
    return run_lock_take_as(path, SILENCE_S, false, tell, lock, err);
}

/* ---- Keep --------------------------------------------------------------------------
 */

/* Is the file gone, or another's? That the storage does not answer just now, does not
 * say so. */
static bool is_lost(const struct run_lock *lock)
{
    struct stat ours, there;

    if (stat(lock->file, &there) < 0)
        return errno == ENOENT || errno == ENOTDIR;
    if (fstat(lock->fd, &ours) < 0)
        return errno == ESTALE;
    return ours.st_dev != there.st_dev || ours.st_ino != there.st_ino;
}

static void *keeper_thread(void *arg)
{
    struct run_lock *lock = arg;
    struct pollfd end = {.fd = lock->end_fd, .events = POLLIN};

    while (poll(&end, 1, (int)(lock->touch_s * 1e3)) <= 0) {
        if (is_lost(lock)) {
            kill(getpid(), SIGTERM);
            kill(getpid(), SIGINT);
            break;
        }
        futimens(lock->fd, NULL);
    }
    return NULL;
}

int run_lock_keep_as(struct run_lock *lock, double touch_s, struct error *err)
{
    lock->touch_s = touch_s;
    lock->end_fd = eventfd(0, EFD_CLOEXEC);
    if (lock->end_fd < 0)
        return error_set(err, RAYTRAIN_EFAILED, "eventfd: %s", strerror(errno));
    if (thread_start(&lock->thread, keeper_thread, lock, err) == 0)
        return 0;
    close(lock->end_fd);
    lock->end_fd = -1;
    return -1;
}

int run_lock_keep(struct run_lock *lock, struct error *err)
{
    return run_lock_keep_as(lock, TOUCH_S, err);
}

int run_lock_check(const struct run_lock *lock, struct error *err)
{
    char holder[256] = "", machine[256], *shown;
    int fd;

    if (!lock || !is_lost(lock))
        return 0;
    fd = open(lock->file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0) {
        holder_read(fd, holder, machine);
        close(fd);
    }
    shown = fs_printable(lock->file);
    if (fd >= 0)
        error_set(
            err, RAYTRAIN_ESTORAGE,
            "the lock %s has been taken over by another raytrain-run (%s): this one, "
            "or the storage, was asleep for a minute.\n"
            "  Leave the run to that one, or end it and go on with --resume",
            shown ? shown : LOCK_NAME, holder[0] ? holder : "which is gone");
    else
        error_set(
            err, RAYTRAIN_ESTORAGE,
            "the lock %s is gone: the run directory was moved or removed while the "
            "run was going on.\n"
            "  Put it back and go on with --resume, or start anew",
            shown ? shown : LOCK_NAME);
    free(shown);
    return -1;
}

void run_lock_release(struct run_lock *lock)
{
    const uint64_t one = 1;

    if (!lock)
        return;
    if (lock->end_fd >= 0) {
        while (write(lock->end_fd, &one, sizeof one) < 0 && errno == EINTR)
            continue;
        pthread_join(lock->thread, NULL);
        close(lock->end_fd);
    }
    /* Where there are no locks, an empty file is a free one. */
    (void)!ftruncate(lock->fd, 0);
    close(lock->fd);
    free(lock->file);
    free(lock);
}

bool run_lock_is_held(const char *path, char holder[256])
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char *file, machine[256];
    bool held = false;
    int fd;

    if (asprintf(&file, "%s/%s", path, LOCK_NAME) < 0)
        return false;
    fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0) {
        held = fcntl(fd, F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
        if (held)
            holder_read(fd, holder, machine);
        close(fd);
    }
    free(file);
    return held;
}
