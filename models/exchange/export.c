/* export: converts a trained model for other programs. */
#include "data/corpora/reader.h"
#include "models/exchange/forms.h"
#include "src/math/gemm.h"
#include "src/base/program.h"
#include "src/math/team.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Settings {
    bool plain, gguf;
    char *example;
} Settings;

#define FIELD(name) offsetof(Settings, name)
/* clang-format off */
static const Option rows[] = {
    {.name = "plain", OPTION_SWITCH(FIELD(plain), "no"),
     .help = "write for your own program: tensors under linnet's names, settings.json, "
             "vocabulary.json, settings.conf, and the tokenizer for --tokenizer-file",
     .also = "text"},
    {.name = "gguf", OPTION_SWITCH(FIELD(gguf), "no"),
     .help = "write one file for llama.cpp, in single precision; only for models that fit its "
             "architectures gpt2, gptneox or llama",
     .also = "llama-cpp"},
    {.name = "example", OPTION_STRING("FILE", FIELD(example), NULL),
     .help = "also write example.json: the tokens of this text and the logits of the next "
             "one, to check other programs against (-: standard input)"},
};
/* clang-format on */

static const About about = {
    .name = "export",
    .purpose = "converts a trained model for other programs",
    .synopses = {"[OPTIONS] RUN DIR", "--gguf RUN FILE"},
    .paragraphs =
        {"DIR is a new or empty directory. It receives the model in the format of Hugging Face "
         "transformers: AutoModelForCausalLM.from_pretrained(DIR, trust_remote_code=True) and "
         "AutoTokenizer.from_pretrained(DIR, trust_remote_code=True) give the same tokens and "
         "logits as linnet.",
         "The code of the model is modeling_linnet.py in DIR, readable PyTorch without cache. "
         "Models that a class of transformers computes need neither it nor trust_remote_code. "
         "All three classes need softmax attention, --norm pre, --no-qk-norm and --head-bias "
         "no. GPT-2: LayerNorm, --pos learned, sinusoidal or none, --act gelu, gelu-erf, relu "
         "or relu2. GPT-NeoX: as GPT-2, but with --pos rotary; --parallel may be on. Llama: "
         "--rms-norm, --act swiglu and --pos rotary.",
         "--gguf needs softmax attention, --norm pre, --no-qk-norm, --head-bias no, and either "
         "LayerNorm with --act gelu, or --rms-norm with --act swiglu and --pos rotary. The "
         "file contains the tokenizer only for --tokens bpe and byte.",
         "RUN is a run directory, whose best checkpoint is used, or a checkpoint file."},
    .examples = {"runs/linear-ptb linear-ptb-model", "--plain runs/linear-ptb linear-ptb-files",
                 "--gguf runs/llama-ptb llama-ptb.gguf"},
};

static bool write_example(ExportFolder *folder, const LoadedModel *loaded, const char *path,
                          Error *error)
{
    char *text;
    size_t size;
    const Tokenizer *tokenizer = loaded->checkpoint.vocabulary.tokenizer;
    if (!reader_read(path, tokenizer->raw, READER_USUAL_MB, NULL, &text, &size, error))
        return false;
    bool good = export_example(folder, loaded, reader_name(path), text, size, error);
    free(text);
    return good;
}

static bool write_files(ExportFolder *folder, const Settings *settings,
                        const LoadedModel *loaded, Error *error)
{
    return (settings->plain ? export_plain : export_transformers)(folder, loaded, error) &&
           (!settings->example || write_example(folder, loaded, settings->example, error));
}

static bool write_gguf(const LoadedModel *loaded, const char *path, Error *error)
{
    char *said = NULL;
    bool good = export_gguf(loaded, path, &said, error);
    if (good) {
        print_output("%s:", path);
        fputs(said, stdout);
    }
    free(said);
    return good;
}

static bool write_folder(const Settings *settings, const LoadedModel *loaded, const char *path,
                         Error *error)
{
    ExportFolder folder;
    char *list = NULL;
    if (!export_folder_begin(&folder, path, error))
        return false;
    bool good = write_files(&folder, settings, loaded, error) &&
                export_folder_list(&folder, &list, error);
    if (!good)
        export_folder_abort(&folder);
    good = good && export_folder_commit(&folder, error);
    if (good) {
        print_output("%s:", path);
        fputs(list, stdout);
    }
    free(list);
    return good;
}

static void print_tensors_usage(const char *word)
{
    print_output("Open it in Python:");
    print_output("  from safetensors.numpy import load_file");
    print_output("  tensors = load_file(%s + \"/model.safetensors\")", word);
}

static void print_model_usage(const ModelConfig *config, const char *word)
{
    Error lacks;
    bool known = family_of(config, &lacks);
    const char *trust = known ? "" : ", trust_remote_code=True";
    if (!known)
        print_output(
            "transformers has no %s: the code of the model is modeling_linnet.py in the "
            "same directory.",
            lacks.text);
    print_output("Open it in Python:");
    print_output("  from transformers import AutoModelForCausalLM, AutoTokenizer");
    print_output("  model = AutoModelForCausalLM.from_pretrained(%s%s)", word, trust);
    print_output("  tokenizer = AutoTokenizer.from_pretrained(%s%s)", word, trust);
}

/* The lines of Python that open the export. A string of JSON is one of Python too; a path that
 * is not UTF-8 is none. */
static void print_usage(const Settings *settings, const ModelConfig *config, const char *path)
{
    json_t *value = json_string(path);
    char *word = json_dumps(value, JSON_ENCODE_ANY);
    if (word && settings->plain)
        print_tensors_usage(word);
    else if (word)
        print_model_usage(config, word);
    free(word);
    json_decref(value);
}

int main(int argc, char **argv)
{
    Settings settings = {0};
    const Options group = {{OPTION_GROUP("Options", rows, &settings)}};
    CommandLine line;
    program_read_command_line(&about, &group, argc, argv, &line);
    if (line.operand_count != 2)
        die_usage("a run and a new directory are needed: export RUN DIR");
    if (settings.gguf && (settings.plain || settings.example))
        die_usage("--gguf writes a single file, without %s",
                  settings.plain ? "--plain" : "--example");

    LoadedModel loaded;
    Error error;
    team_start(1);
    if (!loaded_open(&loaded, line.operands[0], &error) ||
        !(settings.gguf ? write_gguf(&loaded, line.operands[1], &error)
                        : write_folder(&settings, &loaded, line.operands[1], &error)))
        die("%s", error.text);
    if (!settings.gguf)
        print_usage(&settings, &loaded.model.config, line.operands[1]);
    loaded_close(&loaded);
    team_stop();
    program_end(&group, &line);
    return 0;
}
