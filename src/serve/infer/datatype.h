/* datatype.h - the names of element types in the protocol. */
#ifndef RAYTRAIN_INFER_DATATYPE_H
#define RAYTRAIN_INFER_DATATYPE_H

#include "infer/infer.h"

/* "FP32", ...; "BYTES" for text. */
const char *datatype_name(const struct infer_column *c);
/* Is data of this datatype what the column has? BOOL is for uint8, too. */
bool datatype_fits(const struct infer_column *c, const char *datatype);

#endif
