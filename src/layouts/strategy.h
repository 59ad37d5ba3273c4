/* layouts/strategy.h - published layouts as data: each name writes placements on one mesh.
 *
 * What each word means stands in the table at the top of strategy.c: parser, help and errors read
 * it. Words are joined by commas and share one mesh; its size is the number of devices: what is
 * left over goes to dp. A name is only a rule that chooses stored placements and the factor of each
 * linear layer per axis (roles.h); everything else follows (follow.h). Sources: Shoeybi et al.
 * 2019 (tp), Korthikanti et al. 2022 (sp), Rajbhandari et al. 2020 (zero), Zhao et al. 2023
 * (FSDP, hsdp), Xu et al. 2021 (2d), Wang et al. 2021 (2.5d), Bian et al. 2021 (3d), Dryden et al.
 * 2019 (spatial). */
#ifndef PL_LAYOUTS_STRATEGY_H
#define PL_LAYOUTS_STRATEGY_H
#include "cluster/cluster.h"
#include "plan/plan.h"
#include "reshard/reshard.h"

/* Degrees of a strategy, checked against the number of devices. 1: none. */
typedef struct pl_strategy {
    const char *text;
    int devices;
    bool automatic;               /* auto: nothing below but the cluster says anything           */
    const struct pl_plan_file *file; /* plan=FILE: the same, but that it is read; else NULL      */
    int zero;                     /* 0 to 3                                                      */
    int data, shard, expert;      /* axes that split the batch                                   */
    bool secondary;               /* hpz: weights at rest over data too                          */
    int tensor;                   /* ways of 1-D tensor parallelism                              */
    int spatial;                  /* that share the rows of images                               */
    bool sequence;
    int grid[3];                  /* A, B, C                                                     */
    int depth;                    /* 2.5d                                                        */
    const pl_cluster *cluster;    /* whose links the axes cross; NULL: usual ones                */
    pl_paths *paths;              /* between placements, kept from plan to plan; NULL: its own   */
    bool wide_sums;               /* what is pending in a narrow type is combined when it is wide */
    bool alternate;               /* grid: B and C change places from layer to layer             */
} pl_strategy;

/* All words, a line each: "  zero=1|2|3      states over ...". For the help of commands. */
void pl_strategy_words(pl_text *out);

/* Fails with PL_EUSAGE for a word that is none of them or comes twice, and when degrees do not fit
 * each other or the number of devices (all of them in the message); with PL_EINPUT for a plan file
 * that is none or is for another number of devices. `arena` owns the text. */
PL_MUST_CHECK bool pl_strategy_parse(const char *text, int n_devices, pl_arena *arena,
                                     pl_strategy *out, pl_err *err);

/* The mesh alone: the axes of more than one device, slow ones first: data, shard, expert, depth,
 * spatial, then tensor, or row and column, or i (A), j (B) and l (C). "data" alone when there is
 * none. Of auto, whose mesh the search finds: one axis of all devices. */
void pl_strategy_mesh(const pl_strategy *s, pl_mesh *out);

/* A checked plan of a graph. `like` (or NULL) is a plan on the same mesh with whose graph this one
 * shares states, by name: an evaluation reads the weights where training keeps them. Sizes need not
 * divide. Of auto it needs `like`: what a search finds is asked for by pl_best_of. Fails as
 * pl_plan_file_plan does, or with PL_EINPUT when nothing in the model can be split that way (the
 * axis, its size, and the widest factor on offer). */
PL_MUST_CHECK bool pl_strategy_plan(const pl_strategy *s, const pl_graph *g, const pl_plan *like,
                                    pl_arena *out, pl_plan **plan, pl_err *err);

/* Strategies that make sense for n devices, for `verify --all`: returns how many texts were
 * written. Those of `experts` need a model that has them. */
int pl_strategy_all(int n_devices, bool experts, pl_arena *arena, int most, const char *text[]);

#endif
