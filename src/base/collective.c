/* The names of collectives, and which of them a transport carries as one message. */
#include "base/collective.h"

const char *pl_collective_name(pl_collective c)
{
    static const char *const names[PL_N_COLLECTIVES] = {
        [PL_SLICE] = "slice",
        [PL_MASK] = "mask",
        [PL_ALL_GATHER] = "all-gather",
        [PL_ALL_REDUCE] = "all-reduce",
        [PL_REDUCE_SCATTER] = "reduce-scatter",
        [PL_ALL_TO_ALL] = "all-to-all",
        [PL_PERMUTE] = "permute",
        [PL_HALO] = "halo",
        [PL_TO_STAGE] = "to-stage",
        [PL_TO_HOST] = "to-host",
        [PL_FROM_HOST] = "from-host",
        [PL_BROADCAST] = "broadcast",
        [PL_SEND] = "send",
        [PL_RECV] = "receive",
        [PL_BARRIER] = "barrier",
    };
    return names[c];
}

bool pl_collective_is_message(pl_collective c)
{
    return c >= PL_ALL_GATHER && c < PL_N_COLLECTIVES && (c < PL_PERMUTE || c > PL_FROM_HOST);
}

bool pl_collective_is_host(pl_collective c)
{
    return c == PL_TO_HOST || c == PL_FROM_HOST;
}
