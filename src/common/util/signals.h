/*
 * signals.h - a process's signals do not depend on the one that started it.
 */
#ifndef RAYTRAIN_UTIL_SIGNALS_H
#define RAYTRAIN_UTIL_SIGNALS_H

#include <stdbool.h>

/* Block no signal, and give those their default action that it matters to hear of, in
 * place of having them ignored. A SIGHUP that is ignored stays so, as nohup wants it.
 * At the start of main(). */
void signals_restore(void);
bool signals_hangup_is_ignored(void);

#endif
