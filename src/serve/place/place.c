/*
 * place.c - the directories of services. In order: their names; make, write and remove
 * them; find them; the command for a user.
 */
#include "config.h"

#include "place/place.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/argv.h"
#include "util/fs.h"
#include "util/private_dir.h"
#include "util/process.h"
#include "util/quote.h"
#include "util/run_record.h"

#define FOLDER  "serve"
#define ADDRESS "address.json"

#define SOCKET_MOST (sizeof((struct sockaddr_un *)0)->sun_path - 1)

/* ---- Names ---- */

/* RUN/serve; NULL: no memory. */
static char *folder_of(const char *run_or_checkpoint)
{
    const char *slash = strrchr(run_or_checkpoint, '/');
    struct stat st;
    char *folder;
    int rc;

    if (stat(run_or_checkpoint, &st) == 0 && S_ISDIR(st.st_mode))
        rc = asprintf(&folder, "%s/" FOLDER, run_or_checkpoint);
    else if (slash)
        rc = asprintf(&folder, "%.*s/" FOLDER, (int)(slash - run_or_checkpoint),
                      run_or_checkpoint);
    else
        rc = asprintf(&folder, FOLDER);
    return rc < 0 ? NULL : folder;
}

static char *file_in(const char *dir, const char *name)
{
    char *path;

    return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static void host_name(char host[256])
{
    host[0] = '\0';
    gethostname(host, 255);
}

/* ---- Make, write, remove ---- */

/* HOST.PID of a process that this one cannot see on this host. A container uses the same
 * few ids again: the place with the id of this process is of another one, which has ended
 * or is in another container. *own: it has that id. */
static bool may_be_left(const char *name, bool *own)
{
    char host[256];
    size_t n;
    long pid;
    char *end;

    host_name(host);
    n = strlen(host);
    if (strncmp(name, host, n) != 0 || name[n] != '.')
        return false;
    pid = strtol(name + n + 1, &end, 10);
    *own = pid == getpid();
    return *end == '\0' && pid > 0 && (*own || process_birth((pid_t)pid) == 0);
}

/* Where there are no locks, a service of another container with this id may run. */
static void one_left_remove(const char *path, bool own)
{
    int fd;
    enum private_dir_use use = private_dir_use(path, &fd);

    if (use == PRIVATE_DIR_UNUSED || (use == PRIVATE_DIR_UNKNOWN && !own))
        place_remove(path);
    if (fd >= 0)
        close(fd);
}

/* May a service write its address there for clients? The owner of the folder can
 * replace it. */
static int folder_check(const char *folder, int fd, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    struct error why;

    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s is a link or a file, and not a directory that a service "
                         "has made: remove it",
                         quote(folder, quoted));
    if (fd < 0)
        return fs_error(err, "open", folder);
    if (record_check_dir(fd, folder, &why) == 0)
        return 0;
    return error_set(err, why.code,
                     "%s: copy the checkpoint to a directory of yours, and serve that",
                     why.text);
}

/* Takes ownership of the folder's descriptor. */
static void left_remove(const char *folder, int fd)
{
    DIR *all = fdopendir(fd);
    struct dirent *entry;

    if (!all)
        close(fd);
    while (all && (entry = readdir(all))) {
        bool own;
        char *path =
            may_be_left(entry->d_name, &own) ? file_in(folder, entry->d_name) : NULL;

        if (path)
            one_left_remove(path, own);
        free(path);
    }
    if (all)
        closedir(all);
}

/* A process makes one place in a folder. */
static int fail_make(const char *dir, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    if (errno != EEXIST)
        return fs_error(err, "create", dir);
    return error_set(err, RAYTRAIN_ESTORAGE,
                     "%s belongs to a service with the same host name and process id, "
                     "perhaps in another container: give each container a host name of "
                     "its own, or, if no such service runs, remove the directory",
                     quote(dir, quoted));
}

int place_make(const char *run_or_checkpoint, char **dir, int *lock, struct error *err)
{
    char *folder = folder_of(run_or_checkpoint), host[256];
    int rc, fd = -1;

    if (!folder)
        return error_no_memory(err);
    host_name(host);
    *dir = NULL;
    *lock = -1;
    rc = fs_mkdirs(folder, 0777, err);
    if (rc == 0) {
        fd = record_open_dir(folder, 1);
        rc = folder_check(folder, fd, err);
    }
    if (rc < 0 && fd >= 0)
        close(fd);
    if (rc == 0) {
        left_remove(folder, fd);
        if (asprintf(dir, "%s/%s.%d", folder, host, (int)getpid()) < 0) {
            *dir = NULL;
            rc = error_no_memory(err);
        }
    }
    if (rc == 0 && (*lock = private_dir_make_at(*dir)) < 0)
        rc = fail_make(*dir, err);
    if (rc < 0) {
        free(*dir);
        *dir = NULL;
    }
    free(folder);
    return rc;
}

/* For clients that are in another directory. */
static json_t *path_json(const char *path, size_t most)
{
    char *whole = path ? realpath(path, NULL) : NULL;
    json_t *json = json_null();

    if (path)
        json = json_text(whole && strlen(whole) <= most ? whole : path);
    free(whole);
    return json;
}

int place_write(const char *dir, const struct place_address *a, struct error *err)
{
    char host[256], *path = file_in(dir, ADDRESS), *text = NULL;
    json_t *json;
    int rc = -1;

    host_name(host);
    json = json_pack("{s:o, s:i, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "host",
                     json_text(host), "pid", (int)getpid(), "born",
                     (json_int_t)process_birth(getpid()), "model",
                     a->model ? json_text(a->model) : json_null(), "url",
                     json_text(a->url), "socket", path_json(a->socket, SOCKET_MOST),
                     "address", a->address ? json_text(a->address) : json_null(),
                     "token_file", path_json(a->token_file, PATH_MAX), "tls_cert",
                     path_json(a->tls_cert, PATH_MAX));
    if (json)
        text = json_dumps(json, JSON_INDENT(2));
    if (path && text)
        rc = fs_write_atomic(path, text, strlen(text), 0600, err);
    else
        error_no_memory(err);
    json_decref(json);
    free(text);
    free(path);
    return rc;
}

void place_remove(const char *dir)
{
    struct error err;

    if (dir)
        fs_remove_tree(dir, &err);
}

/* ---- The name of this host ---- */

/* Its first address that is not a loopback address; NULL: it has none. */
static char *address_of_host(const char *host)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found, *at;
    char text[NI_MAXHOST], *address = NULL;

    if (getaddrinfo(host, NULL, &hints, &found) != 0)
        return NULL;
    for (at = found; at && !address; at = at->ai_next)
        if (getnameinfo(at->ai_addr, at->ai_addrlen, text, sizeof text, NULL, 0,
                        NI_NUMERICHOST) == 0 &&
            strncmp(text, "127.", 4) != 0 && strcmp(text, "::1") != 0)
            address = strdup(text);
    freeaddrinfo(found);
    return address;
}

int place_name(const char *text, char **name, char **address, struct error *err)
{
    const char *port = strrchr(text, ':');
    char host[256];

    *address = NULL;
    host_name(host);
    if (!port ||
        (strncmp(text, "0.0.0.0:", 8) != 0 && strncmp(text, "[::]:", 5) != 0)) {
        *name = strdup(text);
    } else {
        *address = address_of_host(host);
        if (asprintf(name, "%s%s", host, port) < 0)
            *name = NULL;
    }
    if (*name)
        return 0;
    free(*address);
    *address = NULL;
    return error_no_memory(err);
}

/* ---- Find ---- */

static const char *place_text(const json_t *json, const char *key)
{
    return json_string_value(json_object_get(json, key));
}

/* Does the process that wrote it still exist? On another host it may. */
static bool is_alive(const json_t *json, bool here)
{
    pid_t pid = (pid_t)json_integer_value(json_object_get(json, "pid"));
    json_int_t born = json_integer_value(json_object_get(json, "born"));

    return !here || (pid > 0 && process_birth(pid) == (unsigned long long)born);
}

/* Is it safe in a command: one line, and not an option? */
static bool is_plain(const json_t *json)
{
    const char *key, *url = place_text(json, "url");
    json_t *value;

    if (!url || (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0))
        return false;
    json_object_foreach((json_t *)(uintptr_t)json, key,
                        value) for (const char *c = json_string_value(value); c && *c;)
    {
        int n = printable_length(c);

        if (n == 0)
            return false;
        c += n;
    }
    return true;
}

static void found_deliver(const json_t *json, const char *foreign,
                          void (*found)(void *arg, const struct place_found *place),
                          void *arg, size_t *n)
{
    struct place_found place = {
        .host = place_text(json, "host"),
        .foreign = foreign,
        .address = {.model = place_text(json, "model"),
                    .url = place_text(json, "url"),
                    .socket = place_text(json, "socket"),
                    .address = place_text(json, "address"),
                    .token_file = place_text(json, "token_file"),
                    .tls_cert = place_text(json, "tls_cert")}};
    char host[256];

    if (!place.host || !is_plain(json))
        return;
    host_name(host);
    place.here = strcmp(place.host, host) == 0;
    if (!is_alive(json, place.here))
        return;
    ++*n;
    found(arg, &place);
}

static void address_read(const char *path,
                         void (*found)(void *arg, const struct place_found *place),
                         void *arg, size_t *n)
{
    int fd = record_open(path, RECORD_OF_SERVICE);
    struct error why;
    json_t *json;
    bool mine;

    if (fd < 0)
        return;
    mine = record_check_owner(fd, path, &why) == 0;
    json = record_parse_json(fd);
    if (json)
        found_deliver(json, mine ? NULL : why.text, found, arg, n);
    json_decref(json);
    close(fd);
}

int place_each(const char *run_or_checkpoint,
               void (*found)(void *arg, const struct place_found *place), void *arg,
               size_t *n, struct error *err)
{
    char *folder = folder_of(run_or_checkpoint);
    struct dirent **names;
    int count;

    *n = 0;
    if (!folder)
        return error_no_memory(err);
    count = scandir(folder, &names, NULL, alphasort);
    if (count < 0 && errno != ENOENT) {
        fs_error(err, "read", folder);
        free(folder);
        return -1;
    }
    for (int i = 0; i < count; i++) {
        char *dir = file_in(folder, names[i]->d_name);
        char *path = dir ? file_in(dir, ADDRESS) : NULL;

        if (path)
            address_read(path, found, arg, n);
        free(path);
        free(dir);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    free(folder);
    return 0;
}

/* ---- What to type ---- */

/* HOST:PORT of a URL; NULL without memory. */
static char *authority_of(const char *url)
{
    const char *at = strstr(url, "://");

    at = at ? at + 3 : url;
    return strndup(at, strcspn(at, "/"));
}

static bool is_known(const char *authority)
{
    char *host = strndup(authority, strcspn(authority, ":"));
    struct addrinfo *found;
    bool known = host && getaddrinfo(host, NULL, NULL, &found) == 0;

    if (known)
        freeaddrinfo(found);
    free(host);
    return known;
}

static int resolve_words(const struct place_address *a, char ***words,
                         struct error *err)
{
    char *authority = authority_of(a->url);
    int rc = authority ? 0 : error_no_memory(err);

    if (rc == 0 && !is_known(authority))
        rc = argv_append(words, "--resolve", err) < 0
                 ? -1
                 : argv_appendf(words, err, "%s:%s", authority, a->address);
    free(authority);
    return rc;
}

static int curl_words(const struct place_address *a, char ***words, struct error *err)
{
    int rc = argv_append(words, "curl", err);

    if (rc == 0 && a->socket)
        rc = argv_append(words, "--unix-socket", err);
    if (rc == 0 && a->socket)
        rc = argv_append(words, a->socket, err);
    if (rc == 0 && a->address)
        rc = resolve_words(a, words, err);
    if (rc == 0 && a->tls_cert)
        rc = argv_append(words, "--cacert", err) < 0
                 ? -1
                 : argv_append(words, a->tls_cert, err);
    if (rc == 0 && a->model)
        return argv_appendf(words, err, "%s/v2/models/%s", a->url, a->model);
    if (rc == 0)
        rc = argv_append(words, "-X", err);
    if (rc == 0)
        rc = argv_append(words, "POST", err);
    if (rc == 0)
        rc = argv_appendf(words, err, "%s/v2/repository/index", a->url);
    return rc;
}

/* The token is not part of the command line, where other users could see it. */
char *place_curl(const struct place_address *a)
{
    char **words = NULL, *line = NULL, *file = NULL, *all = NULL;
    struct error err;

    if (curl_words(a, &words, &err) == 0 && argv_join(words, &line, &err) == 0 &&
        a->token_file) {
        char *const one[] = {(char *)(uintptr_t)a->token_file, NULL};

        if (argv_join(one, &file, &err) < 0 ||
            asprintf(&all, "%s -H @<(printf 'Authorization: Bearer '; cat %s)", line,
                     file) < 0)
            all = NULL;
        free(line);
        line = all;
        free(file);
    }
    argv_free(words);
    return line;
}
