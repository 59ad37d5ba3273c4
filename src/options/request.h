/* options/request.h - the options by which a plan is found, for every command that finds one. */
#ifndef PL_OPTIONS_REQUEST_H
#define PL_OPTIONS_REQUEST_H
#include "planners/find.h"

typedef struct pl_request_args {
    const char *search, *evict;
    int64_t memory, axes, effort, bucket, ahead, gather_steps;
    double seconds;
} pl_request_args;

/* Their rows, for a command whose arguments have a pl_request_args `f`; `also` is a text that each
 * needs besides. */
// clang-format off
#define PL_REQUEST_OPTS(f) PL_SEARCH_OPTS(f, ""), PL_LOWER_OPTS(f, "")
#define PL_SEARCH_OPTS(f, also) \
    { "axes", INT(f.axes), "N", NULL, "of a mesh at most; default: 2, or the levels", 1, 6, \
      .needs = "strategy=auto " also }, \
    { "search", TEXT(f.search), "NAME", NULL, "a published method instead; names below", \
      .needs = "strategy=auto " also }, \
    { "O", INT(f.effort), "N", "2", \
      "1: equal blocks are planned alike; 2: exact; 3: with pipelines", \
      1, 3, \
      .needs = "strategy=auto " also }, \
    { "seconds", REAL(f.seconds), "X", NULL, "then the best plan so far; default: no limit", 0, \
      .needs = "strategy=auto " also }
#define PL_LOWER_OPTS(f, also) \
    { "memory", BYTES(f.memory), "SIZE", NULL, "of a device; default: all it has", 1, \
      .needs = also }, \
    { "evict", TEXT(f.evict), "NAME", NULL, "who says what is made again or copied; names below", \
      .needs = also }, \
    { "bucket", BYTES(f.bucket), "SIZE", "16MiB", "gradients reduced in one message", 1, \
      .needs = also }, \
    { "gathers-ahead", BYTES(f.ahead), "SIZE", "32MiB", "weights gathered before they are read", \
      .needs = also }, \
    { "gather-steps", BYTES(f.gather_steps), "SIZE", "0", \
      "larger gathers run in steps; 0: none", .needs = also }

/* What a command that runs steps has besides; `host` is a pl_host_args. */
#define PL_HOST_OPTS(host) \
    { "host-dir", PATH(host.dir), "DIR", NULL, "what is offloaded lies in a file there" }, \
    { "host-rate", BYTES(host.rate), "SIZE", NULL, \
      "of it per second each way, as over a slow link", 1 }, \
    { "link-rate", BYTES(host.link_rate), "SIZE", NULL, \
      "that a rank gets from others per second, as over slow links", 1 }
// clang-format on

typedef struct pl_host_args {
    const char *dir;
    int64_t rate, link_rate;
} pl_host_args;

/* Fails with PL_EUSAGE for links between ranks where there is one rank. */
PL_MUST_CHECK bool pl_request_check_links(const pl_host_args *a, int n_ranks, pl_err *err);

/* A note on stderr where --host-dir and --host-rate (NULL, 0: not given) have had no effect.
 * `hosted`: what is offloaded is something; `tables`: devices have caches of tables. */
void pl_request_tell_host(const char *dir, double rate, bool hosted, bool tables);

/* The same of --evict, where the plan did not need it. */
void pl_request_tell_evict(const pl_plan_request *r, const pl_found *found);

/* Long work is told on stderr: on a terminal as one line, elsewhere a line for each kind. */
const pl_watch *pl_request_watch(pl_arena *arena);

/* All but strategy and cluster; long work is told on stderr. Fails with PL_EUSAGE for a search or a
 * policy that there is not. */
PL_MUST_CHECK bool pl_request_make(const pl_request_args *a, pl_arena *arena, pl_plan_request *out,
                                   pl_err *err);

#endif
