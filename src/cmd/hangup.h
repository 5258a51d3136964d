/* hangup.h - respect nohup in programs whose libraries do not. */
#ifndef RAYTRAIN_CMD_HANGUP_H
#define RAYTRAIN_CMD_HANGUP_H

/* Ignore SIGHUP if it was ignored when the program was started, else give it its
 * default action. A library may have installed a handler before main() (UCX does). */
void hangup_restore(void);

#endif
