/* cli/commands.h - one row per command, one file each. */
#ifndef PL_CLI_COMMANDS_H
#define PL_CLI_COMMANDS_H
#include "cli/opt.h"

extern const pl_command pl_command_doctor, pl_command_models, pl_command_ops, pl_command_graph,
    pl_command_probe, pl_command_plan, pl_command_show, pl_command_explain,
    pl_command_why_not, pl_command_memory, pl_command_verify, pl_command_train, pl_command_sample;

#endif
