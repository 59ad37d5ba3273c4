/* report/html.h - plans as one page for people: where tensors live, the time line and the memory of
 * a step, its messages, and plans side by side.
 *
 * The page is one file that asks the network for nothing: page.html, whose script draws, with its
 * data as JSON. The same plans give the same bytes. */
#ifndef PL_REPORT_HTML_H
#define PL_REPORT_HTML_H
#include "plan/file.h"
#include "program/forecast_stages.h"

/* One plan of the page; all is the caller's. Texts may hold anything. */
typedef struct pl_html_plan {
    const char *name;             /* for people: the file it is from                              */
    const char *model, *cluster;  /* "gpt2:layers=4,batch=8", "2x8xv100"                          */
    const char *strategy;         /* how it was asked for: "zero=3"                               */
    const pl_plan *plan;
    const pl_program *program;    /* of rank 0, which has the largest parts                       */
    const pl_forecast *forecast;  /* of that program                                              */
    const pl_stages_forecast *stages; /* of a plan in stages, where program and forecast are of the
                                     place that holds most; NULL: of no stages                    */
    double limit_bytes;           /* memory of the smallest device; 0: none                       */
    const pl_cluster *devices;    /* the figures that the forecast is from; NULL: not known       */
    const char *units;            /* what a step takes in: "tokens"; so many; NULL: not known     */
    int64_t n_units;
    const char *cache;            /* rows of tables that devices have; NULL or "": all            */
    int n_caches;                 /* sizes that were compared with it                             */
    const pl_plan_cache *caches;
    double mfu;                   /* share of the devices' peak flops, 0 .. 1; 0: not known       */
} pl_html_plan;

/* The steps of one program in one order. */
typedef struct pl_html_order {
    const char *name;             /* "program"                                                    */
    const pl_program *program;
    int64_t block;                /* bytes of the lowest block of work memory found for it        */
} pl_html_order;

/* n >= 1 plans, of which the others are compared with the first; a whole HTML document. Figures in
 * its data have all their digits, in seconds and bytes; times of steps are in ticks (html_steps.c).
 */
void pl_html_write(int n, const pl_html_plan plan[], pl_text *out);

/* Work memory over a step in n >= 1 orders of the same steps, and what is alive at the peaks: a
 * whole document. No order has fewer than `bound` bytes live at its peak; 0: none known. */
void pl_html_write_orders(const char *model, int n, const pl_html_order order[], int64_t bound,
                          pl_text *out);

#endif
