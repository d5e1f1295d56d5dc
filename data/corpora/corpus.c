/* Loads a corpus: from its name to the token ids of three splits.
 *
 * Every text is read once and held in memory, so that vocabulary and ids come from the same
 * bytes. The splits are views into three files, or into the lines of one. The vocabulary is
 * learned from the training text only. New words of the other splits become <unk> and are
 * counted, because many unknown words make a perplexity look better than it is. */
#include "data/corpora/corpus.h"
#include "data/corpora/corpus_parts.h"
#include "data/corpora/pieces.h"
#include "data/corpora/tasks.h"
#include "data/corpora/reader.h"
#include "data/corpora/tokens.h"
#include "data/corpora/toy.h"
#include "data/tokenizers/utf8.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define FIELD(name) offsetof(CorpusOptions, name)

/* clang-format off */
static const Option rows[] = {
    {.name = "valid", OPTION_STRING("FILE", FIELD(valid), ""), OPTION_STORED,
     .help = "validation text; otherwise found beside the corpus or split off it",
     .also = "val validation val-data valid-data validation-file val-file valid-file",
     .common = true},
    {.name = "test", OPTION_STRING("FILE", FIELD(test), ""), OPTION_STORED,
     .help = "test text, found likewise",
     .also = "test-data test-file"},
    {.name = "tokens", OPTION_ONE_OF("KIND", FIELD(tokenizer), tokenizer_name, "word"),
     OPTION_FIXED,
     .help = "tokenizer; word splits at white space, wordpunct at punctuation too, bpe is "
             "byte-level byte-pair encoding",
     .also = "tokenizer tokenizer-type token-type tokenization",
     .common = true},
    {.name = "tokenizer-file", OPTION_STRING("FILE", FIELD(tokenizer_file), ""), OPTION_FIXED,
     .help = "encode with the tokenizer in FILE, tokenizer.json or vocabulary.txt, instead of "
             "learning one; for token ids (.bin) the default is the tokenizer in the same "
             "directory",
     .also = "tokenizer-path tokenizer-json vocab-file"},
    {.name = "trim", OPTION_SWITCH(FIELD(trim), "no"), OPTION_FIXED,
     .help = "strip white space from both ends of lines; matters for char, byte and bpe",
     .also = "strip"},
    {.name = "lowercase", OPTION_SWITCH(FIELD(lowercase), "no"), OPTION_FIXED,
     .help = "convert the text to lower case; for word, wordpunct and char",
     .also = "lower lower-case uncased do-lower-case"},
    {.name = "vocab-size", OPTION_WHOLE(FIELD(vocab_size), 0, OPTION_MOST, "0"), OPTION_FIXED,
     .help = "vocabulary size; the N most frequent tokens, including <eos> and <unk>, are kept; 0: "
             "all. With bpe: learn merges until there are N tokens; 0: 8192",
     .also = "vocabulary-size n-vocab max-vocab vocab",
     .common = true},
    {.name = "min-count", OPTION_WHOLE(FIELD(min_count), 1, OPTION_MOST, "1"), OPTION_FIXED,
     .help = "replace tokens that occur fewer than N times with <unk>; bpe: learn no merge "
             "that occurs fewer than N times",
     .also = "min-frequency min-freq"},
    {.name = "special-tokens", OPTION_STRING("LIST", FIELD(special_tokens), ""), OPTION_FIXED,
     .help = "bpe: comma-separated special tokens, which are never split or merged, such as "
             "'<|endoftext|>'",
     .also = "special-token add-special-tokens"},
    /* A few kilobytes of gzip may unpack to any size. */
    {.name = "max-input-mb", OPTION_WHOLE(FIELD(max_input_mb), 1, 1000000, "1000"),
     .help = "refuse a text larger than N megabytes after unpacking; token ids in a .bin may "
             "have any size"},
};
/* clang-format on */

OptionGroup corpus_group(const CorpusOptions *options)
{
    return OPTION_GROUP("Text", rows, options);
}

/* One split's text; owned is NULL if it lies in the training text's memory. */
typedef struct Text {
    const char *name; /* for messages */
    char *bytes, *owned;
    size_t size;
} Text;

typedef enum { TRAIN, VALID, TEST, SPLITS } Split;

/* --- reading --- */

static bool is_blank(const char *text, size_t size)
{
    for (size_t i = utf8_mark(text, size); i < size; i++)
        if (!utf8_is_space(text[i]))
            return false;
    return true;
}

/* Every line ends in a line end here, the last one too. */
static void trim_lines(Text *text)
{
    size_t mark = utf8_mark(text->bytes, text->size);
    const char *line = text->bytes + mark, *end = text->bytes + text->size;
    char *kept = text->bytes + mark;
    while (line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line)), *next = stop + 1;
        while (line < stop && utf8_is_space(*line))
            line++;
        while (line < stop && utf8_is_space(stop[-1]))
            stop--;
        memmove(kept, line, (size_t)(stop - line));
        kept += stop - line;
        *kept++ = '\n';
        line = next;
    }
    text->size = (size_t)(kept - text->bytes);
}

/* Texts that take longer than a second or so to read or to tokenize. */
enum { LARGE_READING = 200000000, LARGE_TOKENIZING = 20000000 };

static size_t size_of_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_size > 0 ? (size_t)status.st_size : 0;
}

static void tell(const CorpusOptions *options, const char *format, const char *name,
                 size_t bytes)
{
    const double megabyte = 1e6;
    if (!options->tell)
        return;
    char *what = text_format(format, name, (double)bytes / megabyte);
    options->tell(what);
    free(what);
}

static bool read_text(Text *text, const char *path, const CorpusOptions *options,
                      const Tokenizer *tokenizer, Error *error)
{
    text->name = reader_name(path);
    if (text_ends_in(path, TOKEN_FILE_ENDING))
        return error_set(error,
                         "%s: holds token ids, but the training text is plain text; give a "
                         "text here, or encode the training text with tokens encode",
                         path);
    size_t bytes = size_of_file(path);
    if (bytes >= LARGE_READING)
        tell(options, "reading %s (%.0f MB)", text->name, bytes);
    if (!reader_read(path, tokenizer->raw, options->max_input_mb, "--max-input-mb",
                     &text->owned, &text->size, error))
        return false;
    if (is_blank(text->owned, text->size))
        return error_set(error, "%s: the corpus is empty", text->name);
    if (text->owned[text->size - 1] != '\n') { /* add the missing last line end */
        text->owned = memory_resize(text->owned, text->size + 2, 1, text->name);
        text->owned[text->size++] = '\n';
        text->owned[text->size] = '\0';
    }
    text->bytes = text->owned;
    if (!tokenizer_check_words(tokenizer, text->name, text->bytes, text->size, &(size_t){0},
                               error))
        return false;
    if (options->trim)
        trim_lines(text);
    return true;
}

static void write_toy(Text texts[SPLITS])
{
    static const size_t tokens[SPLITS] = {400000, 40000, 40000};
    for (Split split = TRAIN; split < SPLITS; split++) {
        if (texts[split].bytes) /* a file of its own */
            continue;
        char *text = toy_write(split + 1, tokens[split]);
        texts[split] = (Text){"toy", text, text, strlen(text)};
    }
}

/* --- splitting --- */

static size_t count_lines(const char *text, size_t size)
{
    size_t lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    return lines;
}

/* Where the last lines of a text begin. */
static size_t lines_from_end(const Text *text, size_t lines)
{
    size_t cut = text->size;
    while (lines) { /* each turn steps back over one line end */
        do
            cut--;
        while (cut > 0 && text->bytes[cut - 1] != '\n');
        lines--;
    }
    return cut;
}

/* Where the last bytes of a text begin: about there, before white space that ends a word, or
 * else between two characters. */
static size_t bytes_from_end(const Text *text, size_t bytes)
{
    size_t cut = text->size - bytes, least = cut > bytes ? cut - bytes : 0;
    size_t space = utf8_last_break(text->bytes + least, cut - least);
    if (space)
        return least + space;
    for (size_t i = 1; i < UTF8_LONGEST && cut > 0 && utf8_is_inner(text->bytes[cut]); i++)
        cut--;
    return cut;
}

/* Moves the end of the training text into a split of its own. */
static void cut_tail(Text *train, Text *tail, size_t cut)
{
    *tail = (Text){.name = train->name, .bytes = train->bytes + cut, .size = train->size - cut};
    train->size = cut;
}

/* Splits off the parts for which no file was found, and describes the split in source. A text
 * of a few long lines is split by bytes. */
static bool split_off(Text texts[SPLITS], char **source, Error *error)
{
    enum { PERCENT = 5, WHOLE = 100 };
    static const char *const titles[SPLITS] = {"training", "validation", "test"};
    Text *train = &texts[TRAIN];
    bool wanted[SPLITS] = {true, !texts[VALID].bytes, !texts[TEST].bytes};
    size_t tails = (size_t)wanted[VALID] + wanted[TEST];
    if (!tails)
        return true;
    size_t all = count_lines(train->bytes, train->size), counts[SPLITS] = {0};
    bool by_lines = all > tails;
    if (!by_lines)
        all = train->size;
    size_t share = all * PERCENT / WHOLE ? all * PERCENT / WHOLE : 1;
    for (Split split = TEST; split > TRAIN; split--) {
        if (!wanted[split])
            continue;
        counts[split] = share;
        cut_tail(train, &texts[split],
                 (by_lines ? lines_from_end : bytes_from_end)(train, share));
        if (!by_lines && (is_blank(train->bytes, train->size) ||
                          is_blank(texts[split].bytes, texts[split].size)))
            return error_set(error,
                             "%s: too short to split a %s text off; name a file with --%s",
                             train->name, titles[split], split == TEST ? "test" : "valid");
    }
    counts[TRAIN] = all - tails * share;
    text_append(source, by_lines ? ", split by lines" : ", split by bytes (too few lines)");
    for (Split split = TRAIN; split < SPLITS; split++)
        if (wanted[split])
            text_append(source, "%s %zu %% %s", split ? "," : ":",
                        (counts[split] * WHOLE + all / 2) / all, titles[split]);
    return true;
}

/* --- loading --- */

static bool gather(Text texts[SPLITS], const CorpusFiles *files, const CorpusOptions *options,
                   const Tokenizer *tokenizer, char **source, Error *error)
{
    const char *paths[SPLITS] = {files->train, files->valid, files->test};
    for (Split split = TRAIN; split < SPLITS; split++)
        if (paths[split] && !read_text(&texts[split], paths[split], options, tokenizer, error))
            return false;
    *source = memory_copy_text(files->title);
    if (!files->train)
        write_toy(texts);
    else if (!split_off(texts, source, error))
        return false;
    if (options->valid && *options->valid)
        text_append(source, "; validation from %s", texts[VALID].name);
    if (options->test && *options->test)
        text_append(source, "; test from %s", texts[TEST].name);
    return true;
}

/* Piece by piece, so that the ids of only one piece are int32_t. */
static void encode_pieces(CorpusSplit *split, const Vocabulary *vocabulary, const Text *text)
{
    TokenArray array = {.vocabulary = vocabulary->count};
    int32_t *ids = NULL;
    Pieces pieces;
    pieces_begin(&pieces, vocabulary);
    for (size_t at = 0, length; at < text->size; at += length) {
        length = pieces_first(&pieces, text->bytes + at, text->size - at);
        arrsetlen(ids, 0);
        split->unknown += vocabulary->tokenizer->encode(vocabulary, text->bytes + at, length,
                                                        &ids);
        token_array_append(&array, ids, arrlenu(ids));
    }
    pieces_end(&pieces);
    arrfree(ids);
    token_array_close(&array);
    split->ids = (Tokens){array.ids, tokens_width(vocabulary->count), 0};
    split->count = array.count;
    split->crc = array.crc;
}

/* Returns the memory of the ids, and frees the text. Bytes are their own ids. */
static void *encode(CorpusSplit *split, const Vocabulary *vocabulary, Text *text)
{
    void *memory = text->owned;
    split->characters = utf8_count(text->bytes, text->size);
    split->bytes = text->size;
    split->text_crc = (uint32_t)crc32_z(0, (const Bytef *)text->bytes, text->size);
    if (vocabulary->tokenizer == tokenizer_find(TOKENIZER_BYTE)) {
        split->ids = (Tokens){text->bytes, 1, 0};
        split->count = text->size;
        split->crc = tokens_crc(split->ids, split->count);
    } else {
        encode_pieces(split, vocabulary, text);
        free(memory);
        memory = (void *)split->ids.data;
    }
    text->owned = NULL;
    return memory;
}

static bool tokenize(Corpus *corpus, Text texts[SPLITS], const Tokenizer *tokenizer,
                     const CorpusOptions *options, Error *error)
{
    VocabularyLimits limits = {options->vocab_size, options->min_count, options->lowercase,
                               options->special_tokens};
    size_t bytes = texts[TRAIN].size + texts[VALID].size + texts[TEST].size;
    if (bytes >= LARGE_TOKENIZING)
        tell(options, "tokenizing %s (%.0f MB)", texts[TRAIN].name, bytes);
    if (!corpus->vocabulary.tokenizer &&
        !vocabulary_learn(&corpus->vocabulary, tokenizer, texts[TRAIN].bytes, texts[TRAIN].size,
                          &limits, error))
        return false;
    CorpusSplit *splits[SPLITS] = {&corpus->train, &corpus->valid, &corpus->test};
    for (Split split = SPLITS; split-- > TRAIN;) /* others may lie in the training text */
        corpus->owned[split] = encode(splits[split], &corpus->vocabulary, &texts[split]);
    return true;
}

/* The toy corpus with all its words has a known entropy; other texts do not. */
static double find_floor(const Corpus *corpus, const CorpusFiles *files)
{
    bool toy = !files->train && !files->valid && !files->test;
    bool words = corpus->vocabulary.tokenizer == tokenizer_find(TOKENIZER_WORD) &&
                 !corpus->train.unknown;
    return toy && words ? toy_entropy() : 0;
}

static bool load_texts(Corpus *corpus, const CorpusFiles *files, const CorpusOptions *options,
                       Error *error)
{
    Text texts[SPLITS] = {0};
    const char *given = options->tokenizer_file;
    if (!corpus->vocabulary.tokenizer && given && *given &&
        !corpus_load_vocabulary(corpus, given, options, error))
        return false;
    const Tokenizer *tokenizer = corpus->vocabulary.tokenizer;
    if (!tokenizer)
        tokenizer = tokenizer_find(options->tokenizer);
    bool good = gather(texts, files, options, tokenizer, &corpus->source, error) &&
                tokenize(corpus, texts, tokenizer, options, error);
    if (good)
        corpus->entropy_floor = find_floor(corpus, files);
    for (Split split = TRAIN; split < SPLITS; split++)
        free(texts[split].owned);
    return good;
}

bool corpus_load(Corpus *corpus, const char *name, const CorpusOptions *options,
                 const Vocabulary *known, Error *error)
{
    *corpus = (Corpus){.train.name = "train", .valid.name = "valid", .test.name = "test"};
    if (known)
        vocabulary_copy(&corpus->vocabulary, known);
    CorpusFiles files = {0};
    char *folder = file_shipped_folder("data");
    bool good = task_is_named(name) ? corpus_make_task(corpus, name, options, error)
                                    : corpus_files_find(&files, name, options->valid,
                                                        options->test, folder, error) &&
                                          (corpus_is_mapped(&files) ? corpus_map : load_texts)(
                                              corpus, &files, options, error);
    if (!good)
        corpus_free(corpus);
    corpus_files_free(&files);
    free(folder);
    if (options->tell)
        options->tell(NULL);
    return good;
}

void corpus_free(Corpus *corpus)
{
    for (Split split = TRAIN; split < SPLITS; split++) {
        free(corpus->owned[split]);
        mapping_close(corpus->mappings[split]);
    }
    free((void *)corpus->train.labels.data);
    free((void *)corpus->valid.labels.data);
    free((void *)corpus->test.labels.data);
    vocabulary_free(&corpus->vocabulary);
    free(corpus->source);
    *corpus = (Corpus){0};
}

size_t corpus_memory(const Corpus *corpus)
{
    const CorpusSplit *splits[SPLITS] = {&corpus->train, &corpus->valid, &corpus->test};
    size_t bytes = 0;
    for (Split split = TRAIN; split < SPLITS; split++)
        if (!corpus->mappings[TRAIN])
            bytes += splits[split]->count *
                     (splits[split]->ids.width + splits[split]->labels.width);
    return bytes;
}

double split_bits_per_byte(const CorpusSplit *split, double loss)
{
    return loss * (double)split_scored(split) / (log(2) * (double)split->bytes);
}
