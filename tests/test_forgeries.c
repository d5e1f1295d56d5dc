/* Forged checkpoints: valid safetensors files with inconsistent content. Each is rejected with
 * one line that names the file. */
#include "src/base/containers.h"
#include "src/base/memory.h"
#include "src/base/text.h"
#include "tests/content.h"
#include "tests/scratch.h"
#include "tests/tests.h"

#include <string.h>

SUITE("forgeries", .folder = true);

typedef struct Forgery {
    const char *what, *phrase;  /* the forgery, and the expected error */
    const char *more;           /* extra settings, which override the true ones */
    const char *only;           /* settings that replace the true ones */
    bool no_settings, moments;  /* without settings; with all moments */
    const char *without, *with; /* missing or extra tensors */
    const char *turned;         /* a tensor with transposed or split axes */
    const char *as_bytes;       /* a tensor of another type */
    const char *words;          /* replaces the vocabulary */
} Forgery;

static bool is(const char *wanted, const char *name)
{
    return wanted && strcmp(wanted, name) == 0;
}

static void forge_tensor(TensorRecord **records, const Forgery *forgery, const char *name,
                         TensorRecord record)
{
    if (is(forgery->without, name))
        return;
    record.name = name;
    if (is(forgery->turned, name)) {
        size_t first = record.shape[0];
        record.shape[0] = record.rank == 2 ? record.shape[1] : 2;
        record.shape[1] = record.rank == 2 ? first : first / 2;
        record.rank = 2;
    }
    if (is(forgery->as_bytes, name))
        record.type = TENSOR_U8;
    arrput(*records, record);
}

static char *forged_settings(const Forgery *forgery, const ModelConfig *config)
{
    const Options options = checkpoint_options(config, &content_corpus);
    char *text = forgery->only ? memory_copy_text("") : options_write_text(&options);
    const char *lines = forgery->only ? forgery->only : forgery->more;
    text_append(&text, "%s", lines ? lines : "");
    return text;
}

static void forge(const Content *content, const Forgery *forgery)
{
    static const char *const prefixes[] = {"", "opt.m.", "opt.v."};
    const Model *model = &content->small.model;
    TensorRecord *records = NULL;
    char *names[3][64] = {{NULL}}, *words, *settings;
    size_t size;
    for (size_t p = 0; p < (forgery->moments ? 3 : 1); p++)
        for (size_t i = 0; i < model->table.count; i++) {
            const ParamRow *row = &model->table.rows[i];
            names[p][i] = text_format("%s%s", prefixes[p], row->name);
            TensorRecord record = {.type = TENSOR_REAL,
                                   .rank = row->rank,
                                   .shape = {row->shape[0], row->shape[1]},
                                   .data = model->base + row->offset};
            forge_tensor(&records, forgery, names[p][i], record);
        }
    words = forgery->words ? memory_copy_text(forgery->words)
                           : vocabulary_write(&content->vocabulary, &size);
    if (forgery->words)
        size = strlen(words);
    TensorRecord vocabulary = {.type = TENSOR_U8, .rank = 1, .shape = {size}, .data = words};
    forge_tensor(&records, forgery, "vocab", vocabulary);
    if (forgery->with) {
        TensorRecord stranger = {.name = forgery->with, .type = TENSOR_U8};
        stranger.data = "x";
        arrput(records, stranger);
    }
    settings = forged_settings(forgery, &model->config);
    MetadataPair metadata = {forgery->no_settings ? "author" : "settings", settings};
    Error error;
    ck_assert_msg(
        safetensors_write(content->path, records, arrlenu(records), &metadata, 1, &error), "%s",
        error.text);
    for (size_t p = 0; p < 3; p++)
        for (size_t i = 0; i < model->table.count; i++)
            free(names[p][i]);
    arrfree(records);
    free(words);
    free(settings);
}

static const Forgery honest[] = {
    {.what = "nothing"},
    {.what = "nothing, moments", .moments = true},
    {.what = "a comment", .more = "# written by hand\n"},
};

static const Forgery forgeries[] = {
    {"a weight is missing", "h.1.mlp.c_fc.bias is missing", .without = "h.1.mlp.c_fc.bias"},
    {"the embedding is missing", "wte.weight is missing", .without = "wte.weight"},
    {"no vocabulary", "vocab is missing", .without = "vocab"},
    {"a stranger", "unexpected tensor stranger", .with = "stranger"},
    {"a stranger's moment", "unexpected tensor opt.m.stranger", .with = "opt.m.stranger"},
    {"a layer too many", "unexpected tensor h.2.ln_1.weight", .with = "h.2.ln_1.weight"},
    {"one moment", "some moments are missing", .with = "opt.m.wte.weight"},
    {"a moment is missing", "moments are missing", .moments = true,
     .without = "opt.v.wte.weight"},
    {"a moment is turned", "opt.m.wte.weight", .moments = true, .turned = "opt.m.wte.weight"},
    {"a turned matrix", "h.0.mlp.c_fc.weight has shape [12, 8]",
     .turned = "h.0.mlp.c_fc.weight"},
    {"a vector as a matrix", "ln_f.bias has shape [2, 4]", .turned = "ln_f.bias"},
    {"another type", "ln_f.bias: dtype U8", .as_bytes = "ln_f.bias"},
    {"another program", "not a linnet checkpoint", .no_settings = true},
    {"no settings in them", "tensor", .only = "\n"},
    {"an unknown name", "unknown option 'wings'", .more = "wings = 2\n"},
    {"a training option", "unknown option 'epochs'", .more = "epochs = 2\n"},
    {"no such kind", "'telepathy' is not one of", .more = "attn = telepathy\n"},
    {"an earlier form of a kind", "earlier 'kda' attention", .more = "attn = kda\n"},
    {"heads that do not divide", "--heads 3 does not divide --dim 8", .more = "heads = 3\n"},
    {"no heads", "'0' is not a whole number", .more = "heads = 0\n"},
    {"another width", "wte.weight has shape [6, 8], the settings require [6, 16]",
     .more = "dim = 16\n"},
    {"another ffn", "h.0.mlp.c_fc.weight has shape [8, 12]", .more = "ffn = 13\n"},
    {"another context", "wpe.weight has shape [5, 8]", .more = "context = 6\n"},
    {"other positions", "unexpected tensor wpe.weight", .more = "pos = none\n"},
    {"another norm", "unexpected tensor ln_f.bias", .more = "norm = post\n"},
    {"tied", "unexpected tensor lm_head.weight", .more = "tied = yes\n"},
    {"no biases", "unexpected tensor", .more = "bias = no\n"},
    {"a bias", "lm_head.bias is missing", .more = "head-bias = yes\n"},
    {"fewer layers", "unexpected tensor h.1.attn.c_attn.bias", .more = "layers = 1\n"},
    {"more layers", "are too few for a model of 3 layers", .more = "layers = 3\n"},
    {"very many layers", "are too few for a model of 250 layers", .more = "layers = 250\n"},
    {"endless layers", "'99999999999' is not a whole number", .more = "layers = 99999999999\n"},
    {"a huge model", "the settings require [6, 65536]",
     .more = "dim = 65536\nffn = 1048576\ncontext = 65536\n"},
    {"half a line", "not of the form name = value", .more = "heads"},
    {"no number", "is not a number", .more = "dropout = nan\n"},
    {"dropped weights that are none", "does not support it",
     .more = "attn = linear\nattn-dropout = 0.5\n"},
    {"a shorter vocabulary", "wte.weight has shape [6, 8], the settings require [5, 8]",
     .words = "the\nlinnet\n<eos>\nsings\n<unk>\n"},
    {"a longer vocabulary", "the settings require [7, 8]",
     .words = "the\nlinnet\n<eos>\nsings\n<unk>\nand\nmore\n"},
    {"no words at all", "vocabulary", .words = ""},
    {"a word twice", "the vocabulary:", .words = "the\nthe\n<eos>\nsings\n<unk>\nx\n"},
    {"a terminal's escape",
     "the vocabulary:", .words = "the\n\x1b[2J\n<eos>\nsings\n<unk>\nx\n"},
    {"bytes that are no text",
     "the vocabulary:", .words = "the\n\xff\n<eos>\nsings\n<unk>\nx\n"},
    {"a blank in a word", "the vocabulary:", .words = "the\na b\n<eos>\nsings\n<unk>\nx\n"},
    {"no line end", "the vocabulary:", .words = "the\na\nb\nsings\n<unk>\nx\n"},
    {"no unknown", "the vocabulary:", .words = "the\na\nb\nsings\n<eos>\nx\n"},
    {"bytes that lower-case", "byte does not lower-case",
     .more = "tokens = byte\nlowercase = yes\n", .words = ""},
    {"no last line end", "the vocabulary:", .words = "the\na\n<eos>\nsings\n<unk>\nx"},
};

LOOP_TEST(valid_checkpoint_is_accepted, 0, COUNT(honest))
{
    Content content;
    Error error;
    content_make(&content, content_config);
    forge(&content, &honest[_i]);
    ck_assert_msg(content_use(content.path, &error), "%s: %s", honest[_i].what, error.text);
    content_free(&content);
}

LOOP_TEST(forged_checkpoint_is_rejected, 0, COUNT(forgeries))
{
    const Forgery *forgery = &forgeries[_i];
    Content content;
    Error error = {0};
    content_make(&content, content_config);
    forge(&content, forgery);
    ck_assert_msg(!content_use(content.path, &error), "%s: it was taken", forgery->what);
    support_check_error(&error, content.path, forgery->phrase);
    content_free(&content);
}
