/* base/each.h - independent pieces of work, on all cores that the process may use. */
#ifndef PL_BASE_EACH_H
#define PL_BASE_EACH_H

/* Calls work(with, i) once for each i in [0, n), several at a time in no particular order, and
 * returns when all are done. What a piece writes no other piece may read or write; where they share
 * something all the same, it locks itself. Where no thread can be started this one does it all. */
void pl_each(int n, void (*work)(void *with, int i), void *with);

#endif
