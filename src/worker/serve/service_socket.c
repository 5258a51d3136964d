/* service_socket.c - connects to the Unix socket of a service. */
#include "serve/service_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int service_socket_connect(const char *path, int *fd, struct error *err)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};

    *fd = -1;
    if (strlen(path) >= sizeof to.sun_path) /* the configuration refuses it */
        return error_set(err, RAYTRAIN_EINVAL, "predict.service: the path is too long");
    strcpy(to.sun_path, path);
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot make a socket: %s",
                         strerror(errno));
    if (connect(*fd, (const struct sockaddr *)&to, sizeof to) == 0)
        return 0;
    error_set(err, RAYTRAIN_ECOMM,
              "cannot connect to the service at %s: %s; is raytrain-serve still "
              "running?",
              path, strerror(errno));
    close(*fd);
    *fd = -1;
    return -1;
}
