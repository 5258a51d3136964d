/* run_lock.c - the file; a process that wants the lock; take it; keep it and lose
 * it. */
#include "run/run_lock.h"

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
#include "util/quote.h"
#include "util/process.h"
#include "util/thread.h"

#define LOCK_NAME  ".lock"
#define LOCK_BYTES 512 /* constant: other nodes may not see a file grow or shrink */
#define COUNT_AT   480 /* where the touches are */
#define TOUCH_S    3.0
#define SILENCE_S  60.0
#define GRANTED_S                                                                      \
    (2 * TOUCH_S + 1)  /* a lock that only one node knows of proves little */
#define LOOK_S    0.05 /* between two looks at a file that another process may touch */
#define PASSING_S 2.0
#define SETTLE_S                                                                       \
    0.3 /* to wait for a process that takes or releases it at this moment */
#define TRIES     100 /* tries to lock a file that others may be renaming */
#define PLACE_MAX 160

struct run_lock {
    int fd;
    char *file;
    int end_fd; /* ends the thread; -1: there is none */
    double touch_s;
    unsigned long touches;
    pthread_t thread;
};

/* The contents of the file at one moment. */
struct content {
    char text[LOCK_BYTES + 1];
    struct timespec touched;
    ino_t number;
};

/* ---- The holder ---- */

/* The rest of the line may be blanks. */
static bool place_is(const char *text, const char *place)
{
    size_t n = strlen(place);

    return strncmp(text, place, n) == 0 && text[n + strspn(text + n, " ")] == '\0';
}

/* The file's own inode number: a copy has another one. */
static unsigned long inode_of(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 ? (unsigned long)st.st_ino : 0;
}

/* The first line is for people; the second for us: the file's inode number, pid and
 * place. The touches are in the third. role: what the process does, with ", " at its
 * end; "": it is raytrain-run. */
static int holder_write(int fd, const char *role)
{
    char host[65] = "unknown", text[LOCK_BYTES], date[32], place[PLACE_MAX],
         job[64] = "";
    const char *id = getenv("SLURM_JOB_ID");
    int n;

    gethostname(host, sizeof host - 1);
    place_of_self(place);
    clock_iso8601(clock_unix(), date);
    if (id && *id)
        snprintf(job, sizeof job, "job %.32s, ", id);
    memset(text, ' ', sizeof text);
    n = snprintf(text, COUNT_AT, "host %s, %spid %ld, %ssince %s\n%lu %ld %s\n", host,
                 job, (long)getpid(), role, date, inode_of(fd), (long)getpid(), place);
    text[n < COUNT_AT ? n : COUNT_AT - 1] = ' ';
    text[LOCK_BYTES - 1] = '\n';
    if (fs_pwrite_full(fd, text, sizeof text, 0) < 0)
        return -1;
    return fdatasync(fd);
}

/* The text of a free lock. */
static void free_fill(char text[LOCK_BYTES])
{
    memset(text, ' ', LOCK_BYTES);
    text[0] = text[LOCK_BYTES - 1] = '\n';
}

/* The file gets its name when it has its size; if several processes create it at once,
 * one succeeds. */
static int file_make(const char *file, struct error *err)
{
    char text[LOCK_BYTES];
    int rc;

    if (access(file, F_OK) == 0)
        return 0;
    free_fill(text);
    rc = fs_create(file, text, sizeof text, 0666, err);
    return rc < 0 && errno == EEXIST ? 0 : rc;
}

static bool content_read(int fd, struct content *c)
{
    struct stat st;
    ssize_t n = pread(fd, c->text, LOCK_BYTES, 0);

    c->text[n > 0 ? n : 0] = '\0';
    if (fstat(fd, &st) < 0)
        return false;
    c->touched = st.st_mtim;
    c->number = st.st_ino;
    return n >= 0;
}

static bool content_same(const struct content *a, const struct content *b)
{
    return a->number == b->number && a->touched.tv_sec == b->touched.tv_sec &&
           a->touched.tv_nsec == b->touched.tv_nsec && strcmp(a->text, b->text) == 0;
}

/* Both lines, whatever the file contains. "": the lock is free. */
static void content_split(const struct content *c, char line[256], char machine[256])
{
    const char *end = strchr(c->text, '\n');
    size_t n = end ? (size_t)(end - c->text) : strlen(c->text);

    snprintf(line, 256, "%.*s", (int)(n < 255 ? n : 255), c->text);
    snprintf(machine, 256, "%.*s", end ? (int)strcspn(end + 1, "\n") : 0,
             end ? end + 1 : "");
    for (char *at = line; *at; at++)
        if ((unsigned char)*at < 0x20 || (unsigned char)*at >= 0x7f)
            *at = ' ';
    for (n = strlen(line); n > 0 && line[n - 1] == ' '; n--)
        line[n - 1] = '\0';
}

static bool content_is_free(const struct content *c)
{
    char line[256], machine[256];

    content_split(c, line, machine);
    return !line[0];
}

static void holder_read(int fd, char line[256], char machine[256])
{
    struct content c = {0};

    content_read(fd, &c);
    content_split(&c, line, machine);
}

static int held_error(const char *path, int fd, struct error *err)
{
    char holder[256], machine[256], *shown = printable_text(path);

    holder_read(fd, holder, machine);
    error_set(
        err, RAYTRAIN_ESTORAGE,
        "%s is in use by another raytrain-run (%s); wait for it, end it, or choose "
        "another --name",
        shown ? shown : "the run directory", holder[0] ? holder : "holder unknown");
    free(shown);
    return -1;
}

/* ---- Does it live? ---- */

static bool same_file(int fd, const char *path)
{
    struct stat a, b;

    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Opening the file makes a network file system look again. */
static bool content_look(const char *file, struct content *c)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool found = fd >= 0 && content_read(fd, c);

    if (fd >= 0)
        close(fd);
    return found;
}

enum answer { GRANTED, REFUSED, NO_LOCKS, BROKEN };

/* A lock of the open file; where there are none, one of this process. */
static int kernel_lock(int fd, short type)
{
    struct flock whole = {.l_type = type, .l_whence = SEEK_SET};

    if (fcntl(fd, F_OFD_SETLK, &whole) == 0)
        return 0;
    return errno == EACCES || errno == EAGAIN ? -1 : fcntl(fd, F_SETLK, &whole);
}

static enum answer kernel_ask(int fd, bool without)
{
    if (without)
        return NO_LOCKS;
    if (kernel_lock(fd, F_WRLCK) == 0)
        return GRANTED;
    if (errno == EACCES || errno == EAGAIN)
        return REFUSED;
    if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP || errno == EINVAL)
        return NO_LOCKS;
    return BROKEN;
}

/* A process that wants the lock. */
struct taker {
    const char *path;
    char *file; /* an open lock */
    double silence_s;
    bool without;
    void (*tell)(const char *text); /* NULL after the first call */
    struct content silent;          /* a file that was not touched for long enough */
};

static void wait_tell(struct taker *t, const char *holder, double silence_s)
{
    char *shown = t->tell ? printable_text(t->path) : NULL, *text = NULL;

    if (shown &&
        asprintf(&text,
                 "%s is locked by another raytrain-run (%s); watching for up to "
                 "%.0f s whether that one lives",
                 shown, holder[0] ? holder : "holder unknown", silence_s) > 0)
        t->tell(text);
    t->tell = NULL;
    free(text);
    free(shown);
}

enum life { LIVES, DEAD, GIVEN_UP };

/* Watch a file that another process seems to hold: does it touch it? GIVEN_UP: it has
 * released the lock meanwhile, or the file is gone. */
static enum life content_watch(struct taker *t, int fd, enum answer answer,
                               const struct content *first, double silence_s)
{
    double until = clock_now() + silence_s;
    char line[256], machine[256];
    struct content now;

    content_split(first, line, machine);
    wait_tell(t, line, silence_s);
    while (clock_now() < until) {
        poll(NULL, 0, (int)(LOOK_S * 1e3));
        if (!content_look(t->file, &now) ||
            (answer == REFUSED && kernel_ask(fd, false) == GRANTED))
            return GIVEN_UP;
        if (content_same(&now, first))
            continue;
        return content_is_free(&now) ? GIVEN_UP : LIVES;
    }
    t->silent = *first;
    return DEAD;
}

/* A process holds the lock, but the file does not name it: it is just taking or
 * releasing the lock. Wait until it has. */
static bool is_passing(struct taker *t, int fd, const struct content *first)
{
    double until = clock_now() + (t->silence_s < PASSING_S ? t->silence_s : PASSING_S);
    struct content now;

    while (clock_now() < until) {
        poll(NULL, 0, (int)(LOOK_S * 1e3));
        if (!content_look(t->file, &now) || !content_same(&now, first) ||
            kernel_ask(fd, false) == GRANTED)
            return true;
    }
    return false;
}

/* What has become of the process that wrote this file? locked: according to the kernel,
 * which knows the processes of this host, some process holds the lock. */
static enum life holder_life(struct taker *t, int fd, enum answer answer)
{
    char line[256], machine[256], place[PLACE_MAX], *end;
    struct content c = {0};
    unsigned long number;
    bool locked = answer == REFUSED;
    double silence_s;
    long pid;

    content_read(fd, &c);
    content_split(&c, line, machine);
    place_of_self(place);
    number = strtoul(machine, &end, 10);
    pid = *end == ' ' ? strtol(end + 1, &end, 10) : 0;
    if (!locked && (!line[0] || (pid > 0 && number != inode_of(fd))))
        return DEAD;
    if (locked && !line[0] && is_passing(t, fd, &c))
        return GIVEN_UP;
    if (pid > 0 && *end == ' ' && place_is(end + 1, place))
        return !locked && (answer == GRANTED || pid == (long)getpid() ||
                           (kill((pid_t)pid, 0) < 0 && errno == ESRCH))
                   ? DEAD
                   : LIVES;
    if (answer == GRANTED && (pid <= 0 || content_same(&c, &t->silent)))
        return DEAD;
    if (answer != GRANTED)
        return content_watch(t, fd, answer, &c, t->silence_s);
    /* Closing any descriptor of the lock, as watching the file does, releases it. */
    silence_s = t->silence_s < GRANTED_S ? t->silence_s : GRANTED_S;
    return content_watch(t, fd, answer, &c, silence_s) == LIVES ? LIVES : GIVEN_UP;
}

/* ---- Take ---- */

/* Without locks, if two processes come at the same moment, the one whose name is in the
 * file at the end has the lock. */
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

/* One try: 1 taken, 0 try again, -1 held by another process, or an error. A fresh start
 * elsewhere may rename the directory between our open and our lock: then it is another
 * run's lock. */
static int lock_try(struct taker *t, int fd, struct error *err)
{
    enum answer answer = kernel_ask(fd, t->without);
    const char *file = t->file;
    struct content now;
    enum life life;

    if (answer == BROKEN)
        return fs_error(err, "lock", file);
    life = holder_life(t, fd, answer);
    if (life == LIVES && content_look(file, &now) && content_is_free(&now))
        return 0; /* just released */
    if (life == LIVES)
        return held_error(t->path, fd, err);
    if (life == GIVEN_UP)
        return 0;
    if (answer == REFUSED) {
        /* A dead process keeps its lock, but on a file that is gone. */
        if (same_file(fd, file))
            unlink(file);
        return 0;
    }
    if (!same_file(fd, file))
        return 0;
    if (holder_write(fd, "") < 0) {
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
        return error_no_memory(err);
    }
    lock->end_fd = -1;
    t.file = lock->file;
    for (int i = 0; rc == 0 && i < TRIES; i++) {
        rc = file_make(lock->file, err);
        lock->fd = rc < 0 ? -1 : open(lock->file, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (lock->fd >= 0)
            rc = lock_try(&t, lock->fd, err);
        else if (rc == 0 && errno != ENOENT) /* it may just have been renamed */
            rc = fs_error(err, "open", lock->file);
        if (rc <= 0 && lock->fd >= 0)
            close(lock->fd);
    }
    if (rc == 1) {
        *out = lock;
        return 0;
    }
    if (rc == 0)
        error_set(err, RAYTRAIN_ESTORAGE, "%s keeps changing; try again", path);
    free(lock->file);
    free(lock);
    return -1;
}

int run_lock_take(const char *path, void (*tell)(const char *text),
                  struct run_lock **lock, struct error *err)
{
    return run_lock_take_as(path, SILENCE_S, false, tell, lock, err);
}

/* ---- Keep ---- */

/* Is the file gone, or another process's? If the storage does not answer now, that is
 * not known. */
static bool is_lost(const struct run_lock *lock)
{
    struct stat ours, there;

    if (stat(lock->file, &there) < 0)
        return errno == ENOENT || errno == ENOTDIR;
    if (fstat(lock->fd, &ours) < 0)
        return errno == ESTALE;
    return ours.st_dev != there.st_dev || ours.st_ino != there.st_ino;
}

/* On storage with a cache on each node, a changed time stamp may stay on the node,
 * while bytes are sent. A touch that cannot be written is not seen. */
static void touch(struct run_lock *lock)
{
    char text[LOCK_BYTES - COUNT_AT];

    memset(text, ' ', sizeof text);
    text[snprintf(text, sizeof text, "%lu", ++lock->touches)] = ' ';
    text[sizeof text - 1] = '\n';
    if (fs_pwrite_full(lock->fd, text, sizeof text, COUNT_AT) == 0)
        fdatasync(lock->fd);
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
        touch(lock);
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
    shown = printable_text(lock->file);
    if (fd >= 0)
        error_set(
            err, RAYTRAIN_ESTORAGE,
            "the lock %s has been taken over by another raytrain-run (%s): this one, "
            "or the storage, was asleep for a minute.\n"
            "  Leave the run to that one, or end it and continue with --resume",
            shown ? shown : LOCK_NAME, holder[0] ? holder : "which is gone");
    else
        error_set(err, RAYTRAIN_ESTORAGE,
                  "the lock %s is gone: the run directory was moved or removed during "
                  "the run.\n"
                  "  Put it back and continue with --resume, or start over",
                  shown ? shown : LOCK_NAME);
    free(shown);
    return -1;
}

static void keeper_end(struct run_lock *lock)
{
    const uint64_t one = 1;

    if (lock->end_fd < 0)
        return;
    while (write(lock->end_fd, &one, sizeof one) < 0 && errno == EINTR)
        continue;
    pthread_join(lock->thread, NULL);
    close(lock->end_fd);
    lock->end_fd = -1;
}

void run_lock_release(struct run_lock *lock)
{
    char text[LOCK_BYTES];

    if (!lock)
        return;
    keeper_end(lock);
    /* If there are no locks, or each node knows only its own, this looks like a free
     * one. */
    free_fill(text);
    fs_pwrite_full(lock->fd, text, sizeof text, 0);
    (void)kernel_lock(lock->fd, F_UNLCK); /* another process may have it open */
    close(lock->fd);
    free(lock->file);
    free(lock);
}

void run_lock_remove(struct run_lock *lock)
{
    if (!lock)
        return;
    keeper_end(lock); /* it watches the file */
    unlink(lock->file);
    run_lock_release(lock);
}

/* ---- Inherit ---- */

int run_lock_descriptor(const struct run_lock *lock)
{
    return lock ? lock->fd : -1;
}

/* Is the parent still named by the file, and not a process that has taken the lock
 * meanwhile? */
static bool is_heir(int fd, const char *file, long parent)
{
    char line[256], machine[256], *end;

    if (fd < 0 || !same_file(fd, file) || kernel_ask(fd, false) == REFUSED)
        return false;
    holder_read(fd, line, machine);
    (void)strtoul(machine, &end, 10);
    return *end == ' ' && strtol(end + 1, &end, 10) == parent;
}

int run_lock_inherit(const char *path, int fd, long parent, struct run_lock **out,
                     struct error *err)
{
    struct run_lock *lock = calloc(1, sizeof *lock);
    int rc = 0;

    if (!lock || asprintf(&lock->file, "%s/%s", path, LOCK_NAME) < 0) {
        close(fd);
        free(lock);
        return error_no_memory(err);
    }
    lock->fd = fd;
    lock->end_fd = -1;
    if (!is_heir(fd, lock->file, parent))
        rc = held_error(path, fd, err);
    else if (holder_write(fd, "for workers that still finish, ") < 0)
        rc = fs_error(err, "write", lock->file);
    if (rc == 0) {
        *out = lock;
        return 0;
    }
    close(fd);
    free(lock->file);
    free(lock);
    return -1;
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

void run_lock_look(const char *path, struct run_lock_sight *sight)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char machine[256], place[PLACE_MAX], *file, *end;
    struct content c = {0};
    unsigned long number;
    bool held = false;
    long pid;
    int fd;

    *sight = (struct run_lock_sight){.state = RUN_LOCK_FREE};
    if (asprintf(&file, "%s/%s", path, LOCK_NAME) < 0)
        return;
    fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    free(file);
    if (fd < 0 || !content_read(fd, &c)) {
        if (fd >= 0)
            close(fd);
        return;
    }
    held = fcntl(fd, F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
    sight->locked = held;
    content_split(&c, sight->holder, machine);
    snprintf(sight->text, sizeof sight->text, "%s", c.text);
    number = strtoul(machine, &end, 10);
    pid = *end == ' ' ? strtol(end + 1, &end, 10) : 0;
    place_of_self(place);
    if (pid > 0 && *end == ' ' && place_is(end + 1, place)) {
        if (held || (number == inode_of(fd) && kill((pid_t)pid, 0) == 0))
            sight->state = RUN_LOCK_HELD;
    } else if (held || (sight->holder[0] && number == inode_of(fd))) {
        sight->state = RUN_LOCK_ELSEWHERE;
        sight->patience_s = held ? SILENCE_S : GRANTED_S;
    }
    close(fd);
}
