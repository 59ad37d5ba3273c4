/* The plan of a model on a cluster: pleat plan in a page.
 *
 *     cc plan.c $(pkg-config --cflags --libs pleat) -o plan && ./plan gpt2 2x8xv100 plan.json
 */
#include <pleat.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: plan MODEL CLUSTER [FILE]\n");
        return PL_EUSAGE;
    }
    pl_context *c = pl_context_new();
    pl_model *m = pl_model_open(c, argv[1]);
    pl_cluster *cluster = m ? pl_cluster_open(c, argv[2]) : NULL;
    pl_plan *p = cluster ? pl_plan_new(m, cluster, NULL) : NULL;
    if (p) fputs(pl_plan_text(p), stdout);
    if (p && argc > 3 && !pl_plan_save(p, argv[3])) p = NULL;
    const int code = p ? PL_OK : (int)pl_context_code(c);
    if (!p) fprintf(stderr, "%s\n", pl_context_error(c));
    pl_context_free(c);
    return code;
}
