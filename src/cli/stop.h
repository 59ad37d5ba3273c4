/* cli/stop.h - signals that ask a run for its end: SIGINT, SIGTERM, SIGUSR1. */
#ifndef PL_CLI_STOP_H
#define PL_CLI_STOP_H
#include <stdatomic.h>

/* From here on the first of them is noted, and one that comes later ends the process as if nobody
 * watched. Later means by a second or more: `timeout`, and launchers, send what they send to a
 * process and then to its group, which is twice to the same. */
void pl_stop_watch(void);

/* Nothing is left to save: from here on they end the process again. */
void pl_stop_unwatch(void);

/* The number of the first one, or 0: lives as long as the process. */
const atomic_int *pl_stop_signal(void);

const char *pl_stop_name(int number); /* "SIGTERM" */

/* The exit code of a run that a signal has ended, as shells have it: 128 + its number. */
int pl_stop_code(int number);

#endif
