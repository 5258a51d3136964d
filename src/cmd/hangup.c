/* hangup.c - set the action of SIGHUP before main(), and before constructors of shared
 * libraries. */
#include "hangup.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

static bool ignored;

/* Runs before the constructors of the shared libraries, so also before a sanitizer is
 * ready for instrumented code. */
__attribute__((no_sanitize("address", "undefined"))) static void hangup_look(void)
{
    struct sigaction action;

    ignored = sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(void) =
    hangup_look;

void hangup_restore(void)
{
    signal(SIGHUP, ignored ? SIG_IGN : SIG_DFL);
}
