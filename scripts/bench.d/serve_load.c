/*
 * serve_load.c - clients of an HTTP server: one request, sent again and again over
 * connections that are kept.
 *
 *     serve_load ADDRESS PATH BODY CLIENTS SECONDS RATE
 *
 * ADDRESS: the path of a Unix socket, or HOST:PORT in numbers. BODY: a file. RATE: requests
 * per second of all clients together, at equal distances; 0: each client sends the next one
 * as soon as it has its answer. A latency counts from when the request was due. The first
 * tenth of the time is for warming up.
 *
 * Prints: requests/s, the median of the latency, its 99th percentile and its largest, in
 * microseconds, and how many requests got another answer than 200 or none.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS_MAX 1024
#define ANSWER_MAX  65536

struct client {
    int fd;
    double due; /* of the request under way; 0: none is */
    size_t sent, n;
    char answer[ANSWER_MAX];
};

static struct client clients[CLIENTS_MAX];
static int n_clients, epoll;
static char *request;
static size_t n_request;
static double *latencies; /* microseconds */
static size_t n_latencies, room;
static long failed;
static double count_from;

static void die(const char *what)
{
    fprintf(stderr, "serve_load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void request_make(const char *path, const char *file)
{
    FILE *in = fopen(file, "rb");
    static char body[16 << 20];
    size_t n = in ? fread(body, 1, sizeof body, in) : 0;
    int head;

    if (n == 0)
        die(file);
    fclose(in);
    request = malloc(n + 1024);
    if (!request)
        die("memory");
    head =
        snprintf(request, 1024,
                 "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
                 "\r\nContent-Length: %zu\r\n\r\n",
                 path, n);
    memcpy(request + head, body, n);
    n_request = (size_t)head + n;
}

static int unix_connect(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (strlen(path) >= sizeof to.sun_path)
        die("the path of the socket is too long");
    strcpy(to.sun_path, path);
    return connect(fd, (struct sockaddr *)&to, sizeof to) < 0 ? -1 : fd;
}

static int tcp_connect(const char *address)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    const char *colon = strrchr(address, ':');
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    char host[64] = "";

    if (!colon || (size_t)(colon - address) >= sizeof host)
        die("no HOST:PORT");
    memcpy(host, address, (size_t)(colon - address));
    to.sin_port = htons((uint16_t)atoi(colon + 1));
    if (inet_pton(AF_INET, host, &to.sin_addr) != 1)
        die("no address");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return connect(fd, (struct sockaddr *)&to, sizeof to) < 0 ? -1 : fd;
}

static void client_connect(struct client *c, const char *address)
{
    struct epoll_event on = {.events = EPOLLIN, .data.ptr = c};

    c->fd = strchr(address, '/') ? unix_connect(address) : tcp_connect(address);
    if (c->fd < 0 || fcntl(c->fd, F_SETFL, O_NONBLOCK) < 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &on) < 0)
        die("cannot connect");
}

static void client_watch(struct client *c, uint32_t events)
{
    struct epoll_event on = {.events = events, .data.ptr = c};

    if (epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &on) < 0)
        die("epoll");
}

static void client_send(struct client *c)
{
    ssize_t n = send(c->fd, request + c->sent, n_request - c->sent, MSG_NOSIGNAL);

    if (n < 0 && errno != EAGAIN)
        die("cannot send");
    c->sent += n > 0 ? (size_t)n : 0;
    client_watch(c, c->sent < n_request ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void client_ask(struct client *c, double due)
{
    c->due = due;
    c->sent = c->n = 0;
    client_send(c);
}

static void count(double due, double end)
{
    if (due < count_from)
        return;
    if (n_latencies == room) {
        room = room ? 2 * room : 65536;
        latencies = realloc(latencies, room * sizeof *latencies);
        if (!latencies)
            die("memory");
    }
    latencies[n_latencies++] = (end - due) * 1e6;
}

/* Is the answer complete? */
static int is_whole(const struct client *c)
{
    const char *end = memmem(c->answer, c->n, "\r\n\r\n", 4);
    const char *length;

    if (!end)
        return 0;
    length = strcasestr(c->answer, "\r\ncontent-length:");
    return length &&
           c->n >= (size_t)(end + 4 - c->answer) + strtoul(length + 17, NULL, 10);
}

/* True if its answer has come. */
static int client_read(struct client *c)
{
    ssize_t n = recv(c->fd, c->answer + c->n, ANSWER_MAX - 1 - c->n, 0);

    if (n < 0 && errno == EAGAIN)
        return 0;
    if (n <= 0)
        die("the connection was closed");
    c->n += (size_t)n;
    c->answer[c->n] = '\0';
    if (!is_whole(c))
        return 0;
    count(c->due, now());
    failed += strncmp(c->answer, "HTTP/1.1 200 ", 13) != 0;
    c->due = 0;
    return 1;
}

/* Send those that are due, as far as there are clients. Returns when the next one is. */
static double send_due(double next, double step)
{
    for (int i = 0; i < n_clients && next <= now(); i++)
        if (clients[i].due == 0) {
            client_ask(&clients[i], next);
            next += step;
        }
    return next;
}

static int wait_ms(double next, double rate, int all_busy)
{
    double left = next - now();

    if (rate <= 0 || all_busy)
        return 100;
    return left > 1e-3 ? (int)(left * 1e3) : 0;
}

static int n_busy(void)
{
    int n = 0;

    for (int i = 0; i < n_clients; i++)
        n += clients[i].due > 0;
    return n;
}

static void run(double seconds, double rate)
{
    double start = now(), next = start, end = start + seconds;
    struct epoll_event events[64];

    count_from = start + seconds / 10;
    for (int i = 0; rate <= 0 && i < n_clients; i++)
        client_ask(&clients[i], now());
    while (now() < end) {
        int n;

        if (rate > 0)
            next = send_due(next, 1 / rate);
        n = epoll_wait(epoll, events, 64, wait_ms(next, rate, n_busy() == n_clients));
        for (int i = 0; i < n; i++) {
            struct client *c = events[i].data.ptr;

            if (events[i].events & EPOLLOUT)
                client_send(c);
            if ((events[i].events & ~(uint32_t)EPOLLOUT) && client_read(c) && rate <= 0)
                client_ask(c, now());
        }
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char *argv[])
{
    double seconds, rate;

    if (argc != 7 || (n_clients = atoi(argv[4])) < 1 || n_clients > CLIENTS_MAX)
        return 2;
    seconds = atof(argv[5]);
    rate = atof(argv[6]);
    request_make(argv[2], argv[3]);
    epoll = epoll_create1(0);
    for (int i = 0; i < n_clients; i++)
        client_connect(&clients[i], argv[1]);
    run(seconds, rate);
    if (n_latencies == 0)
        die("no answers");
    qsort(latencies, n_latencies, sizeof *latencies, compare);
    printf("%.1f %.1f %.1f %.1f %ld\n", n_latencies / (seconds * 0.9),
           latencies[n_latencies / 2], latencies[n_latencies * 99 / 100],
           latencies[n_latencies - 1], failed);
    return 0;
}
