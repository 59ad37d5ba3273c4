/* layouts/strategy.h - the words of layouts joined by commas: "zero=3,tp=8,sp".
 *
 * All words share one mesh, whose size is the number of devices: what is left over goes to dp. The
 * words themselves stand with their layouts (layout.h); here are only those that name none: auto,
 * plan=FILE, reduce=f32, micro=N, masters. No file is read here. */
#ifndef PL_LAYOUTS_STRATEGY_H
#define PL_LAYOUTS_STRATEGY_H
#include "cluster/cluster.h"
#include "layouts/layout.h"
#include "reshard/reshard.h"

enum { PL_MAX_SAID = 16 };

/* A word as it was said. */
typedef struct pl_said {
    const pl_layout *layout; /* NULL: of none      */
    const pl_word *word;
    int size[3];             /* 1 where it has none */
    const char *name;        /* of schedule=NAME    */
} pl_said;

/* What the words make of an axis. */
typedef struct pl_degree {
    const pl_layout *layout;
    const char *word, *axis; /* in messages, in the mesh */
    int size;
    unsigned use;            /* PL_AXIS_...              */
} pl_degree;

typedef struct pl_strategy {
    const char *text;
    int devices;
    bool automatic;            /* auto: of other words there are micro=N and those of pipelines  */
    int64_t micro;             /* micro-batches of a step: the graph that it is for has as many
                                  (graph.micro). 0: nobody says, which is 1, or of auto what the
                                  plan takes; of a file that of its plan, once it is read        */
    const char *plan_path;     /* plan=FILE: neither does one; else NULL                         */
    const struct pl_plan_file *file; /* what stands there, once pl_strategy_read has read it     */
    bool masters;              /* 16-bit weights beside masters in f32 (graph.h: PL_MASTER), where
                                  the model computes in 16 bits; of a file, as its plan has them */
    bool wide_sums;            /* what is pending in a narrow type is combined when it is wide   */
    int n_said, n_degrees;
    pl_said said[PL_MAX_SAID];
    pl_degree degree[PL_MAX_SAID]; /* [n_degrees] axis by axis of the mesh                       */
    pl_mesh mesh;              /* slow axes first: those of more than one device, or "data"
                                  alone. Of auto, whose mesh the search finds, one axis of all
                                  devices; of a file that of its plan, once it is read           */
    const pl_cluster *cluster; /* whose links the axes cross; NULL: usual ones                   */
    pl_paths *paths;           /* between placements, kept from plan to plan; NULL: its own      */
} pl_strategy;

/* All words, a line each: "  zero=1|2|3      states over ...". For the help of commands. */
void pl_strategy_words(pl_text *out);

/* Fails with PL_EUSAGE for a word that is none of them or comes twice, and when degrees do not fit
 * each other or the number of devices (all of them in the message). `arena` owns the text. For 0
 * devices only plan=FILE is right: as many as the file is for, which pl_strategy_read says. */
PL_MUST_CHECK bool pl_strategy_parse(const char *text, int n_devices, pl_arena *arena,
                                     pl_strategy *out, pl_err *err);

/* Reads the plan file that it names, if it does, with its cluster. Fails with PL_EINPUT when that
 * is none, or one for another number of devices. */
PL_MUST_CHECK bool pl_strategy_read(pl_strategy *s, pl_arena *arena, pl_err *err);

/* A checked plan of a graph. `like` (or NULL) is a plan on the same mesh with whose graph this one
 * shares states, by name: an evaluation reads the weights where training keeps them. Sizes need not
 * divide. Of auto it needs `like`: what a search finds is asked for by pl_plan_find; of a file,
 * that it is read. Fails as pl_plan_file_plan does, or with PL_EINPUT when nothing in the model can
 * be split that way (the axis, its size, and the widest factor on offer). In apply.c. */
PL_MUST_CHECK bool pl_strategy_plan(const pl_strategy *s, const pl_graph *g, const pl_plan *like,
                                    pl_arena *out, pl_plan **plan, pl_err *err);

/* Cuts a plan, whose mesh has the stages' axis, as the words of a pipeline say. Fails with
 * PL_EINPUT where the model cannot be cut into so many stages. `out` owns what it adds. In
 * pipeline.c. */
PL_MUST_CHECK bool pl_strategy_cut(const pl_strategy *s, pl_plan *p, pl_arena *out, pl_err *err);

/* Of each kind so many blocks at a place of the pipeline are recomputed, as the words say: 0 where
 * they do not, INT_MAX for all. In recompute.c. */
int pl_strategy_recomputed(const pl_strategy *s, int place);

/* Strategies that make sense for n devices and a model that has these (PL_HAS_...), for `verify
 * --all`: returns how many texts were written. */
int pl_strategy_all(int n_devices, unsigned has, pl_arena *arena, int most, const char *text[]);

/* -- for layouts ------------------------------------------------------------------------------- */

/* The word of this kind that was said, or NULL. */
const pl_said *pl_strategy_said(const pl_strategy *s, const char *kind);

/* Adds an axis behind those of the layouts before. Returns true. */
bool pl_strategy_axis(pl_strategy *s, const pl_layout *layout, const char *word, const char *axis,
                      int size, unsigned use);

int pl_strategy_size(const pl_strategy *s, const char *axis); /* 1: it has none of that name */
unsigned pl_strategy_axes(const pl_strategy *s, unsigned use); /* of the mesh, with such a use */

/* False: it has no axis of that name. */
bool pl_strategy_add_use(pl_strategy *s, const char *axis, unsigned use);

#endif
