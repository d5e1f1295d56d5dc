/* --attn help and --preset help. */
#ifndef LINNET_TRAIN_HELP_H
#define LINNET_TRAIN_HELP_H

#include "src/base/options.h"

/* Prints the list that the command line asks for and ends the program; else does nothing. */
void help_answer(const CommandLine *line);

#endif
