#include "protocol/log_dir.h"

#include "run/run_dir.h"

char *log_dir_heartbeats(const char *log_dir)
{
    return run_dir_file(log_dir, "heartbeats");
}
