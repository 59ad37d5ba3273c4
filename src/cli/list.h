/* cli/list.h - the commands, as help names them. To add one: a file here that defines
 * pl_command_<name>, and its row. */
#ifndef PL_CLI_LIST_H
#define PL_CLI_LIST_H
#include "options/opt.h"

#define PL_COMMAND_LIST(X) \
    X(doctor) \
    X(models) \
    X(ops) \
    X(graph) \
    X(probe) \
    X(fit) \
    X(data) \
    X(plan) \
    X(show) \
    X(explain) \
    X(why_not) \
    X(memory) \
    X(schedule) \
    X(verify) \
    X(train) \
    X(sample)

#define PL_COMMAND_DECLARE(name) extern const pl_command pl_command_##name;
PL_COMMAND_LIST(PL_COMMAND_DECLARE)

#endif
