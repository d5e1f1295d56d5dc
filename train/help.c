/* The lists of attention kinds and of presets. */
#include "train/help.h"
#include "models/config.h"
#include "models/preset.h"
#include "src/base/containers.h"
#include "src/base/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints the options that belong to this kind, and explains each at the first kind that has it.
 */
static void print_kind_options(const AttentionKind *kind)
{
    for (size_t i = 0; i < model_option_count; i++) {
        const Option *option = &model_option_rows[i];
        if (!config_is_of_kinds(option) || !config_kind_uses(kind, option->name))
            continue;
        const char *first = option->owners->name(option, 0);
        printf("%14s--%s%s%s: ", "", option->name, option->argument ? " " : "",
               option->argument ? option->argument : "");
        if (strcmp(first, kind->name) == 0)
            printf("%s (default %s)\n", option->help, option->fallback);
        else
            printf("see %s\n", first);
    }
}

static void print_kind(const AttentionKind *kind)
{
    const struct {
        bool has;
        const char *what;
    } needs[] = {{kind->wants_convolution, "--conv yes"},
                 {kind->wants_norm, "--head-norm yes"},
                 {kind->wants_gate, "--out-gate yes"},
                 {kind->knows_positions, "--pos none"},
                 {kind->no_rotary && !kind->knows_positions, "--pos learned"}};
    printf("%-13s %s\n%14s%s per token and head; decoding keeps a %s%s\n", kind->name,
           kind->help, "", kind->cost,
           kind->finite_state ? "state of fixed size" : "cache that grows with the text",
           kind->carry == CARRY_WHOLLY ? "; --carry-state" : "");
    bool first = true;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (needs[i].has) {
            printf("%*s%s%s", first ? 14 : 0, "", first ? "default: " : " ", needs[i].what);
            first = false;
        }
    printf("%s", first ? "" : "\n");
    print_kind_options(kind);
}

static void print_kinds(void)
{
    printf("Attention kinds by idea; T is the sequence length, D the head dimension.\n");
    for (size_t i = 0; attention_find(i); i++) {
        if (attention_group(i))
            printf("\n%s\n\n", attention_group(i));
        print_kind(attention_find(i));
    }
    printf("\nKinds joined by + take the layers in turn (window+softmax). Kinds with commas "
           "between\n(softmax,linear) are trained one after the other and then compared.\n");
}

static void print_presets(void)
{
    Error error;
    PresetLine *presets;
    if (!preset_list(&presets, &error))
        die("%s", error.text);
    printf("Presets, recipes of settings; options on the command line override them:\n\n");
    for (size_t i = 0; i < arrlenu(presets); i++)
        printf("  %-10s %s\n", presets[i].name, presets[i].text);
    printf("\n--preset also takes a file, such as the settings.conf of a run directory.\n");
    preset_list_free(presets);
}

void help_answer(const CommandLine *line)
{
    const char *attention = command_line_value(line, "attn");
    const char *preset = command_line_value(line, "preset");
    if (attention && strcmp(attention, "help") == 0)
        print_kinds();
    else if (preset && strcmp(preset, "help") == 0)
        print_presets();
    else
        return;
    program_finish_output();
    exit(EXIT_SUCCESS);
}
