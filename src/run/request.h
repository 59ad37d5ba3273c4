/* run/request.h - the head of every transport's request, and the words of its failures.
 *
 * For transports only (backends/local, backends/mpi) and comm.c; callers see pl_request as
 * opaque. */
#ifndef PL_RUN_REQUEST_H
#define PL_RUN_REQUEST_H
#include "run/comm.h"

struct pl_request {
    pl_message m;       /* as started                              */
    pl_group *group;
    double start;       /* pl_clock_now() when it was started      */
};

enum { PL_REQUEST_TEXT = 192 };

/* "all-reduce of 'h0.w' (4096 f32, 4 ranks)", "send of 'x' (8 f32, to rank 3)". */
void pl_request_text(const pl_message *message, const pl_group *group, char text[PL_REQUEST_TEXT]);

/* The same without the group, for two messages that should have been alike: "all-reduce of 'h0.w'
 * (4096 f32)"; a monoid other than sum and the position of a root are part of it. */
void pl_request_brief(const pl_message *message, char text[PL_REQUEST_TEXT]);

/* Prepends pl_request_text to the error; returns false. */
bool pl_request_in(const pl_request *request, pl_err *err);

enum { PL_REQUEST_RANKS = 160 };

/* The ranks r of [0, n) with in[r] == want: "rank 2", "ranks 0, 1, 3", "ranks 0, 1, ... and 240
 * more", "no rank". Returns how many. */
int pl_request_ranks(int n, const bool in[], bool want, char text[PL_REQUEST_RANKS]);

#endif
