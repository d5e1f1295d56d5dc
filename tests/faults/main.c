/* Faults of the machine, tried out on the programs: main WHOLE|QUICK FOLDER [GROUP], where the
 * programs with tests/faults/inject.c in them are in the folder. */
#include "src/error.h"
#include "tests/faults/checks.h"
#include "tests/faults/session.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    program_name_set(argv[0]);
    if (argc < 3 || (strcmp(argv[1], "whole") != 0 && strcmp(argv[1], "quick") != 0))
        die("say whole or quick, and the folder with the programs");
    bool quick = strcmp(argv[1], "quick") == 0;
    const char *only = argc > 3 ? argv[3] : NULL;
    session_begin(argv[2]);
    if (!only || strcmp(only, "flips") == 0)
        check_flips(quick);
    if (!only || strcmp(only, "places") == 0)
        check_places();
    if (!only || strcmp(only, "power") == 0)
        check_power(quick);
    if (!only || strcmp(only, "kills") == 0)
        check_kills(quick);
    if (!only || strcmp(only, "faults") == 0)
        check_faults(quick);
    return session_end();
}
