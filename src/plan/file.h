/* plan/file.h - a plan as a file: JSON of schema "pleat.plan/4" (docs/plan.md says what the keys
 * mean, docs/plan.schema.json which there are).
 *
 * The same plan gives the same bytes, and what was written and read again prints, lowers and writes
 * the same. A node goes by the name of its first output, which no other has (pl_node.name may come
 * twice). */
#ifndef PL_PLAN_FILE_H
#define PL_PLAN_FILE_H
#include "cluster/cluster.h"
#include "plan/plan.h"

enum { PL_PLAN_FILE_BYTES = 1 << 28 }; /* no file of ours is larger: for pl_file_read */

/* What caches of tables of one size come to, in a step of the plan that is found with them. */
typedef struct pl_plan_cache {
    const char *size;     /* "1.5%"; "": devices have whole tables                               */
    double found;         /* share of the ids whose row is on the device                         */
    double rows;          /* that come in; as many go                                            */
    double bytes;         /* that a device moves for them, both ways                             */
    double move_seconds;  /* to do so, before the rest of the step, which takes                  */
    double step_seconds;  /* so long; 0: no plan was found                                       */
    double memory_bytes;  /* of the heaviest device                                              */
    bool fits;
} pl_plan_cache;

/* As "caches" of a JSON object; none: nothing. */
void pl_plan_caches_write(int n, const pl_plan_cache caches[], pl_json_out *out);

/* What decides, of an optimizer's numbers, which nodes a step has: where they are not as usual. */
typedef struct pl_plan_numbers {
    bool unclipped;          /* gradients are not clipped: --clip 0                 */
    bool no_momentum;        /* --momentum 0                                        */
    bool decayed, undecayed; /* weights decay, or do not: --decay above 0, --decay 0 */
} pl_plan_numbers;

/* What a plan file says beside the plan itself; texts in UTF-8. NULL is written as "". */
typedef struct pl_plan_about {
    const char *model;     /* spec: "gpt2:layers=4,batch=8"                                      */
    const char *optimizer; /* "adamw"                                                            */
    const char *cluster;   /* as pl_cluster_print writes it; "": links are not known             */
    const char *strategy;  /* how it was asked for; NULL: plan->strategy                         */
    double step_seconds, bound_seconds; /* predicted; no step is below bound_seconds, 0: none    */
    double memory_bytes;   /* of the heaviest device                                             */
    int n_caches;          /* sizes that were compared: 0: none                                  */
    const pl_plan_cache *caches;
    const char *objectives; /* what is said of them (train/objective.h); NULL: nothing           */
    pl_plan_numbers numbers;
    const char *cache;     /* "1.5%": rows of tables that a device has (train/cached.h); "": all */
} pl_plan_about;

/* A file that was read: the arena given to pl_plan_file_read owns all of it. Its nodes and tensors
 * are names until there is a graph (pl_plan_file_plan). */
typedef struct pl_plan_file {
    pl_plan_about about;
    const pl_cluster *cluster; /* about.cluster, read; NULL: it is ""                            */
    pl_mesh mesh;              /* with the links of the cluster (pl_speed_links), if there is one */
    int64_t micro;             /* micro-batches of a step; the graph is of one of them           */
    bool masters;              /* it has masters of 16-bit weights                               */
    int n_nodes;               /* of the graph that the plan is for, and                         */
    uint64_t graph;            /* its pl_plan_digest                                             */
    const struct pl_plan_rows *rows;
} pl_plan_file;

/* Of all that a plan depends on: operators, signatures, names, shapes, types and wiring; not of
 * attributes (a decay), initial values, outputs or the spec. A graph and what is parsed from its
 * text have the same. Not against an enemy. */
uint64_t pl_plan_digest(const pl_graph *g);

/* `p` is legal (pl_plan_check) and the names of its axes are names (docs/plan.md); what is
 * predicted is finite and not negative. */
void pl_plan_write(const pl_plan *p, const pl_plan_about *about, pl_text *out);

/* Fails with PL_EINPUT, giving the key and where it stands: not JSON (line and column), another
 * schema, a key that is missing, unknown or of the wrong type; an axis that the mesh lacks; a mesh
 * of other devices than the cluster has. The first such mistake. */
PL_MUST_CHECK bool pl_plan_file_read(const char *text, size_t n, pl_arena *a, pl_plan_file *out,
                                     pl_err *err);

/* The plan, checked (pl_plan_check), for the graph that the model and optimizer of the file build.
 * Fails with PL_EINPUT when it is for another graph (both digests and node counts); naming the
 * nodes or tensors that the graph lacks or that stand there twice, the letters that a node lacks,
 * the placements of another rank: all mistakes of a kind at once, the first eight by name.
 * `out` owns the plan, which keeps nothing of the file. */
PL_MUST_CHECK bool pl_plan_file_plan(const pl_plan_file *f, const pl_graph *g, pl_arena *out,
                                     pl_plan **plan, pl_err *err);

#endif
