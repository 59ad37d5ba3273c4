/* base/collective.h - what a group of devices does together with a tensor. One list for all: what
 * it costs (reshard/move.h), the steps that it takes (program/program.h), and what a transport
 * carries (run/comm.h), each of which knows some of them.
 *
 * Of a message `count` elements: */
#ifndef PL_BASE_COLLECTIVE_H
#define PL_BASE_COLLECTIVE_H
#include <stdbool.h>

typedef enum pl_collective {
    /* -- moves of a tensor from one placement to another; the first two need no message -------- */
    PL_SLICE,          /* copied -> split: each device keeps its share                            */
    PL_MASK,           /* copied -> a sum pending: the first device of the group keeps the values,
                          the others hold zeros                                                   */
    PL_ALL_GATHER,     /* split -> copied: send[count] on each -> recv[size*count], in the order of
                          the group                                                               */
    PL_ALL_REDUCE,     /* pending -> copied: send[count] -> recv[count], combined, on each        */
    PL_REDUCE_SCATTER, /* pending -> split: send[size*count] -> recv[count]: block i on rank i    */
    PL_ALL_TO_ALL,     /* split -> split otherwise: send[size*count] -> recv[size*count]: block i
                          of send goes to rank i                                                  */
    PL_PERMUTE,        /* the same, where every device gives all it has to one other: by sends    */
    PL_HALO,           /* split -> the same axes split the positions of a window: neighbours give
                          each other the rows that the other lacks, each its own number: by sends */
    PL_TO_STAGE,       /* a device's part goes as it is to the device of another stage: by a send */
    PL_TO_HOST,        /* a device's part is copied to the host's memory, and                     */
    PL_FROM_HOST,      /* back: count elements, by each device alone                              */
    /* -- messages alone ------------------------------------------------------------------------ */
    PL_BROADCAST,      /* send[count] of peer -> recv[count] on each: a block of a gather         */
    PL_SEND,           /* send[count] to peer (a position in the group)                           */
    PL_RECV,           /* recv[count] from peer                                                   */
    PL_BARRIER,        /* no data                                                                 */
    PL_N_COLLECTIVES
} pl_collective;

const char *pl_collective_name(pl_collective c); /* "all-reduce" */

/* Does a transport carry it as one message? */
bool pl_collective_is_message(pl_collective c);

/* Does each device copy by itself, from or to the host's memory? */
bool pl_collective_is_host(pl_collective c);

#endif
