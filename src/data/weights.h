/* data/weights.h - weights in safetensors files, for a model's states to start from. */
#ifndef PL_DATA_WEIGHTS_H
#define PL_DATA_WEIGHTS_H
#include "graph/graph.h"
#include "data/init.h"
#include "data/tensors.h"

typedef struct pl_weights {
    const char *path;
    int n_files;
    pl_tensors *file;           /* [n_files] mapped                                      */
    int n_entries;
    struct pl_weights_entry *entry; /* [n_entries] of all files, sorted by name          */
    int n_used;
    struct pl_weight {
        const char *state;
        pl_stack stack;
    } *used;                    /* [n_used] what states start from, sorted by their names */
} pl_weights;

/* Open a .safetensors file, an index (.json: {"weight_map": {NAME: FILE, ...}}, files in its
 * folder and below), or a folder that holds model.safetensors.index.json, model.safetensors or
 * one .safetensors file. `arena` owns all but the mappings. Fails with PL_EINPUT: unreadable,
 * damaged, a FILE outside of the folder or without its NAME. */
PL_MUST_CHECK bool pl_weights_open(const char *path, pl_arena *arena, pl_weights *out, pl_err *err);
void pl_weights_free(pl_weights *weights);

/* Find the states of a graph by name, but for constants ("values ..."); where the file has none of
 * that name, with the word that most of its tensors' names begin with before it ("transformer."),
 * or without its own: the name of the base model, which some writers leave out. A state that has
 * pl_value.parts may be there row by row. *note tells how many there were, which were not, and
 * which tensors no state has taken. Fails with PL_EINPUT naming all that do not fit
 * (pl_tensors_fit); when no state is there at all; and, unless `partial`, when one is not there: it
 * would start from random numbers. A state that is not trained may come from the model's own file
 * instead. */
PL_MUST_CHECK bool pl_weights_match(pl_weights *weights, const pl_graph *graph, bool partial,
                                    pl_arena *arena, const char **note, pl_err *err);

pl_source pl_weights_source(const pl_weights *weights); /* of what was matched */

/* The files that an index names, each once, below `folder`, and the tensors that it says are in
 * them; for the fuzz target too: any bytes in, no crash. */
typedef struct pl_weights_index {
    int n;
    const char **name, **file; /* [n] of tensors, in order of the files' names */
} pl_weights_index;
PL_MUST_CHECK bool pl_weights_parse(const char *json, size_t n, pl_arena *arena,
                                    pl_weights_index *out, pl_err *err);

#endif
