/* bench-caps PROBLEM N: the search under N memory caps, evenly between the least memory of a cost
 * problem (`pleat plan MODEL --cluster C --problem PROBLEM`) and what its fastest plan takes. A row
 * of CSV per cap: bytes, seconds of the step that is found, its bound, the gap between them as a
 * part of the step, seconds of the search. */
#include "base/clock.h"
#include "base/file.h"
#include "cost/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 30 };

static int fail(const char *what, const pl_err *err)
{
    fprintf(stderr, "bench-caps: %s: %s\n", what, err->msg);
    return 1;
}

int main(int argc, char **argv)
{
    pl_arena *arena = pl_arena_new("caps");
    const int n = argc == 3 ? atoi(argv[2]) : 0;
    pl_problem *problem;
    pl_answer least, fastest, x;
    pl_err err = { 0 };
    const char *text;
    size_t size;
    if (n < 1) {
        fprintf(stderr, "usage: bench-caps PROBLEM N\n");
        return 2;
    }
    if (!pl_file_read(argv[1], MOST_BYTES, arena, &text, &size, &err) ||
        !pl_problem_parse(text, arena, &problem, &err))
        return fail(argv[1], &err);
    pl_chain chain = pl_problem_chain(problem, 1, arena);
    if (!pl_chain_least(&chain, NULL, arena, &least, &err) ||
        !pl_problem_min(problem, INFINITY, false, NULL, arena, &fastest, &err))
        return fail(argv[1], &err);
    for (int i = 0; i < n; i++) {
        const double part = (i + 0.5) / n, start = pl_clock_now();
        const double cap = least.memory + part * (fastest.memory - least.memory);
        pl_arena *tmp = pl_arena_new("cap");
        if (!pl_problem_min(problem, cap, false, NULL, tmp, &x, &err)) return fail(argv[1], &err);
        printf("%.0f,%.6g,%.6g,%.6f,%.3f\n", cap, x.time, x.bound, (x.time - x.bound) / x.time,
               pl_clock_now() - start);
        fflush(stdout);
        pl_arena_free(tmp);
    }
    pl_arena_free(arena);
    return 0;
}
