/* Whole tables of embeddings on devices, of those that stand in one, as DLRM deals them out (Naumov
 * et al., 2019). Here is the word; embrace.c does what it says. */
#include "layouts/layout.h"
#include "layouts/list.h"

static void list(pl_texts *out, int n_devices)
{
    (void)n_devices;
    pl_texts_add(out, "table-wise");
}

const pl_layout pl_layout_tables = {
    .name = "tables",
    .about = "whole tables (DLRM: Naumov et al., 2019; TorchRec)",
    .words =
        (const pl_word[]){
            { "table-wise", "table-wise", 0, "embrace",
              "embrace with whole tables, of those that stand in one; others by columns", NULL },
            { 0 },
        },
    .offers =
        (const pl_offer[]){
            { "table-wise", PL_OFFER_KNOWN | PL_OFFER_TABLES },
            { 0 },
        },
    .needs = PL_HAS_STACKS,
    .list = list,
};
