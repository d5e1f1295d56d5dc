/* export: a trained model in files that other programs read, or people. */
#include "data/reader.h"
#include "eval/export/forms.h"
#include "src/gemm.h"
#include "src/program.h"
#include "src/team.h"

#include <stdlib.h>

typedef struct Settings {
    bool plain, text;
    char *example;
} Settings;

#define FIELD(name) offsetof(Settings, name)
/* clang-format off */
static const Option rows[] = {
    {.name = "plain", .type = OPTION_FLAG,
     .offset = FIELD(plain), .fallback = "no",
     .help = "any model: its tensors under their own names, settings.json and vocabulary.json"},
    {.name = "text", .type = OPTION_FLAG,
     .offset = FIELD(text), .fallback = "no",
     .help = "to read: vocabulary.txt, a token a line, and settings.conf"},
    {.name = "example", .argument = "FILE", .type = OPTION_TEXT,
     .offset = FIELD(example),
     .help = "also write example.json: this text, its tokens and the logits of what follows, "
             "to check a program against; -: standard input"},
};
/* clang-format on */

static const About about = {
    .name = "export",
    .purpose = "writes a trained model in a form that other programs read",
    .synopses = {"[OPTIONS] RUN DIR"},
    .paragraphs =
        {"The folder DIR has to be new or empty. It gets the form that Python's transformers "
         "reads: AutoModelForCausalLM.from_pretrained(DIR) and "
         "AutoTokenizer.from_pretrained(DIR) give the same tokens and logits as here. That "
         "takes softmax attention, --norm pre, --pos learned, sinusoidal or none, and --act "
         "gelu, relu or relu2; --plain writes any other model.",
         "RUN is the folder of a run, of which the best checkpoint is taken, or a checkpoint "
         "file."},
    .examples = {"runs/softmax-ptb softmax-ptb-gpt2",
                 "--plain --text runs/linear-ptb linear-ptb-files"},
    .environment = {&about_kernels},
};

static bool write_example(ExportFolder *folder, const LoadedModel *loaded, const char *path,
                          Error *error)
{
    enum { MOST_MB = 100 };
    char *text;
    size_t size;
    if (!reader_read(path, MOST_MB, &text, &size, error))
        return false;
    bool good = export_example(folder, loaded, reader_name(path), text, size, error);
    free(text);
    return good;
}

static bool write_folder(const Settings *settings, const LoadedModel *loaded, const char *path,
                         Error *error)
{
    ExportFolder folder;
    bool for_transformers = !settings->plain && !settings->text;
    if (!export_folder_begin(&folder, path, error))
        return false;
    bool good = (!for_transformers || export_transformers(&folder, loaded, error)) &&
                (!settings->plain || export_plain(&folder, loaded, error)) &&
                (!settings->text || export_text(&folder, loaded, error)) &&
                (!settings->example ||
                 write_example(&folder, loaded, settings->example, error));
    if (good)
        return export_folder_commit(&folder, error);
    export_folder_abort(&folder);
    return false;
}

int main(int argc, char **argv)
{
    gemm_choose_kernels(argv);
    Settings settings = {0};
    const OptionGroup group = {"Options", rows, sizeof rows / sizeof *rows, &settings};
    CommandLine line;
    program_read_command_line(&about, &group, 1, argc, argv, &line);
    if (line.operand_count != 2)
        die_usage("it takes a run and a folder to write");

    LoadedModel loaded;
    Error error;
    team_start(1);
    if (!loaded_open(&loaded, line.operands[0], &error) ||
        !write_folder(&settings, &loaded, line.operands[1], &error))
        die("%s", error.text);
    loaded_close(&loaded);
    options_free_texts(&group, 1);
    command_line_free(&line);
    team_stop();
    return 0;
}
