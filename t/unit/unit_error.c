/* unit_error.c - the error that config_fixture.h and preprocess_table.h declare. */
#include "util/error.h"

extern struct error err;
struct error err;
