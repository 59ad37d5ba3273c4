/* ops/lib/element.h - read and write the elements at a walk's present point. */
#ifndef PL_OPS_LIB_ELEMENT_H
#define PL_OPS_LIB_ELEMENT_H
#include "graph/walk.h"

/* Element of input i; for a window, check pl_walk_inside first. */
double pl_element_get(const pl_walk *w, const void *const in[], int i);
void pl_element_put(const pl_walk *w, void *const out[], int i, double value);

#endif
