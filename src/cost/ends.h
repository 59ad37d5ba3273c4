/* cost/ends.h - may the first and the last of equal blocks be priced as the others are?
 *
 * All copies of a chain have the same tables. Next to the ends stand other nodes than next to the
 * rest, so there a value may have other readers: more or fewer of them in a phase, or some that
 * want it elsewhere. Then it has other stops there (cost/problem.h), more or less of it is kept, or
 * it may lie where it cannot in the middle. Such a copy is no copy: it is left outside. */
#ifndef PL_COST_ENDS_H
#define PL_COST_ENDS_H
#include "cost/problem.h"

typedef struct pl_readers {
    int n, cap;
    const pl_node **at; /* each once */
} pl_readers;

/* Of a value that is outside: do all copies read it as this reader in a copy does? Of one of a
 * copy: does the reader outside read it of all copies? */
bool pl_problem_ends_shared(const pl_problem *problem, const pl_value *v, const pl_node *reader,
                           int operand);

/* Leaves copies outside that are not like the others, at either end, and unfolds classes that no
 * chain says right; true: there were some, and what problem has of copies is to be made anew.
 * readers: of each value, those outside, in the copies at the ends and in the neighbours of the one
 * that stands for all. */
bool pl_problem_ends_trim(pl_problem *problem, const pl_readers readers[]);

#endif
