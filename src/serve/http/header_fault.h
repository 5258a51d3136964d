/*
 * header_fault.h - detect requests whose header is ambiguous. A proxy in front of the
 * service may have read such a header in another way, and may take the rest of the body
 * for a request of another client, or send it to another host. libmicrohttpd uses the
 * first of two values, and up to version 0.9.76 ends a value at a NUL.
 */
#ifndef RAYTRAIN_HTTP_HEADER_FAULT_H
#define RAYTRAIN_HTTP_HEADER_FAULT_H

#include <microhttpd.h>

/* The parts of the request line, as libmicrohttpd passes them. */
struct request_line {
    const char *method, *url, *version;
};

/* 0, or the status of the refusal, and *why is a sentence. */
int header_fault(struct MHD_Connection *connection, const struct request_line *line,
                 const char **why);

#endif
