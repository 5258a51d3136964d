/*
 * served_model.h - a version of a model as the protocol describes it, made from the
 * HELLO of its workers. It is attached to its version (service/service.h).
 */
#ifndef RAYTRAIN_HTTP_SERVED_MODEL_H
#define RAYTRAIN_HTTP_SERVED_MODEL_H

#include "infer/infer.h"
#include "service/service.h"

/* A service's attach() and detach(). */
void *served_model_make(const char *name, const struct service_hello *hello);
void served_model_free(void *model);

const struct infer_model *served_model_of(const struct model_version *v);

#endif
