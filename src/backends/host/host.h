/* backends/host/host.h - the devices that are this process itself: their streams do all work at
 * once, on the thread that gives it, and an event is a counter. */
#ifndef PL_BACKENDS_HOST_HOST_H
#define PL_BACKENDS_HOST_HOST_H
#include "run/device.h"

extern const pl_device pl_device_cpu;

/* Touches no memory: more than the machine has is fine. What is read are zeros. */
extern const pl_device pl_device_null;

#endif
