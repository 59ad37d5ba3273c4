/* pleat ops: the operators, with signature, gradient and what may be split. */
#include "cli/commands.h"
#include "ops/lib/all.h"

#include <stdio.h>

typedef struct ops_args {
    bool json;
} ops_args;

// clang-format off
static const pl_opt opts[] = {
    { "json", PL_OPT_FLAG, offsetof(ops_args, json), NULL, NULL, "one JSON object on stdout" },
    { 0 },
};
// clang-format on

static const char *or_dash(const char *text)
{
    return text && *text ? text : "-";
}

static int run(const pl_command *c, int argc, char **argv)
{
    ops_args a = { 0 };
    int n, code;
    if (!pl_opt_parse(c, argc, argv, &a, 0, 0, NULL, &n, &code)) return code;
    if (a.json)
        printf("{\"ops\": [");
    else
        printf("%-22s %-36s %-8s %-8s %-8s %-5s %s\n", "operator", "signature", "whole", "lookup",
               "linear", "grad", "attributes");
    for (int i = 0; i < pl_ops_all.n; i++) {
        const pl_op *o = pl_ops_all.at[i];
        const char *sig = o->sig ? o->sig : "(each node's own)";
        if (a.json)
            printf("%s\n  {\"name\": \"%s\", \"signature\": \"%s\", \"whole\": \"%s\", \"lookup\": "
                   "\"%s\", "
                   "\"linear\": \"%s\", \"gradient\": %s, \"attributes\": \"%s\"}",
                   i ? "," : "", o->name, sig, o->whole ? o->whole : "", o->lookup ? o->lookup : "",
                   o->linear ? o->linear : "", o->grad ? "true" : "false",
                   o->attrs ? o->attrs : "");
        else
            printf("%-22s %-36s %-8s %-8s %-8s %-5s %s\n", o->name, sig, or_dash(o->whole),
                   or_dash(o->lookup), or_dash(o->linear), o->grad ? "yes" : "-",
                   or_dash(o->attrs));
    }
    if (a.json)
        printf("\n]}\n");
    else
        printf(
            "\n%d operators. Letters are indices that may be split over devices; 'whole' ones may "
            "not, "
            "'lookup' ones\nare table rows (masked and summed), and a pending sum passes through "
            "'linear' operands.\n",
            pl_ops_all.n);
    return PL_OK;
}

const pl_command pl_command_ops = {
    .name = "ops",
    .operands = "",
    .about = "the operators, with signature and gradient",
    .opts = opts,
    .run = run,
};
