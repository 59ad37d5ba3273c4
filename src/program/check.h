/* program/check.h - the parts of the check of one program, private to program/: what memory holds
 * (check.c), which elements a piece of it has (check_bytes.c), how tensors change their placement
 * (check_moves.c), nodes in steps (check_steps.c), what may run at once (check_lanes.c). */
#ifndef PL_PROGRAM_CHECK_H
#define PL_PROGRAM_CHECK_H
#include "program/program.h"

/* A range of bytes that holds a part of a value, or blocks of a transfer, or what a node in steps
 * reads or has made so far. A range may have several: views, or two names of the same share. */
typedef struct content {
    const pl_value *value;
    pl_placement where;        /* of a part, in normal form                                   */
    const pl_transfer *blocks; /* not NULL: its blocks, OUTGOING or INCOMING                  */
    pl_form form;              /* PART_TO: one piece of the part that a halo makes            */
    int64_t pieces;            /* of that: elements                                           */
    const pl_region *region;   /* not NULL: these elements of it; `where` says what is pending */
    const pl_piece *piece;     /* not NULL: of the output of its node what the steps from `first`
                                  to this one made: blocks side by side, or the sum of steps  */
    int first;
    pl_slot at;
    int64_t bytes;             /* of memory: room for the largest part of any rank            */
} content;

typedef struct access {
    int step;
    bool write;
    pl_slot at;
    int64_t bytes;
} access;

typedef struct checker {
    const pl_program *p;
    const pl_mesh *mesh;
    pl_arena *tmp;
    pl_err *err;
    bool idle;  /* this rank has no share of some node                                        */
    struct { int n, cap; content *at; } now; /* what memory holds at this point of the replay */
    struct { int n, cap; access *at; } log;  /* in the order of the steps                     */
    int *first; /* [steps + 1] first access of each step                                      */
} checker;

/* -- check.c: memory. All fail with PL_EMISMATCH in c->err ------------------------------------- */
const char *pl_check_step_text(const checker *c, int step);
const char *pl_check_slot_text(const checker *c, pl_slot at, int64_t bytes);
const char *pl_check_part_text(const checker *c, const pl_value *v, const pl_placement *where);
bool pl_check_is_part(const content *x);
bool pl_check_overlap(pl_slot a, int64_t a_bytes, pl_slot b, int64_t b_bytes);
/* Memory of a part: that of rank 0, who has the largest but for windows, of which others may. */
int64_t pl_check_part_bytes(const checker *c, const pl_value *v, const pl_placement *where);
/* Elements of this rank's part. */
int64_t pl_check_part_count(const checker *c, const pl_value *v, const pl_placement *where);
bool pl_check_read(checker *c, int step, pl_slot at, int64_t bytes);
bool pl_check_write(checker *c, int step, pl_slot at, int64_t bytes); /* what was there is lost */
void pl_check_put(checker *c, const pl_value *v, const pl_placement *where, pl_slot at);
/* Reads a part that must be there; an empty one always is. */
bool pl_check_read_part(checker *c, int step, const pl_value *v, const pl_placement *where,
                        pl_slot at);
/* The result of a step may not lie over what it reads. */
bool pl_check_apart(const checker *c, int step, int64_t in, int64_t out);
/* The error that `wanted` does not stand there; names who wrote last. */
bool pl_check_fail_read(checker *c, int step, pl_slot at, int64_t bytes, const char *wanted);
/* Are the ranges of a kernel's share what the plan says, and `piece` if it is one step of them? */
bool pl_check_share(checker *c, int step, const pl_share *s, const pl_piece *piece);
/* Has this rank nothing to compute of a node? */
bool pl_check_is_idle(const checker *c, const pl_node *n);

/* -- check_bytes.c: elements ------------------------------------------------------------------- */

/* n successive elements of the whole tensor from `global` on stand in memory from `at` on. */
typedef struct row {
    int64_t at, global, n;
} row;

typedef struct rows {
    int n, cap;
    row *at;       /* ascending in memory                                             */
    int64_t room;  /* elements of memory                                              */
} rows;

/* What a form of a transfer holds on this rank. False when the move has no such form, or a block
 * has more elements than move.block. */
bool pl_check_rows(const checker *c, const pl_transfer *t, pl_form form, pl_arena *out, rows *r);
rows pl_check_part_rows(const checker *c, const pl_value *v, const pl_placement *where, int rank,
                        pl_arena *out);
rows pl_check_region_rows(const pl_region *x, const pl_shape *s, pl_arena *out);
rows pl_check_dense_rows(int64_t n, pl_arena *out); /* element i at i */
/* The piece that a halo's part gets in this transfer, at its places in the part: what the member
 * that is `shift` before this rank has of it (0: itself). None when there is no such member. */
rows pl_check_piece_rows(const checker *c, const pl_transfer *t, pl_arena *out);
/* The elements that both have, at their places in `part`. */
rows pl_check_common_rows(const rows *part, const rows *other, pl_arena *out);
int64_t pl_check_count_rows(const rows *r);
/* Has `have` every element that `want` has, at the same place? */
bool pl_check_has_rows(const rows *have, const rows *want);
/* Do the copies of a step bring every element of `to` to its place, from memory that holds `from`?
 * `size`: bytes of an element. */
bool pl_check_trace(const checker *c, const pl_step *s, int64_t size, const rows *from,
                    const rows *to);
/* Elements that the copies of a step write. */
int64_t pl_check_count_copied(const pl_step *s, int64_t size);

/* -- check_steps.c: kernels, copies and folds of nodes in steps -------------------------------- */
bool pl_check_piece(checker *c, int step);

/* -- check_moves.c: steps other than kernels --------------------------------------------------- */
bool pl_check_message(checker *c, int step);
bool pl_check_copy(checker *c, int step);
bool pl_check_fill(checker *c, int step);

/* -- check_lanes.c ----------------------------------------------------------------------------- */
bool pl_check_lanes(checker *c);

#endif
