/* program/program.h - what one device does in a step: kernels, messages and copies over buffers
 * with fixed offsets.
 *
 * Two lanes run side by side, each in program order: compute (kernels, copies) and communication
 * (messages). Messages start in order, and may be under way together. A step waits until `wait`
 * messages are finished (all of the first so many); a message also until `after` compute steps are.
 * Copies to the host's memory are messages that pass alone, on a lane of their own, and those from
 * it on another; so are what is sent to other stages of a pipeline and what comes from there, and
 * kernels that the host runs. Each of these lanes starts its own in order, and is not held up by
 * the others. Wherever messages are counted, all of these are.
 * Buffers never move and nothing is allocated while a program runs.
 *
 * That of a graph in micro-batches is what the last of them runs, updates included; those before it
 * run what is not `once` of it: pl_program_micro. That of a plan in stages is of the rank's own
 * nodes; where micro-batches are under way together, of a graph that has all of them
 * (plan/unroll.h). */
#ifndef PL_PROGRAM_PROGRAM_H
#define PL_PROGRAM_PROGRAM_H
#include "graph/share.h"
#include "arena/offsets.h"
#include "plan/plan.h"
#include "reshard/reshard.h"

enum { PL_WORK_ALIGN = 64 }; /* bytes, of all places: a cache line and an AVX-512 vector */

/* A place in memory: bytes from the start of the state block or of the work block, of which the
 * host's memory has two of its own. */
typedef struct pl_slot {
    bool state, host;
    int64_t at;
} pl_slot;

static inline bool pl_slot_same(pl_slot a, pl_slot b)
{
    return a.state == b.state && a.host == b.host && a.at == b.at;
}

/* FOLD: out[0] combined with in[0], element by element, in place. HOST_KERNEL: a kernel that the
 * host's processor runs, on its memory (pl_plan.on_host). */
typedef enum pl_step_kind {
    PL_KERNEL,
    PL_MESSAGE,
    PL_COPY,
    PL_FILL,
    PL_FOLD,
    PL_HOST_KERNEL
} pl_step_kind;

/* What the bytes of a copy or message are. On the way between two placements a tensor takes up to
 * four forms: the part that a device has; *outgoing* blocks, one for each member of the group; the
 * blocks that came in; the part that it gets (pl_move in reshard/reshard.h). A HALO has one
 * outgoing and one incoming block for each shift, of any size, and makes the part by several
 * copies. */
typedef enum pl_form { PL_PART_FROM, PL_OUTGOING, PL_INCOMING, PL_PART_TO } pl_form;

typedef struct pl_transfer {
    const pl_value *value;
    pl_move move;
    int shift; /* HALO: blocks for the member so many places on, from the one as many before */
} pl_transfer;

/* One step of a node that does its share in steps (plan/steps.h): block i of n of its factor. Its
 * inputs with that factor are read block by block; the blocks of an output with it are put beside
 * each other, those of an output without it are added up. */
typedef struct pl_piece {
    const pl_node *node;
    int factor, n, i;
    int operand; /* COPY: of an input, its block out of the part; of the output, into it */
} pl_piece;

typedef struct pl_step {
    pl_step_kind kind;
    const char *label;          /* the node, or the tensors of a message                      */
    const pl_share *share;      /* KERNEL, HOST_KERNEL                                        */
    const pl_piece *piece;      /* KERNEL, COPY, FOLD in steps; else NULL                     */
    int n_in, n_out;            /* MESSAGE, COPY: one of each, SEND no out, RECV and FILL no in */
    pl_slot in[PL_MAX_OPERANDS], out[PL_MAX_OPERANDS];
    int wait;                   /* messages that must be finished before it starts            */
    bool once;                  /* of a step in micro-batches: runs after the last one alone  */
    int pass;                   /* of a plan in stages: its pass, by number in the rank's row of the
                                   schedule; of updates the number of all passes              */
    const pl_transfer *transfer; /* MESSAGE, COPY; NULL: of several tensors, or a plain copy  */
    pl_form from, to;           /* forms of its input and output in that transfer             */
    pl_type type;               /* MESSAGE, FILL, FOLD                                        */
    pl_monoid monoid;           /* MESSAGE, FOLD; FILL: with what is nothing to it (0 for a sum) */
    int64_t count;              /* MESSAGE: elements that this rank puts in (SCATTER, EXCHANGE:
                                   of one block); FILL, FOLD: elements                        */
    /* MESSAGE */
    pl_collective collective;
    unsigned axes;              /* group: ranks that differ on these mesh axes only; 0: a copy
                                   to or from the host's memory                               */
    int n_bucket;               /* of several tensors: so many,                               */
    const pl_value *const *bucket; /* which; NULL in a program that was parsed, as the next    */
    const int64_t *bucket_count;   /* elements of each, of `count`                             */
    int peer;                   /* SEND, RECV, BROADCAST (whose part): position in the group  */
    int64_t bytes;              /* that this rank receives: pl_move_volume; BROADCAST: count
                                   elements, at its root 0; TO_HOST, FROM_HOST: all of them   */
    int after;                  /* compute steps that must be finished before it starts; of a
                                   HOST_KERNEL too                                            */
    /* COPY */
    int n_copies;
    const pl_copy *copy;
} pl_step;

/* Does it run on the lane of compute steps? */
static inline bool pl_step_is_compute(const pl_step *x)
{
    return x->kind != PL_MESSAGE && x->kind != PL_HOST_KERNEL;
}

/* Does it run a node? */
static inline bool pl_step_is_kernel(const pl_step *x)
{
    return x->kind == PL_KERNEL || x->kind == PL_HOST_KERNEL;
}

/* Is it a copy to or from the host's memory? */
static inline bool pl_step_is_host(const pl_step *x)
{
    return x->kind == PL_MESSAGE && pl_collective_is_host(x->collective);
}

/* Is it a message between ranks? */
static inline bool pl_step_is_between(const pl_step *x)
{
    return x->kind == PL_MESSAGE && !pl_step_is_host(x);
}

/* Messages pass on lanes, each in order: those between ranks, what is sent to other stages and what
 * comes from there, copies to and from the host, and its kernels. */
enum {
    PL_LANE_COMM,
    PL_LANE_SEND,
    PL_LANE_RECV,
    PL_LANE_OUT,
    PL_LANE_IN,
    PL_LANE_HOST,
    PL_N_LANES
};

static inline int pl_step_lane(const pl_step *message)
{
    if (message->kind == PL_HOST_KERNEL) return PL_LANE_HOST;
    if (pl_step_is_host(message))
        return message->collective == PL_TO_HOST ? PL_LANE_OUT : PL_LANE_IN;
    if (!message->transfer || message->transfer->move.kind != PL_TO_STAGE) return PL_LANE_COMM;
    return message->collective == PL_SEND ? PL_LANE_SEND : PL_LANE_RECV;
}

/* A named tensor that the outside writes or reads: this device's part of it. */
typedef struct pl_port {
    const pl_value *value;
    pl_placement where;
    pl_shape shape;             /* local                                                      */
    const pl_region *region;    /* the part's elements in the whole: pl_region_global         */
    pl_slot slot;
    int64_t bytes;              /* of memory: those of the largest part of any rank           */
} pl_port;

/* The one of that name, or NULL. */
const pl_port *pl_port_find(int n, const pl_port ports[], const char *name);

/* Copy the part out of, or into, the whole tensor. */
void pl_port_take(const pl_port *p, const void *whole, void *part);
void pl_port_give(const pl_port *p, const void *part, void *whole);

/* States: the same block for every program of a device (training and evaluation). */
typedef struct pl_store {
    int n;
    pl_port *state;
    int64_t bytes;              /* of the device's memory                                     */
    int64_t host_bytes;         /* of the host's                                              */
} pl_store;

typedef struct pl_program {
    const pl_plan *plan;
    const pl_store *store;
    int rank, n_ranks;
    bool micro;                 /* of a micro-batch before the last: without updates           */
    int n_steps, n_compute, n_messages;
    pl_step *step;
    int n_inputs, n_outputs;
    pl_port *input, *output;
    int64_t ahead_bytes;        /* of states that are gathered before they are read, at most  */
    int64_t work_bytes;         /* height of the work block                                   */
    int64_t host_bytes;         /* of that in the host's memory                               */
    int64_t work_bound;         /* no layout of this order is lower                           */
    int64_t order_bound;        /* no order of the steps that writes in place what this one does
                                   has less work memory live at once; 0: not asked             */
    int n_lives;                /* of work memory: when each piece is used, by position in the
                                   order, and its size; 0 unless asked for                     */
    const pl_buf *life;
    int64_t message_bytes;      /* that this rank receives from others when it runs: sum of
                                   step.bytes                                                 */
    int64_t bucket_bytes;       /* reductions were joined up to this size; 0: nobody says     */
    double flops;               /* of this rank's kernels                                     */
} pl_program;

/* In which order steps run. That of a program is made for messages to pass beside computing; in
 * others what makes or reads the contents of messages keeps its order, and all else moves. AUTO:
 * PLEAT where there are no messages, else PROGRAM. */
typedef enum pl_step_order {
    PL_ORDER_AUTO,
    PL_ORDER_PROGRAM,
    PL_ORDER_LESCEA, /* greedy: order/lescea.h                               */
    PL_ORDER_PLEAT,  /* of the least memory that is found: order/schedule.h */
    PL_N_ORDERS
} pl_step_order;

const char *pl_step_order_name(pl_step_order o); /* "pleat" */
PL_MUST_CHECK bool pl_step_order_find(const char *name, pl_step_order *order, pl_err *err);

enum { PL_LOWER_AHEAD = 32 << 20 }; /* bytes: usual limit of pl_lower_options.ahead_bytes */

/* How lowering may arrange things; {0} gives the defaults. */
typedef struct pl_lower_options {
    int64_t bucket_bytes;       /* reductions are joined up to this size; default 16 MiB      */
    int64_t work_limit;         /* bytes of device memory for the work block; 0: no limit     */
    int64_t ahead_bytes;        /* states are gathered, and what lies in the host's memory comes,
                                   ahead of their readers, as long as no more than this waits for
                                   its reader, the next one's apart; nor is more on its way to the
                                   host. Default 32 MiB, or twice the largest tensor that lies
                                   there; -1: each just before its reader                      */
    int64_t step_bytes;         /* a gather whose result is larger than this runs in steps with its
                                   reader, if it has one only (collective matmul; SUMMA where two
                                   inputs are gathered along the same factor): the reader works on
                                   one member's block while the next is broadcast, and no more than
                                   two are kept; beside a reader's output that is a sum there is one
                                   more of its size, the next term (of bf16: rounded in every step).
                                   Needs even shares and a reader with one output, of which the
                                   group splits a factor without window; else it is gathered as
                                   ever. 0: never                                              */
    bool no_strided;            /* see pl_reshard                                             */
    pl_paths *paths;            /* between placements, kept from plan to plan; NULL: its own  */
    pl_step_order order;
    int64_t moves;              /* of the search for an order (pl_schedule_options.effort); default
                                   1,000,000: a tenth of a second                              */
    double slack;               /* of the work block (pl_offsets_place)                        */
    bool lives;                 /* keep pl_program.life                                        */
    bool apart;                 /* element-wise steps write over none of their inputs: each result
                                   is a tensor of its own, as published studies of orders count */
    bool no_reuse;              /* every buffer its own memory: the slow twin of the layout   */
} pl_lower_options;

/* Where rank `rank` keeps the states of a plan; of what other stages hold it has no element, and no
 * byte. */
pl_store *pl_store_new(const pl_plan *plan, int rank, pl_arena *out);

/* Lower a checked plan for one rank. `store` may come from another plan's graph (an evaluation that
 * reads the weights a training step keeps): states are matched by name.
 *
 * Fails with PL_EINFEASIBLE when the work block does not fit work_limit (step, bytes live, limit),
 * with PL_EINPUT when the store lacks a state or places it otherwise. */
PL_MUST_CHECK bool pl_program_lower(const pl_plan *plan, int rank, const pl_store *store,
                                    const pl_lower_options *options, pl_arena *out,
                                    pl_program **program, pl_err *err);

/* How often one of its steps runs while it is run for all micro-batches that it is of. */
static inline int64_t pl_program_runs(const pl_program *p, const pl_step *x)
{
    return p->micro || x->once ? 1 : p->plan->graph->micro;
}

/* What the micro-batches before the last run of a program: the same steps over the same memory, but
 * for those that run once. It shares what it can with p; `out` owns the rest. */
pl_program *pl_program_micro(const pl_program *p, pl_arena *out);

/* Independent check over every byte range: nothing is read before it is written, written while a
 * message uses it, or overwritten before its last reader; offsets lie inside the blocks. Fails with
 * PL_EMISMATCH naming both steps. */
PL_MUST_CHECK bool pl_program_check(const pl_program *p, pl_err *err);

/* Text form: sizes, the tensors that the outside reads and writes, and a line per step in order,
 * with all that the lowering has decided. What the plan says is not said again. */
void pl_program_print(const pl_program *p, pl_text *out);

/* The program of a rank of this plan whose text this is: it prints the same, is checked, forecast
 * and run the same. Whether it is right only pl_program_check says. `life` is not
 * kept. Fails with PL_EINPUT giving the line and the word. `out` owns the program. */
PL_MUST_CHECK bool pl_program_parse(const char *text, const pl_plan *plan, pl_arena *out,
                                    pl_program **program, pl_err *err);

/* Do the programs of all ranks (program[i] is rank i's) work together? Every message is started by
 * all members of its group as the same collective of the same tensor, type, monoid and count, in
 * the same order; sends and receives pair up; and with messages started in order, each behind its
 * `wait` and `after`, every step of every rank is reached. Fails with PL_EMISMATCH naming ranks,
 * steps and tensors: the ends that differ, or who waits for whom. */
PL_MUST_CHECK bool pl_program_check_ranks(int n, const pl_program *const program[], pl_err *err);

#endif
