/* test/support/files.h - plans written as files and read again. */
#ifndef PL_TEST_SUPPORT_FILES_H
#define PL_TEST_SUPPORT_FILES_H
#include "support/plans.h"
#include "plan/file.h"
#include "plan/file_rows.h"
#include "support/presets.h"

#include <stdlib.h>

static inline const char *write_file(const pl_plan *p, const pl_plan_about *about, pl_arena *a)
{
    static const pl_plan_about nothing = { 0 };
    pl_text t = { .arena = a };
    pl_plan_write(p, about ? about : &nothing, &t);
    return pl_text_get(&t);
}

static inline pl_plan_file read_file(const char *text, pl_arena *a)
{
    pl_plan_file f;
    pl_err err = { 0 };
    EXPECT(pl_plan_file_read(text, strlen(text), a, &f, &err), "%s\n%s", err.msg, text);
    return f;
}

static inline pl_plan *plan_of_file(const char *text, const pl_graph *g, pl_arena *a)
{
    pl_plan_file f = read_file(text, a);
    pl_plan *p;
    pl_err err = { 0 };
    EXPECT(pl_plan_file_plan(&f, g, a, &p, &err), "%s\n%s", err.msg, text);
    return p;
}

/* Two layers, by hand: the same text form whatever models and optimizers become. */
#define TINY                                                                                       \
    "graph tiny\n"                                                                                 \
    "input x f32[8,4]\n"                                                                           \
    "input lr f32[]\n"                                                                             \
    "state w f32[4,6] weight \"normal std=0.5\"\n"                                                 \
    "state b f32[6] weight \"zeros\"\n"                                                            \
    "forward fc f32[8,6] = einsum \"mk,kn->mn\" x w\n"                                             \
    "forward act f32[8,6] = relu \"\" fc\n"                                                        \
    "forward sum f32[8,6] = add \"mn,n->mn\" act b\n"                                              \
    "backward g f32[4,6] = einsum \"mk,mn->kn\" x sum / fc\n"                                      \
    "update step f32[4,6] = sub \"\" w g\n"                                                        \
    "forward total f32[] = reduce_sum \"mn->\" sum\n"                                              \
    "output total\n"                                                                               \
    "next w step\n"

static inline const pl_graph *parse_graph(const char *text, pl_arena *a)
{
    pl_graph *g;
    pl_err err = { 0 };
    EXPECT(pl_graph_parse(text, &pl_ops_all, a, &g, &err), "%s\n%s", err.msg, text);
    return g;
}

static inline const pl_node *node_of(const pl_graph *g, const char *out)
{
    return pl_graph_find(g, out)->maker;
}

static inline void set_factor(pl_plan *p, const char *node, int axis, char letter, int level)
{
    const pl_node *n = node_of(p->graph, node);
    p->choice[n->id].factor[axis] = (int8_t)pl_sig_find(n->sig, letter);
    p->choice[n->id].level[axis] = (int8_t)level;
}

/* On data=2 tensor=2: a plan with something of everything that a file can say. */
static inline pl_plan *make_tiny(const pl_graph *g, pl_arena *a)
{
    pl_plan *p = pl_plan_single(g, a);
    pl_placement *act = PL_NEW(a, pl_placement);
    pl_err err = { 0 };
    p->strategy = "by hand";
    p->mesh = (pl_mesh){ .n = 2, .axis = { { "data", 2, 0, 0 }, { "tensor", 2, 0, 0 } } };
    pl_placement_split(&p->stored[pl_graph_find(g, "x")->id], 0, 0);
    pl_placement_split(&p->stored[pl_graph_find(g, "w")->id], 1, 1);
    pl_plan_keep(p, pl_graph_find(g, "w"), UINT8_MAX, a);
    pl_placement_split(act, 0, 0);
    p->kept[pl_graph_find(g, "act")->id] = act;
    p->recompute[pl_graph_find(g, "sum")->id] = true;
    set_factor(p, "fc", 0, 'm', 0);
    set_factor(p, "fc", 1, 'n', 0);
    set_factor(p, "sum", 0, 'm', 1);
    set_factor(p, "sum", 1, 'm', 0);
    set_factor(p, "g", 0, 'm', 0);
    set_factor(p, "g", 1, 'k', 0);
    p->choice[node_of(g, "g")->id].factor[1] = PL_LINEAR;
    EXPECT(pl_plan_check(p, &err), "%s", err.msg);
    return p;
}

/* The first `from` of a text becomes `to`. */
static inline const char *change(const char *text, const char *from, const char *to, pl_arena *a)
{
    const char *at = strstr(text, from);
    EXPECT(at, "no '%s' in\n%s", from, text);
    return pl_arena_fmt(a, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

/* A file without stages in the form of version 3, which knew none. */
static inline const char *version_3(const char *text, pl_arena *a)
{
    text = change(text, "  \"pipeline\": {},\n  \"stages\": [],\n", "", a);
    return change(text, PL_PLAN_SCHEMA, PL_PLAN_SCHEMA_3, a);
}

/* A file in the form of version 1, with these rows of what is moved again. */
static inline const char *version_1(const char *text, const char *rows, pl_arena *a)
{
    const char *from = strstr(text, "\"kept\": ["), *to = from ? strchr(from, '\n') : NULL;
    while (to && strncmp(to, "\n  ]", 4)) to = strchr(to + 1, '\n');
    EXPECT(to, "no rows of what is kept in\n%s", text);
    text = pl_arena_fmt(a, "%.*s\"regather\": [%s%s", (int)(from - text), text, rows, to);
    text = change(text, "  \"recomputed\": [\n    \"sum\"\n  ],\n", "", a);
    text = change(version_3(text, a), "  \"micro\": 1,\n", "", a);
    return change(text, PL_PLAN_SCHEMA_3, PL_PLAN_SCHEMA_1, a);
}

/* The same of version 2. */
static inline const char *version_2(const char *text, pl_arena *a)
{
    text = change(version_3(text, a), "  \"micro\": 1,\n", "", a);
    return change(text, PL_PLAN_SCHEMA_3, PL_PLAN_SCHEMA_2, a);
}

#endif
