/* The losses of a step that works towards several, which their names tell. */
#include "graph/graph.h"

#include <string.h>

const char *pl_graph_objective(const pl_value *output)
{
    static const char prefix[] = "loss.";
    const size_t n = sizeof prefix - 1;
    return strncmp(output->name, prefix, n) ? NULL : output->name + n;
}

int pl_graph_losses(const pl_graph *g, int most, pl_value *loss[])
{
    int n = 0;
    for (int i = 0; i < g->outputs.n; i++)
        if (pl_graph_objective(g->outputs.at[i]) && n++ < most) loss[n - 1] = g->outputs.at[i];
    return n;
}
