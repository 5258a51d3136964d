/*
 * haproxy.c - check that HAProxy can balance the services of a run, and write its
 * configuration. place.c finds the services.
 */
#include "config.h"

#include "place/haproxy.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "util/fs.h"

struct writing {
    FILE *servers;
    char *token; /* of the first service; NULL: none */
    size_t n, n_tls;
    int rc;
    struct error *err;
};

/*
 * A prediction can be repeated safely, so it is tried again on another server,
 * regardless of how the first one failed. HAProxy can do so if its buffer holds the
 * whole request, which determines the size of the buffers.
 */
static const char head[] =
    "global\n"
    "    maxconn 4096\n"
    "    # larger requests are not tried on another server\n"
    "    tune.bufsize 262144\n"
    "\n"
    "defaults\n"
    "    mode http\n"
    "    timeout connect 2s\n"
    "    timeout client 70s\n"
    "    timeout server 70s\n"
    "    timeout queue 30s\n"
    "    timeout check 2s\n"
    "    retries 3\n"
    "    option redispatch 1\n"
    "    retry-on conn-failure empty-response junk-response response-timeout 503\n"
    "\n"
    "frontend raytrain\n"
    "    bind %s\n"
    "    # all of a request is there before it is sent to a server\n"
    "    option http-buffer-request\n"
    "    default_backend services\n"
    "\n"
    "backend services\n"
    "    balance leastconn\n"
    "    option httpchk\n"
    "    http-check send meth GET uri /v2/health/ready ver HTTP/1.1 hdr Host "
    "localhost\n"
    "    http-check expect status 200\n"
    "    default-server check inter 1s fall 2 rise 1 observe layer4 error-limit 1 "
    "on-error mark-down\n";

static int place_refuse(struct writing *w, const struct place_found *place,
                        const char *why)
{
    w->rc =
        error_set(w->err, RAYTRAIN_EINVAL, "the service on %s %s", place->host, why);
    return -1;
}

/* HAProxy passes on the token of a client, so all services need the same one. */
static int token_check(struct writing *w, const struct place_found *place)
{
    const char *path = place->address.token_file;
    char *token = NULL;
    int rc = 0;

    if (path && fs_read(path, &token, NULL, w->err) < 0) {
        w->rc = -1;
        return -1;
    }
    if (w->n == 0) {
        w->token = token;
        return 0;
    }
    if (!token != !w->token || (token && strcmp(token, w->token) != 0))
        rc = place_refuse(
            w, place,
            "has another token than the others: start all of them with the "
            "same --token-file");
    free(token);
    return rc;
}

/* Is it a single word of the configuration, without spaces or quotes? */
static bool is_one_word(const char *text)
{
    return text[strcspn(text, " \t\r\n\"'\\#$")] == '\0';
}

/* HOST of a URL; "[::1]" with its brackets. */
static int host_length(const char *at)
{
    return (int)(*at == '[' ? strcspn(at, "]") + 1 : strcspn(at, ":/"));
}

/* HAProxy compares certificates only with names. */
static int tls_check(struct writing *w, const struct place_found *place, const char *at)
{
    struct in6_addr ignored;
    char host[256];

    snprintf(host, sizeof host, "%.*s", host_length(at), at);
    if (*at != '[' && inet_pton(AF_INET, host, &ignored) != 1)
        return 0;
    return place_refuse(
        w, place,
        "has TLS and no name, and HAProxy verifies a certificate by a name: "
        "start it with --listen NAME:PORT or 0.0.0.0:PORT");
}

/* Before the first of them. */
static const char signed_by[] =
    "    # ca-file: for a certificate that a CA has signed, name that of the CA,\n"
    "    # or @system-ca\n";

/* Each service of a run may have a certificate of its own, for its host. */
static void tls_write(struct writing *w, const char *at, const char *cert)
{
    int n = host_length(at);

    fprintf(w->servers,
            " ssl verify required ca-file %s verifyhost %.*s check-sni %.*s "
            "sni str(%.*s)",
            cert ? cert : "@system-ca", n, at, n, at, n, at);
}

static void server_write(struct writing *w, const struct place_found *place)
{
    const struct place_address *a = &place->address;
    bool tls = strncmp(a->url, "https://", 8) == 0;
    const char *at = strstr(a->url, "://");
    const char *port;

    at = at ? at + 3 : a->url;
    if (tls && tls_check(w, place, at) < 0)
        return;
    port = at + host_length(at);
    if (tls && w->n_tls++ == 0)
        fputs(signed_by, w->servers);
    fprintf(w->servers, "    server service%zu ", w->n);
    if (a->socket)
        fprintf(w->servers, "unix@%s", a->socket);
    else if (a->address)
        fprintf(w->servers, strchr(a->address, ':') ? "[%s]%s" : "%s%s", a->address,
                port);
    else
        fputs(at, w->servers);
    if (tls)
        tls_write(w, at, a->tls_cert);
    fprintf(w->servers, " # %s on %s\n", a->model ? a->model : "several models",
            place->host);
}

/* A service that can only be reached from its own host. */
static bool is_local(const struct place_address *a)
{
    return a->socket || strstr(a->url, "://127.") || strstr(a->url, "://[::1]") ||
           strstr(a->url, "://localhost:");
}

static void on_place(void *arg, const struct place_found *place)
{
    const struct place_address *a = &place->address;
    struct writing *w = arg;

    if (w->rc < 0)
        return;
    if (place->foreign) {
        w->rc = error_set(w->err, RAYTRAIN_EINVAL,
                          "%s; HAProxy would send the tokens of your clients there: "
                          "serve a copy of the checkpoint yourself",
                          place->foreign);
        return;
    }
    if (!place->here && is_local(a)) {
        place_refuse(
            w, place,
            "can only be reached from there: start it with --listen 0.0.0.0:0");
        return;
    }
    if (!is_one_word(a->url) || (a->socket && !is_one_word(a->socket)) ||
        (a->address && !is_one_word(a->address)) ||
        (a->tls_cert && !is_one_word(a->tls_cert)) || !is_one_word(place->host)) {
        place_refuse(w, place, "has an address that HAProxy cannot have");
        return;
    }
    if (token_check(w, place) < 0)
        return;
    w->n++;
    server_write(w, place);
}

int haproxy_write(const char *run_or_checkpoint, const char *bind, FILE *out,
                  struct error *err)
{
    char *servers = NULL;
    size_t n, size;
    struct writing w = {.servers = open_memstream(&servers, &size), .err = err};
    int rc;

    if (!w.servers)
        return error_no_memory(err);
    rc = place_each(run_or_checkpoint, on_place, &w, &n, err);
    if (fclose(w.servers) != 0 && rc == 0)
        rc = error_no_memory(err);
    if (rc == 0)
        rc = w.rc;
    if (rc == 0 && w.n == 0)
        rc = error_set(err, RAYTRAIN_ENOTFOUND, "%s is not served now",
                       run_or_checkpoint);
    if (rc == 0 && (fprintf(out, head, bind) < 0 || fputs(servers, out) == EOF ||
                    fflush(out) != 0))
        rc = fs_error(err, "write to", "standard output");
    free(servers);
    free(w.token);
    return rc;
}
