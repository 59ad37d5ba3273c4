/* pleat ops: the operators, with signature, gradient and what may be split. */
#include "base/table.h"
#include "cli/list.h"
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

static const char *signature_of(const pl_op *o)
{
    return o->sig ? o->sig : "(each node's own)";
}

static const char *or_dash(const char *text)
{
    return text && *text ? text : "-";
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static void print_text(void)
{
    pl_arena *tmp = pl_arena_new("operators");
    pl_table t = pl_table_new(tmp, "operator\tsignature\twhole\tlookup\tlinear\tgrad\tattributes");
    for (int i = 0; i < pl_ops_all.n; i++) {
        const pl_op *o = pl_ops_all.at[i];
        pl_table_add(&t, "%s\t%s\t%s\t%s\t%s\t%s\t%s", o->name, signature_of(o), or_dash(o->whole),
                     or_dash(o->lookup), or_dash(o->linear), o->grad ? "yes" : "-",
                     or_dash(o->attrs));
    }
    printf("%s\n%d operators. Letters are indices that may be split over devices; 'whole' ones may "
           "not, 'lookup' ones\nare table rows (masked and summed), and a pending sum passes "
           "through 'linear' operands.\n",
           pl_table_text(&t), pl_ops_all.n);
    pl_arena_free(tmp);
}

static void print_json(void)
{
    pl_arena *tmp = pl_arena_new("operators");
    pl_json_out out = pl_json_begin(tmp);
    pl_json_open_lines(&out, "ops", PL_JSON_LIST);
    for (int i = 0; i < pl_ops_all.n; i++) {
        const pl_op *o = pl_ops_all.at[i];
        PL_JSON_ROW(&out, NULL, "name", o->name, "signature", signature_of(o), "whole",
                    or_empty(o->whole), "lookup", or_empty(o->lookup), "linear",
                    or_empty(o->linear), "gradient", (bool)(o->grad != NULL), "attributes",
                    or_empty(o->attrs));
    }
    puts(pl_json_end(&out));
    pl_arena_free(tmp);
}

static int run(const pl_command *c, int argc, char **argv)
{
    ops_args a = { 0 };
    int n, code;
    if (!pl_opt_parse(c, argc, argv, &a, 0, 0, NULL, &n, &code)) return code;
    if (a.json)
        print_json();
    else
        print_text();
    return PL_OK;
}

const pl_command pl_command_ops = {
    .name = "ops",
    .operands = "",
    .about = "the operators, with signature and gradient",
    .opts = opts,
    .run = run,
};
