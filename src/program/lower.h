/* program/lower.h - the stages of lowering, private to program/: tasks -> steps -> overwrites ->
 * once -> order -> spare -> places. */
#ifndef PL_PROGRAM_LOWER_H
#define PL_PROGRAM_LOWER_H
#include "program/program.h"

typedef struct ints {
    int n, cap, *at;
} ints;

/* One version of a value on this device: its contents at one placement. */
typedef struct part {
    const pl_value *value;
    pl_placement where;
    int64_t bytes;
    int maker;       /* task; -1: there before the step (states, inputs)                       */
    int phase;       /* moved (or cast) for a forward node (0), a backward one (1) or an update
                        (2); -1: for none                                                      */
    int pass;        /* and in which pass                                                      */
    bool received;   /* from another stage                                                     */
    ints readers;    /* tasks                                                                  */
    int home;        /* the part whose memory it takes over, which may do so too; or itself    */
    int64_t at;      /* bytes from the start of home's memory                                  */
    int port;        /* states: index in the store; else -1                                    */
} part;

typedef enum task_kind {
    TASK_NODE,
    TASK_REDUCE,  /* all-reduce; several may share a message             */
    TASK_MESSAGE, /* gather, scatter, exchange, broadcast                */
    TASK_SHIFT,   /* a send and a receive, or one of them, or none       */
    TASK_STAGE,   /* a send to another stage, or a receive from one      */
    TASK_COPY,
    TASK_FILL,
    TASK_FOLD
} task_kind;

typedef struct task {
    task_kind kind;
    pl_step step;    /* filled as far as known; slots come last                                */
    int n_in, n_out;
    int in[PL_MAX_OPERANDS], out[PL_MAX_OPERANDS]; /* parts. What goes on with an output in steps
                        reads it last, and takes over its memory                               */
    int64_t in_at[PL_MAX_OPERANDS], out_at; /* NODE in steps: bytes from the part's start      */
    bool on_host;    /* NODE: the host runs it, beside compute steps, as if it were a message   */
    bool eager;      /* updates a state: run as soon as possible, it frees memory              */
    int to;          /* SHIFT: whom it sends to (step.peer: whom it receives from); -1: nobody  */
    int64_t gets;    /* SHIFT: elements that it receives (step.count: that it sends)            */
    const pl_transfer *piece[PL_MAX_OPERANDS]; /* COPY of pieces into one part, one of each input:
                        whose they are                                                          */
    bool clear;      /* COPY: does not write all of its part, fill it first                    */
    bool prompt;     /* runs as soon as it may (order.c)                                       */
    bool keeps;      /* makes what is kept for backward nodes: its turn is now                 */
    bool once;       /* only updates need it: pl_step.once                                     */
    int pass;        /* of a plan in stages: pl_lower_stage                                    */
    int asked_for;   /* STAGE, a receive: the pass with which it starts                        */
    bool late;       /* brings a state for what runs promptly: as soon as that has all else    */
    int n_late;      /* such tasks that make what it reads, and have no turn yet               */
    bool asked;      /* they have                                                              */
    bool early;      /* leads to a message, and needs nothing that is computed (early.c)       */
    int unmet;       /* tasks that must come first                                             */
    ints before;     /* tasks that wait for this one                                           */
} task;

/* A step of the order: one task, or the reductions of one bucket. */
typedef struct slot {
    ints tasks;
} slot;

/* Where a value is kept for backward nodes. */
typedef struct kept_value {
    const pl_placement *where; /* pl_plan.kept; NULL: each part that there is is                */
    int last;        /* the last forward node before those that makes or reads it, after which */
    int part;        /* this part is kept; -1: none (yet), or it is made again                 */
    bool again;      /* pl_plan.recompute                                                      */
} kept_value;

/* What goes from one stage to another. */
typedef struct pl_handover {
    const pl_value *value;
    int from, to;    /* places on the axis of the stages                                       */
    int made;        /* the pass of `from` that makes it; -1: it is there before all           */
    int asked;       /* the pass of `to` with whose beginning it is asked for,                 */
    int there;       /* and the one that may count on it                                       */
} pl_handover;

/* What a rank of a plan in stages does (pipeline.c): its passes, the last of which are updates. */
typedef struct pl_lower_stage {
    int place;       /* on the axis                                                            */
    int n_passes;
    int *first;      /* [n_passes + 1] of `node`                                               */
    int *node;       /* nodes of the rank by pass                                              */
    int *first_task; /* [n_passes]                                                             */
    int n;
    const pl_handover *at; /* from or to the rank, in the order of `there`, `from`, `made`     */
} pl_lower_stage;

typedef struct lowering {
    const pl_plan *plan;
    const pl_store *store;
    pl_lower_options options;
    int rank;
    int pass;        /* whose nodes are being added; 0 without stages                          */
    pl_lower_stage stage;
    pl_reshard reshard;
    pl_arena *tmp, *out;
    struct { int n, cap; part *at; } parts;
    struct { int n, cap; task *at; } tasks;
    struct { int n, cap; slot *at; } order;
    ints *of_value;  /* [values] parts of each value, first the one its maker leaves           */
    bool *reads;     /* [values] of a plan in stages: a node of the rank reads it              */
    int *output;     /* [outputs] the part that the outside reads                              */
    bool *again;     /* [nodes] of the forward pass: added again, for the backward pass        */
    kept_value *kept; /* [values] of those that nodes of both passes have                       */
    int *final;      /* [values] of states: the part whose contents the step leaves in them    */
    bool counted;    /* bytes of the largest part in the host's memory were:                   */
    int64_t largest_hosted;
    struct {         /* between which blocks which copies lead is found once (moves.c)         */
        int n, cap;
        struct known_move **at;
        pl_map map;
    } moves;
} lowering;

bool pl_lower_is_message(const task *t); /* it runs on a lane of messages, or of the host */
bool pl_lower_is_fetch(const task *t);   /* it copies from the host */
bool pl_lower_is_store(const task *t);   /* it copies to the host */
bool pl_lower_is_light(const task *t);   /* a node with no more to do than to move its elements */
/* options.ahead_bytes, or its default: of what is ahead of its readers, and of what is under way to
 * the host. */
int64_t pl_lower_ahead(lowering *l);
/* The part whose memory p lies in. */
int pl_lower_home(const lowering *l, int p);
/* A part that nobody finds by its value, of so many bytes; 0: those of the largest share. */
int pl_lower_part(lowering *l, const pl_value *v, const pl_placement *where, int64_t bytes);
/* A task that reads part `from` and makes part `into`; its number. */
int pl_lower_task(lowering *l, task_kind kind, const char *label, int from, int into);
/* Task `id` reads part p as its next input. */
void pl_lower_read(lowering *l, int id, int p);
/* A task that copies the contents of part `from` into a part of v at the same placement, which has
 * memory of its own; returns that part. In the host's memory two: from it to the device, and back.
 * */
int pl_lower_copy(lowering *l, int from, const pl_value *v);
/* Does the rank hold this state, and the step change it? */
bool pl_lower_changes(const lowering *l, const pl_value *state);
/* May what task t makes, an element-wise node, lie over its input k once nobody else needs that? */
bool pl_lower_lies_over(const lowering *l, const task *t, int k);
/* The tasks of one move of part `from`; returns the part that it leads to. */
int pl_lower_move(lowering *l, int from, const pl_move *m);

/* `tmp` owns what it adds. */
void pl_lower_pipeline(const pl_plan *p, int rank, pl_lower_stage *out, pl_arena *tmp);
bool pl_lower_tasks(lowering *l, pl_err *err);   /* plan -> tasks over parts (moves.c)          */
void pl_lower_steps(lowering *l);                /* gathers broken up into steps of their readers */
void pl_lower_overwrites(lowering *l);           /* who waits for whom; copies of what is lost  */
void pl_lower_once(lowering *l);                 /* what micro-batches before the last leave out */
int pl_lower_early(lowering *l);                 /* what may be on its way before its turn: from
                                                    the task on that is returned                */
void pl_lower_order(lowering *l);                /* tasks -> order, reductions in buckets       */
void pl_lower_sends(lowering *l);                /* what is sent to stages counts as gone later */
bool pl_lower_spare(lowering *l, pl_program *p, pl_err *err); /* an order of less memory        */
bool pl_lower_places(lowering *l, pl_program *p, pl_err *err); /* order -> offsets and steps    */

#endif
