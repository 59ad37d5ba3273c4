/* report/html_page.h - what the parts of the page's data share, private to report/. */
#ifndef PL_REPORT_HTML_PAGE_H
#define PL_REPORT_HTML_PAGE_H
#include "base/json.h"
#include "program/summary.h"
#include "report/html.h"

/* Lines of page.html; the last is NULL. Written by the build. */
extern const char *const pl_html_template[];

/* What a step is for: its colour. Computing first, then messages. */
typedef enum pl_html_kind {
    PL_HTML_FORWARD,
    PL_HTML_BACKWARD,
    PL_HTML_UPDATE,
    PL_HTML_COPY,     /* copies, fills, folds                     */
    PL_HTML_REDUCE,   /* from here on messages: pl_collective     */
    PL_HTML_GATHER,
    PL_HTML_SCATTER,
    PL_HTML_EXCHANGE,
    PL_HTML_BROADCAST,
    PL_HTML_SHIFT,    /* sends and receives                       */
    PL_HTML_OUT,      /* to the host's memory                     */
    PL_HTML_IN,       /* from it                                  */
    PL_HTML_ON,       /* kernels of the host                      */
    PL_HTML_KINDS
} pl_html_kind;

/* Tensors that differ by the number of their block alone. */
typedef struct pl_html_group {
    const char *name;           /* folded: "h.*.ln_1.bias"                                        */
    const pl_value *value;      /* the first of them                                              */
    int count;
    int64_t bytes;              /* of one on one device, as it is stored or made                  */
} pl_html_group;

typedef struct pl_html_groups {
    int n, cap;
    pl_html_group *at;
} pl_html_groups;

/* A plan with what is read off it once. */
typedef struct pl_html_view {
    const pl_html_plan *in;
    const pl_graph *graph;
    const pl_mesh *mesh;
    pl_placement *made;         /* [values] where it is stored, or as its maker leaves it         */
    pl_placement *used;         /* [values] where the first forward node that reads it wants it;
                                   as `made` when none does                                       */
    pl_html_groups weights;
    int *weight;                /* [values] which of `weights` it is of; -1: of none              */
    pl_html_groups activations; /* the largest tensors that forward nodes make, in the order of the
                                   graph; none that is smaller than a hundredth of the largest    */
} pl_html_view;

typedef struct pl_html_alive {
    const char *name;           /* folded */
    int count;
    int64_t bytes;              /* of all of them */
} pl_html_alive;

/* -- html_view.c: facts ------------------------------------------------------------------------ */
void pl_html_view_make(pl_html_view *v, const pl_html_plan *in, pl_arena *arena);
pl_html_kind pl_html_view_kind(const pl_step *x);
const char *pl_html_kind_name(pl_html_kind k);    /* "forward", "all-gather" */

/* -- html_cut.c: how tensors are cut ----------------------------------------------------------- */
void pl_html_cut_put(const pl_html_view *v, const char *key, const pl_html_groups *g,
                     pl_arena *tmp, pl_json_out *out);

/* -- html_steps.c: the steps of a program, their times and memory ------------------------------ */
void pl_html_steps_put(const pl_html_plan *x, pl_arena *tmp, pl_json_out *out);

/* -- html_alive.c ------------------------------------------------------------------------------ */
/* Tensors in the work block while `step` runs, the most bytes first: what was written before and is
 * read then or later. Returns their number; *at in the arena. */
int pl_html_alive_find(const pl_program *p, int step, pl_arena *arena, pl_html_alive **at);
void pl_html_alive_put(const pl_program *p, int step, pl_arena *tmp, pl_json_out *out);

/* -- html_compare.c ---------------------------------------------------------------------------- */
/* Weights that n plans place differently. */
void pl_html_compare_put(int n, const pl_html_view view[], pl_arena *tmp, pl_json_out *out);

#endif
