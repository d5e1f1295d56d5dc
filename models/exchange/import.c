/* import: makes a run of a model that another program, or export, wrote. */
#include "data/tokenizers/utf8.h"
#include "models/exchange/imported.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/program.h"
#include "src/math/team.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

static const About about = {
    .name = "import",
    .purpose = "converts a Hugging Face model, or an export of linnet, to a run",
    .synopses = {"DIR [RUN]"},
    .paragraphs =
        {"DIR is a directory as Hugging Face transformers saves a model: config.json, "
         "model.safetensors (or shards with model.safetensors.index.json) and tokenizer.json "
         "(or vocab.json and merges.txt). Models of the types gpt2, gpt_neox and llama are "
         "read; what linnet would compute differently is refused. Every directory that "
         "linnet-export writes is read too.",
         "Grouped-query attention (llama) is expanded: each key and value head is stored once "
         "for every query head that shares it, and linnet-export writes the model so.",
         "RUN is the new run directory; by default runs/NAME, named after DIR. It holds the "
         "weights as best.safetensors and settings.conf. eval, sample, inspect and export use "
         "it like a run that was trained here; train --init trains a new run from its weights.",
         "The tokenizer must be byte-level BPE, as GPT-2 has it. Nothing in DIR is trusted: "
         "pickles (pytorch_model.bin) are refused, and so are weights that are NaN."},
    .examples = {"gpt2 runs/gpt2", "exports/linear-ptb"},
};

/* The last part of a path, or NULL if that does not name the directory; moves its end. */
static const char *last_part(char *path)
{
    file_trim_slashes(path);
    const char *name = file_base_name(path);
    return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 ? name : NULL;
}

/* "runs/NAME", after the directory; the caller frees. */
static char *run_of(const char *folder)
{
    char *path = memory_copy_text(folder), *whole = realpath(folder, NULL);
    const char *name = last_part(path);
    if (!name && whole)
        name = last_part(whole); /* of "." */
    char *run = text_format("runs/%s", name ? name : "imported");
    free(path);
    free(whole);
    return run;
}

/* Checkpoints store the name as JSON, which is UTF-8. */
static const char *storable(const char *name)
{
    size_t size = strlen(name);
    for (size_t at = 0, length; at < size; at += length)
        if (!(length = utf8_length(name + at, size - at)))
            return "a directory";
    return name;
}

static void print_model(const ImportedModel *imported, const char *run)
{
    const ModelConfig *config = &imported->model.config;
    print_output("%s: %s, %zu parameters, %zu layer%s, dimension %zu, %zu head%s, context %zu, "
                 "%zu tokens",
                 run,
                 imported->plan.exported ? "exported by linnet" : imported->plan.family->type,
                 imported->model.table.parameters, config->layers, text_plural(config->layers),
                 config->dim, config->heads, text_plural(config->heads), config->context,
                 config->vocabulary);
    for (size_t i = 0; i < arrlenu(imported->plan.notes); i++)
        print_output("  %s", imported->plan.notes[i]);
}

int main(int argc, char **argv)
{
    CommandLine line;
    program_read_command_line(&about, &(Options){0}, argc, argv, &line);
    if (line.operand_count < 1 || line.operand_count > 2)
        die_usage("a directory with a model is needed: import DIR [RUN]");
    const char *folder = line.operands[0];
    char *run = line.operand_count == 2 ? memory_copy_text(line.operands[1]) : run_of(folder);
    ImportedModel imported;
    Error error;
    team_start(1);
    if (!imported_open(&imported, folder, &error) ||
        !imported_save(&imported, storable(folder), run, &error))
        die("%s", error.text);
    print_model(&imported, run);
    imported_close(&imported);
    free(run);
    team_stop();
    program_end(&(Options){0}, &line);
    return 0;
}
