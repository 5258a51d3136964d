/* time_margin.c - refuses a job that is not longer than the margin. */
#include "launch/time_margin.h"

int time_margin_check(const char *job, int64_t length_s, int margin_s,
                      const char *option, struct error *err)
{
    if (margin_s == 0 || length_s == 0 || length_s > margin_s)
        return 0;
    return error_set(
        err, RAYTRAIN_EINVAL,
        "%s has a time limit of %lld s, and the workers are to be asked "
        "to stop %d s before its end, which leaves no time to train; use a "
        "smaller margin, such as --stop-before-end %lld, or give the job "
        "more time (%s)",
        job, (long long)length_s, margin_s, (long long)length_s / 4, option);
}
