/* import/loop.h - a Loop of an ONNX file, whose rounds are run one after the other. Private to
 * import/. */
#ifndef PL_IMPORT_LOOP_H
#define PL_IMPORT_LOOP_H
#include "import/import.h"

/* Items of each round. */
typedef struct pl_scan {
    int n, cap;
    pl_item *at;
} pl_scan;

typedef struct pl_loop {
    const Onnx__GraphProto *body;
    int64_t bytes;  /* of the body */
    int64_t rounds; /* at most */
    int n_carried, n_scans;
    pl_item *in;    /* [2 + n_carried] round, condition, what is carried */
    pl_item *out;   /* [1 + n_carried + n_scans] of a round */
    pl_scan *scan;  /* [n_scans] */
} pl_loop;

/* All rounds, among the names of m: what is carried is in l->in afterwards. */
PL_MUST_CHECK bool pl_loop_run(pl_import *m, pl_loop *l);

/* -- bags.c ------------------------------------------------------------------------------------ */
/* Does the loop reduce bags of rows, as exporters write torch.nn.EmbeddingBag? The node of m has
 * its outputs then, and no round has been run. */
bool pl_loop_bags(pl_import *m, const pl_loop *l);

#endif
