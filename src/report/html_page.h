/* report/html_page.h - what the sections of the page share, private to report/. */
#ifndef PL_REPORT_HTML_PAGE_H
#define PL_REPORT_HTML_PAGE_H
#include "program/summary.h"
#include "report/html.h"

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
    PL_HTML_KINDS
} pl_html_kind;

/* A plan with what is read off it once. */
typedef struct pl_html_view {
    const pl_html_plan *in;
    const pl_graph *graph;
    const pl_mesh *mesh;
    int index;                  /* in the page, from 0                                            */
    pl_placement *made;         /* [values] where it is stored, or as its maker leaves it         */
    pl_placement *used;         /* [values] where the first forward node that reads it wants it;
                                   as `made` when none does                                       */
    pl_summary sum;
    int colour[PL_MAX_AXES];    /* of a mesh axis; axes of one name have one colour in all plans  */
} pl_html_view;

typedef struct pl_html_page {
    pl_arena *tmp;
    pl_text *out;
    int n;
    pl_html_view *view;         /* [n] */
} pl_html_page;

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

enum { PL_HTML_WIDE = 1180, PL_HTML_LEFT = 76, PL_HTML_PLOT = 1096 }; /* pixels of wide pictures */

/* -- html_view.c: facts ------------------------------------------------------------------------ */
void pl_html_view_make(pl_html_view *v, const pl_html_plan *in, int index, pl_arena *arena);
pl_html_kind pl_html_view_kind(const pl_step *x);
const char *pl_html_kind_name(pl_html_kind k);    /* "forward", "all-gather" */
pl_html_groups pl_html_view_weights(const pl_html_view *v, pl_arena *arena);
/* The largest tensors that forward nodes make, in the order of the graph; none that is smaller than
 * a hundredth of the largest. */
pl_html_groups pl_html_view_activations(const pl_html_view *v, int most, pl_arena *arena);

/* -- html_text.c: texts and numbers ------------------------------------------------------------ */
/* The text with all that HTML gives a meaning escaped; what is no UTF-8, and control characters,
 * become U+FFFD. */
const char *pl_html_text(pl_arena *a, const char *raw);
const char *pl_html_seconds(pl_arena *a, double seconds);     /* "12.3 ms" */
const char *pl_html_count(pl_arena *a, int64_t n);            /* "1,234", n >= 0 */
/* <data value="0.0123">12.3 ms</data> */
void pl_html_put_seconds(pl_html_page *p, double seconds);
void pl_html_put_bytes(pl_html_page *p, double bytes);
const char *pl_html_mesh(pl_arena *a, const pl_mesh *m);      /* "data=2 tensor=4", escaped */
const char *pl_html_place(const pl_html_view *v, const pl_value *x, const pl_placement *p,
                          pl_arena *a);                       /* "[data;]" or "whole", escaped */

/* -- html.c: the frame ------------------------------------------------------------------------- */
void pl_html_open(pl_html_page *p, const char *title); /* escaped already */
void pl_html_close(pl_html_page *p);
/* A picture PL_HTML_WIDE pixels wide and so many high, which narrow screens scroll sideways. */
void pl_html_picture_open(pl_html_page *p, double height, const char *about); /* escaped already */
void pl_html_picture_close(pl_html_page *p);

/* -- html_style.c ------------------------------------------------------------------------------ */
extern const char *const pl_html_style[], *const pl_html_script[]; /* lines; the last is NULL */

/* -- html_cell.c: how a tensor is cut ---------------------------------------------------------- */
/* The two dimensions of x that a picture shows, ascending, -1 for none: those that the placements
 * split most, then the largest. */
void pl_html_cell_dims(const pl_html_view *v, const pl_value *x, int n, const pl_placement at[],
                       int dim[2]);
/* A square, or a bar when dim[0] is -1, of so many pixels. */
void pl_html_cell_draw(pl_html_page *p, const pl_html_view *v, const pl_value *x,
                       const pl_placement *at, const int dim[2], int pixels);
void pl_html_cell_legend(pl_html_page *p, const pl_html_view *v);

/* -- sections ---------------------------------------------------------------------------------- */
void pl_html_grid_write(pl_html_page *p, const pl_html_view *v);    /* html_grid.c */
void pl_html_time_write(pl_html_page *p, const pl_html_view *v);    /* html_time.c */
void pl_html_memory_write(pl_html_page *p, const pl_html_view *v);  /* html_memory.c */
void pl_html_message_write(pl_html_page *p, const pl_html_view *v); /* html_message.c */
void pl_html_devices_write(pl_html_page *p, const pl_html_view *v); /* html_devices.c */
void pl_html_compare_write(pl_html_page *p);                        /* html_compare.c */

/* -- html_lane.c: the lanes of a stretch of time ----------------------------------------------- */
typedef struct pl_html_scale {
    double from, to; /* seconds                                                               */
    double top;      /* pixels from the top of the picture                                    */
    bool labels;     /* names in the steps where they fit                                     */
} pl_html_scale;
enum { PL_HTML_AXIS = 20 };                         /* pixels of the numbers below */
int pl_html_lane_height(const pl_html_view *v);     /* pixels of the lanes         */
void pl_html_lane_draw(pl_html_page *p, const pl_html_view *v, const pl_html_scale *s);
/* Lines at round times across `height` pixels from s->top on, and their numbers below. */
void pl_html_lane_axis(pl_html_page *p, const pl_html_scale *s, double height);

/* -- html_memory.c, html_alive.c --------------------------------------------------------------- */
/* The memory of the heaviest device, item by item, against its limit; `most` bytes are the whole
 * width. */
void pl_html_memory_bar(pl_html_page *p, const pl_html_view *v, double most, bool legend);
void pl_html_memory_key(pl_html_page *p); /* the colours of the items alone */

/* The table of the largest tensors in the work block while `step` runs. */
void pl_html_alive_write(pl_html_page *p, const pl_html_view *v, int step, const char *title);
/* Lines at round numbers of bytes, up to `most` of them at the top of `height` pixels from y = top
 * on. */
void pl_html_memory_scale(pl_html_page *p, double most, int top, int height);

typedef struct pl_html_alive {
    const char *name; /* folded */
    int count;
    int64_t bytes;    /* of all of them */
} pl_html_alive;

/* Tensors in the work block while `step` runs, the most bytes first: what was written before and is
 * read then or later. Returns their number; *at in the arena. */
int pl_html_alive_find(const pl_html_view *v, int step, pl_arena *arena, pl_html_alive **at);

#endif
