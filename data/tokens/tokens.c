/* tokens: trains tokenizers, and turns texts into files of token ids and back. */
#include "data/tokenizers/bpe.h"
#include "data/corpora/reader.h"
#include "data/tokens/encode.h"
#include "data/corpora/pieces.h"
#include "data/tokenizers/tokenizers.h"
#include "src/base/file.h"
#include "src/base/program.h"
#include "src/math/team.h"
#include "src/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Settings {
    char *out, *tokenizer_file, *special_tokens;
    size_t tokenizer, vocab_size, min_count, max_input_mb, threads;
    bool lowercase, tokenizer_given;
} Settings;

#define FIELD(name) offsetof(Settings, name)
/* clang-format off */
static const Option rows[] = {
    {.name = "out", OPTION_STRING("PATH", FIELD(out), NULL),
     .help = "train: the directory for the tokenizer; encode: the file, whose name ends in .bin",
     .also = "output output-dir"},
    {.name = "tokenizer-file", OPTION_STRING("FILE", FIELD(tokenizer_file), NULL),
     .help = "the tokenizer: tokenizer.json, vocabulary.txt, or a directory with one of them; "
             "for ids (.bin) the default is the one in the same directory",
     .also = "tokenizer tokenizer-path tokenizer-json vocab-file"},
    {.name = "tokens", OPTION_ONE_OF("KIND", FIELD(tokenizer), tokenizer_name, "bpe"),
     .help = "kind of tokenizer to train; also for count without --tokenizer-file",
     .also = "tokenizer-type token-type tokenization"},
    {.name = "vocab-size", OPTION_WHOLE(FIELD(vocab_size), 0, OPTION_MOST, "0"),
     .help = "train a vocabulary of N tokens; 0: all words or characters, 8192 for bpe",
     .also = "vocabulary-size n-vocab max-vocab vocab"},
    {.name = "min-count", OPTION_WHOLE(FIELD(min_count), 1, OPTION_MOST, "1"),
     .help = "leave out tokens, or merges of bpe, that occur fewer than N times",
     .also = "min-frequency min-freq"},
    {.name = "lowercase", OPTION_SWITCH(FIELD(lowercase), "no"),
     .help = "train: convert the text to lower case; for word, wordpunct and char",
     .also = "lower lower-case uncased do-lower-case"},
    {.name = "special-tokens", OPTION_STRING("LIST", FIELD(special_tokens), ""),
     .help = "train: comma-separated special tokens, which are never split or merged, such as "
             "'<|endoftext|>'",
     .also = "special-token add-special-tokens"},
    {.name = "max-input-mb", OPTION_WHOLE(FIELD(max_input_mb), 1, 1000000, "1000"),
     .help = "train: refuse a text above N megabytes; bpe takes texts of any size"},
    {.name = "threads", OPTION_WHOLE(FIELD(threads), 0, 1024, "0"),
     .help = "train: CPU threads; 0: one per processor",
     .also = "num-threads"},
};
/* clang-format on */

/* --- the commands --- */

static void print_facts(const TokenFacts *facts, const Vocabulary *vocabulary)
{
    double bytes = facts->bytes ? (double)facts->bytes : 1;
    printf("%zu tokens, %zu of them unknown; %zu characters, %zu bytes; %.4f tokens per byte; "
           "%zu entries (%s)\n",
           facts->count, facts->unknown, facts->characters, facts->bytes,
           (double)facts->count / bytes, vocabulary->count, vocabulary->tokenizer->name);
}

static bool is_ids(const char *path)
{
    return text_ends_in(path, TOKEN_FILE_ENDING);
}

static void refuse_ids(const char *path)
{
    if (is_ids(path))
        die_usage("%s: holds token ids, and a text is needed", path);
}

/* In the memory of the different words, whatever the size of the text. */
static bool count_words(BpeCounter *counter, const Vocabulary *vocabulary, const char *path,
                        Error *error)
{
    enum { ROOM = 8 * PIECE }; /* work for several threads */
    PieceReader reader;
    if (!piece_reader_open(&reader, path, vocabulary, ROOM, error))
        return false;
    bool good;
    while ((good = piece_reader_next(&reader, error)) && reader.length > 0)
        bpe_counter_add(counter, reader.text, reader.length);
    if (good && reader.before == 0)
        good = error_set(error, "%s: the text is empty", reader.name);
    piece_reader_close(&reader);
    return good;
}

static bool learn_merges(Vocabulary *vocabulary, const char *path,
                         const VocabularyLimits *limits, Error *error)
{
    if (!bpe_learn_begin(vocabulary, limits, error))
        return false;
    BpeCounter *counter = bpe_counter_begin();
    bool good = count_words(counter, vocabulary, path, error) &&
                bpe_learn_counted(vocabulary, counter, limits, error);
    bpe_counter_end(counter);
    return good;
}

static bool learn_whole(Vocabulary *vocabulary, const Tokenizer *tokenizer, const char *path,
                        size_t most_mb, const VocabularyLimits *limits, Error *error)
{
    char *text;
    size_t size;
    if (!reader_read(path, tokenizer->raw, most_mb, "--max-input-mb", &text, &size, error))
        return false;
    bool good = size > 0 || error_set(error, "%s: the text is empty", reader_name(path));
    good = good &&
           tokenizer_check_words(tokenizer, reader_name(path), text, size, &(size_t){0},
                                 error) &&
           vocabulary_learn(vocabulary, tokenizer, text, size, limits, error);
    free(text);
    return good;
}

static void learn(Vocabulary *vocabulary, const Settings *settings, const char *path)
{
    const Tokenizer *tokenizer = tokenizer_find(settings->tokenizer);
    const VocabularyLimits limits = {settings->vocab_size, settings->min_count,
                                     settings->lowercase, settings->special_tokens};
    Error error;
    bool good = vocabulary_check_limits(tokenizer, &limits, &error);
    if (good && settings->tokenizer == TOKENIZER_BPE)
        good = learn_merges(vocabulary, path, &limits, &error);
    else if (good)
        good = learn_whole(vocabulary, tokenizer, path, settings->max_input_mb, &limits,
                           &error);
    if (!good)
        error_die(&error);
}

/* That of --tokenizer-file, or else the one beside a file of ids. */
static void load(Vocabulary *vocabulary, const Settings *settings, const char *ids)
{
    char *folder = ids ? file_folder_of(ids) : NULL;
    const char *path = settings->tokenizer_file ? settings->tokenizer_file : folder;
    Error error;
    if (settings->vocab_size || settings->min_count > 1 || settings->lowercase ||
        *settings->special_tokens)
        die_usage(
            "a tokenizer that exists learns nothing; leave out --vocab-size, --min-count, "
            "--lowercase and --special-tokens");
    if (!path)
        die_usage("a tokenizer is missing: --tokenizer-file FILE; tokens train makes one");
    if (ids && !file_exists(ids))
        die("%s: no such file", ids);
    if (!settings->tokenizer_file && !vocabulary_is_in(folder))
        die("%s: no tokenizer.json or vocabulary.txt beside it; name the tokenizer with "
            "--tokenizer-file",
            ids);
    if (!vocabulary_load(vocabulary, path, &error))
        die("%s", error.text);
    if (settings->tokenizer_given &&
        vocabulary->tokenizer != tokenizer_find(settings->tokenizer))
        die_usage("%s: this tokenizer is %s; drop --tokens %s", path,
                  vocabulary->tokenizer->name, tokenizer_name(settings->tokenizer));
    free(folder);
}

static int run_train(const Settings *settings, const char *path)
{
    Vocabulary vocabulary;
    Error error;
    if (!settings->out || !*settings->out)
        die_usage("a directory for the tokenizer is missing: --out DIR");
    if (settings->tokenizer_file)
        die_usage("train learns a tokenizer; leave out --tokenizer-file");
    refuse_ids(path);
    if (vocabulary_is_in(settings->out))
        die("%s: has a tokenizer already; choose another directory", settings->out);
    if (file_exists(settings->out) && !file_is_folder(settings->out))
        die("--out %s: is there, and not a directory; name another", settings->out);
    learn(&vocabulary, settings, path);
    char *inside = file_join(settings->out, "");
    if (!file_make_parents(inside, &error) ||
        !vocabulary_store(&vocabulary, settings->out, &error))
        die("%s", error.text);
    print_output("%s: %zu entries (%s)", settings->out, vocabulary.count,
                 vocabulary.tokenizer->name);
    if (settings->tokenizer == TOKENIZER_BPE && vocabulary.count < settings->vocab_size)
        print_warning("%s: fewer entries than --vocab-size %zu; no other pair of tokens occurs "
                      "%zu time%s",
                      settings->out, settings->vocab_size, settings->min_count,
                      text_plural(settings->min_count));
    free(inside);
    vocabulary_free(&vocabulary);
    return EXIT_SUCCESS;
}

static int run_encode(const Settings *settings, const char *path)
{
    Vocabulary vocabulary;
    TokenFacts facts;
    Error error;
    int signal = 0;
    if (!settings->out)
        die_usage("a file for the token ids is missing: --out NAME" TOKEN_FILE_ENDING);
    if (!is_ids(settings->out))
        die_usage("--out %s: the name of a file of token ids ends in " TOKEN_FILE_ENDING,
                  settings->out);
    refuse_ids(path);
    load(&vocabulary, settings, NULL);
    if (!tokens_encode(path, settings->out, &vocabulary, &facts, &signal, &error))
        die("%s", error.text);
    if (signal)
        print_warning("stopped after %.1f MB of the text; the same command continues",
                      (double)facts.bytes / 1e6);
    else
        print_facts(&facts, &vocabulary);
    vocabulary_free(&vocabulary);
    return signal ? 128 + signal : EXIT_SUCCESS;
}

static void print_text(const TokenFile *file, const Vocabulary *vocabulary)
{
    enum { BLOCK = 4096 };
    int32_t ids[BLOCK], last = vocabulary->eos;
    const char *piece;
    for (size_t at = 0, n; at < file->count && !ferror(stdout); at += n) {
        n = file->count - at < BLOCK ? file->count - at : BLOCK;
        tokens_read(file->ids, at, n, ids);
        for (size_t i = 0; i < n; i++) {
            fputs(vocabulary_separator(vocabulary, last, ids[i]), stdout);
            size_t length = vocabulary_piece(vocabulary, ids[i], &piece);
            fwrite(piece, 1, length, stdout);
            last = ids[i];
        }
    }
}

/* Opens a file of ids with its tokenizer, and checks it all. */
static TokenFile open_ids(Vocabulary *vocabulary, const Settings *settings, const char *path,
                          TokenFacts *facts)
{
    TokenFile file = {0};
    Error error;
    load(vocabulary, settings, path);
    if (!token_file_open(&file, path, &error) ||
        !token_file_check(&file, 0, file.count, vocabulary, facts, &error))
        die("%s", error.text);
    file.ids.below = (uint32_t)vocabulary->count;
    return file;
}

static int run_decode(const Settings *settings, const char *path)
{
    Vocabulary vocabulary;
    TokenFacts facts;
    Error error;
    if (settings->out)
        die_usage("decode prints the text; leave out --out, and redirect the output instead");
    if (!is_ids(path))
        die_usage("%s: decode takes a file of token ids, NAME" TOKEN_FILE_ENDING, path);
    TokenFile file = open_ids(&vocabulary, settings, path, &facts);
    print_text(&file, &vocabulary);
    if (!mapping_check(file.mapping, &error))
        die("%s", error.text);
    token_file_close(&file);
    vocabulary_free(&vocabulary);
    return EXIT_SUCCESS;
}

static void count_text(const Vocabulary *vocabulary, const char *path, TokenFacts *facts)
{
    TokenStream stream;
    Error error;
    bool more = true;
    if (!token_stream_open(&stream, path, vocabulary, &error))
        die("%s", error.text);
    while (more)
        if (!token_stream_next(&stream, &more, &error))
            die("%s", error.text);
    *facts = stream.facts;
    token_stream_close(&stream);
}

/* Standard input, and pipes with a name. */
static bool reads_once(const char *path)
{
    struct stat status;
    return strcmp(path, READER_STANDARD_INPUT) == 0 ||
           (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode));
}

static int run_count(const Settings *settings, const char *path)
{
    Vocabulary vocabulary;
    TokenFacts facts;
    if (settings->out)
        die_usage("count prints numbers; leave out --out, and redirect the output instead");
    if (is_ids(path)) {
        TokenFile file = open_ids(&vocabulary, settings, path, &facts);
        token_file_close(&file);
    } else {
        if (settings->tokenizer_file)
            load(&vocabulary, settings, NULL);
        else if (reads_once(path))
            die_usage("%s: can be read only once; name a tokenizer with --tokenizer-file",
                      reader_name(path));
        else
            learn(&vocabulary, settings, path);
        count_text(&vocabulary, path, &facts);
    }
    print_facts(&facts, &vocabulary);
    vocabulary_free(&vocabulary);
    return EXIT_SUCCESS;
}

/* --- the program --- */

static const About about = {
    .name = "tokens",
    .purpose = "trains tokenizers, and turns texts into files of token ids and back",
    .synopses = {"COMMAND [OPTIONS] FILE"},
    .commands = {{"train", "learn a tokenizer from a text, into the directory --out"},
                 {"encode", "write the token ids of a text, of any size, to the file --out"},
                 {"decode", "print the text of a file of token ids"},
                 {"count",
                  "print how many tokens, characters and bytes a text or a file of ids has"}},
    .paragraphs =
        {"FILE is a text, plain or gzip, or - for standard input; for decode and count also a "
         "file of token ids, NAME.bin. Such files have nanoGPT's format, uint16 ids without a "
         "header; for vocabularies above 65536 tokens llm.c's, uint32 with a header. "
         "linnet-train maps them into memory instead of reading them, so they may be larger "
         "than memory.",
         "encode takes little memory, whatever the size of the text. If it is interrupted, the "
         "same command continues. encode writes the tokenizer to the same directory: "
         "tokenizer.json, vocab.json and merges.txt for bpe, as other programs read them, or "
         "vocabulary.txt."},
    .examples = {"train --vocab-size 8192 --out book book.txt",
                 "encode --tokenizer-file book --out book/train.bin book.txt",
                 "count --tokens word book.txt", "decode book/train.bin"},
    .files = {{"NAME.bin.part, NAME.bin.progress",
               "what encode has written so far and where it goes on; gone when it is done"}},
    .statuses = {{"128 + N",
                  "signal N ended encode (2 is Ctrl-C); the same command continues"}},
};

/* In the order of the commands. */
static int (*const runs[])(const Settings *settings,
                           const char *path) = {run_train, run_encode, run_decode, run_count};

int main(int argc, char **argv)
{
    Settings settings = {0};
    const Options group = {{OPTION_GROUP("Options", rows, &settings)}};
    CommandLine line;
    program_read_command_line(&about, &group, argc, argv, &line);
    settings.tokenizer_given = command_line_value(&line, "tokens") != NULL;
    size_t command = 0;
    while (line.operand_count > 0 && about.commands[command].name &&
           strcmp(about.commands[command].name, line.operands[0]) != 0)
        command++;
    if (line.operand_count == 0 || !about.commands[command].name)
        die_usage("%s%s%suse train, encode, decode or count", line.operand_count ? "'" : "",
                  line.operand_count ? line.operands[0] : "a command is needed: ",
                  line.operand_count ? "' is not a command; " : "");
    if (line.operand_count != 2)
        die_usage("one file is needed: %s FILE", about.commands[command].name);
    team_start(settings.threads);
    int status = runs[command](&settings, line.operands[1]);
    team_stop();
    program_end(&group, &line);
    return status;
}
