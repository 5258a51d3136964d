/* datatype.h - the names of element types in the protocol. */
#ifndef RAYTRAIN_INFER_DATATYPE_H
#define RAYTRAIN_INFER_DATATYPE_H

#include "infer/infer.h"

/* "FP32", ...; "BYTES" for text. */
const char *datatype_name(const struct infer_column *c);
/* Can the column take data of this datatype? Numbers may have another type than the
 * column if nothing is lost. *dtype: the type of numbers; for BOOL: RAYTRAIN_UINT8. */
bool datatype_fits(const struct infer_column *c, const char *datatype,
                   raytrain_dtype *dtype);

#endif
