#include "config.h"

#include "util/pid_scope.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void place_of_self(char place[PLACE_MAX])
{
    char host[65] = "unknown", boot[64] = "";
    struct stat ns = {0};
    FILE *in = fopen("/proc/sys/kernel/random/boot_id", "re");

    gethostname(host, sizeof host - 1);
    if (in && !fgets(boot, sizeof boot, in))
        boot[0] = '\0';
    if (in)
        fclose(in);
    boot[strcspn(boot, "\n")] = '\0';
    stat("/proc/self/ns/pid", &ns);
    snprintf(place, PLACE_MAX, "%s %s %lu", host, boot, (unsigned long)ns.st_ino);
}

static uint32_t number;

/* FNV-1a. */
static void number_find(void)
{
    char place[PLACE_MAX];

    place_of_self(place);
    number = 2166136261u;
    for (const char *c = place; *c; c++)
        number = (number ^ (unsigned char)*c) * 16777619u;
}

uint32_t place_number(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, number_find);
    return number;
}
