#include "data/corpora/corpus_parts.h"
#include "data/corpora/tasks.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

enum { HELD_OUT = 1000 }; /* lines of the validation and of the test text */

/* The options of texts that make no sense here. */
static bool check_options(const char *name, const CorpusOptions *options, Error *error)
{
    const struct {
        const char *option;
        bool given;
    } rows[] = {{"valid", options->valid && *options->valid},
                {"test", options->test && *options->test},
                {"tokenizer-file", options->tokenizer_file && *options->tokenizer_file},
                {"tokens", options->tokenizer != TOKENIZER_WORD},
                {"lowercase", options->lowercase},
                {"special-tokens", options->special_tokens && *options->special_tokens},
                {"vocab-size", options->vocab_size > 0},
                {"min-count", options->min_count > 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].given)
            return error_usage(
                error,
                "--%s: %s is a synthetic task, with symbols and texts of its own; leave "
                "the option out",
                rows[i].option, name);
    return true;
}

static bool learn(Vocabulary *vocabulary, char **words, size_t count, Error *error)
{
    const VocabularyLimits none = {0};
    char *text = NULL;
    for (size_t i = 0; i < count; i++)
        text_append(&text, "%s ", words[i]);
    text_append(&text, "\n");
    bool good = vocabulary_learn(vocabulary, tokenizer_find(TOKENIZER_WORD), text, strlen(text),
                                 &none, error);
    free(text);
    return good;
}

/* The ids of all symbols; a vocabulary that a model has already may lack some. */
static bool find_ids(const Vocabulary *vocabulary, char **words, size_t count, const char *name,
                     int32_t *ids, Error *error)
{
    bool in_words = vocabulary->tokenizer == tokenizer_find(TOKENIZER_WORD);
    for (size_t i = 0; i < count; i++) {
        ids[i] = in_words ? vocabulary_find(vocabulary, words[i]) : TOKEN_NONE;
        if (ids[i] == TOKEN_NONE)
            return error_set(error,
                             "%s: the model's vocabulary has no '%s'; choose a task whose "
                             "symbols the model was trained on",
                             name, words[i]);
    }
    return true;
}

/* In the place of the token after symbols[i], the label is the answer there; the first token of
 * a line, which follows a line end, has none. */
static void fill(const Corpus *corpus, CorpusSplit *split, const Task *task, uint64_t seed,
                 size_t lines, char **words, const int32_t *ids)
{
    size_t length = task->length, line = length + 1;
    int32_t *symbols = memory_new(2 * length, sizeof *symbols, "a task"),
            *answers = symbols + length,
            *labels = memory_new(memory_product(lines, line, "the tasks"), sizeof *labels,
                                 "the tasks"),
            *tokens = memory_new(line, sizeof *tokens, "a task");
    TokenArray array = {.vocabulary = corpus->vocabulary.count};
    for (size_t at = 0; at < lines; at++) {
        int32_t *label = labels + at * line;
        task_write(task, seed, at, symbols, answers);
        label[0] = TOKEN_NONE;
        for (size_t i = 0; i < length; i++) {
            tokens[i] = ids[symbols[i]];
            label[i + 1] = answers[i] == TASK_NO_ANSWER ? TOKEN_NONE : ids[answers[i]];
            split->labelled += answers[i] != TASK_NO_ANSWER;
            split->bytes += strlen(words[symbols[i]]) + 1;
        }
        tokens[length] = corpus->vocabulary.eos;
        token_array_append(&array, tokens, line);
    }
    token_array_close(&array);
    split->ids = (Tokens){array.ids, tokens_width(corpus->vocabulary.count), 0};
    split->count = array.count;
    split->crc = array.crc;
    split->characters = split->bytes;
    split->labels = tokens_plain(labels);
    free(symbols);
    free(tokens);
}

bool corpus_make_task(Corpus *corpus, const char *name, const CorpusOptions *options,
                      Error *error)
{
    Task task;
    if (!task_read(&task, name, error) || !check_options(name, options, error))
        return false;
    size_t count = task.symbols;
    char **words = memory_new(count, sizeof *words, "the symbols");
    for (size_t i = 0; i < count; i++)
        words[i] = task_word(&task, i);
    int32_t *ids = memory_new(count, sizeof *ids, "the symbols");
    bool good = (corpus->vocabulary.tokenizer ||
                 learn(&corpus->vocabulary, words, count, error)) &&
                find_ids(&corpus->vocabulary, words, count, name, ids, error);
    CorpusSplit *splits[] = {&corpus->train, &corpus->valid, &corpus->test};
    for (size_t i = 0; good && i < sizeof splits / sizeof *splits; i++) {
        fill(corpus, splits[i], &task, i + 1, i ? HELD_OUT : task.lines, words, ids);
        corpus->owned[i] = (void *)splits[i]->ids.data;
    }
    corpus->line = task.length + 1;
    corpus->source = text_format("the synthetic task %s: %zu lines of %zu tokens", name,
                                 task.lines, corpus->line);
    for (size_t i = 0; i < count; i++)
        free(words[i]);
    free(words);
    free(ids);
    return good;
}
