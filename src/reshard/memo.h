/* reshard/memo.h - what has been asked of pl_reshard_find, and the answers. */
#ifndef PL_RESHARD_MEMO_H
#define PL_RESHARD_MEMO_H
#include "base/map.h"
#include "reshard/reshard.h"

/* From any of the n first ends to the last. */
typedef struct pl_question {
    const pl_mesh *mesh;
    pl_type type;
    pl_shape shape;
    int64_t most_bytes;
    bool no_strided, mask;
    int n;
    const pl_placement *end; /* [n + 1] in normal form, none of the first n the same as the last */
} pl_question;

/* A move without its beginning, which is the end of the one before. */
typedef struct pl_leg pl_leg;

typedef struct pl_reply {
    pl_question question;
    bool known;
    int which, n; /* which: -1, there is no way */
    pl_leg *leg;  /* [n] */
} pl_reply;

typedef struct pl_memo {
    pl_arena *arena;
    pl_map map; /* by question */
    struct {
        int n, cap;
        pl_reply **at;
    } replies;
} pl_memo;

/* The answer to a question of this mesh, or where it is to go (known: false). */
pl_reply *pl_reshard_memo_find(pl_memo *memo, const pl_question *q);
void pl_reshard_memo_keep(pl_memo *memo, pl_reply *a, int which, const pl_path *path);
void pl_reshard_memo_give(const pl_reply *a, int *which, pl_path *path);

#endif
