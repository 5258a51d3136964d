/* The prototypes of libxgboost that raytrain declares are those of its header, if
 * this system has it. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "xgboost/xgboost_library.h"

#if __has_include(<xgboost/c_api.h>)
#include <xgboost/c_api.h>

#define SAME(name, result, parameters)                                                 \
    _Static_assert(                                                                    \
        __builtin_types_compatible_p(__typeof__(&name), result(*) parameters),         \
        #name " has other parameters in xgboost/c_api.h");
XGBOOST_FUNCTIONS(SAME)
#if __has_include(<xgboost/version_config.h>)
#include <xgboost/version_config.h>
#if XGBOOST_VER_MAJOR > 2 || (XGBOOST_VER_MAJOR == 2 && XGBOOST_VER_MINOR >= 1)
XGBOOST_TRACKER_FUNCTIONS(SAME)
#endif
#endif

static void test_header(void **state)
{
    (void)state; /* the compiler has compared them */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_header)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    printf("1..0 # SKIP there is no header xgboost/c_api.h (package libxgboost-dev)\n");
    return 0;
}
#endif
