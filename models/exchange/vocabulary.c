/* Exports the vocabulary and the tokenizer.
 *
 * tokenizer.json is for the Python library "tokenizers". Its parts are chosen so that ids equal
 * linnet's for every text, and decoding equals the output of sample:
 *
 *   word  line ends become the word <eos> with blanks around it, then white space of the ASCII
 *         kind separates (the library's own definition includes more). Decoding puts a blank
 *         before each word but the first, then makes each <eos> with the blanks beside it a
 *         line end.
 *   wordpunct  like word, but a pattern finds the tokens (words of more than 1000 bytes, which
 *         linnet cuts, excepted). Decoding puts a blank between any two tokens of a line.
 *   char  "\r\n" becomes "\n", then every character is a token. The <eos> is listed as "\n",
 *         as in the text.
 *   byte  GPT-2's alphabet, which has a visible character for each byte, in the order of the
 *         bytes.
 *   bpe   the stored form, with vocab.json and merges.txt beside it.
 *
 * Of a lower-cased vocabulary each capital letter is replaced by a rule of its own: the
 * library's lower-casing knows more letters than linnet's.
 *
 * No token is declared special: the library would cut it out of words such as "(<eos>)", which
 * is one unknown word here. */
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/unicode.h"
#include "data/tokenizers/tokenizers.h"
#include "models/exchange/forms.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <stdlib.h>

/* --- tokenizer.json --- */

/* A character below U+0800. */
typedef struct Utf8 {
    char text[3];
} Utf8;

static Utf8 utf8_of(int character)
{
    if (character < 0x80)
        return (Utf8){{(char)character}};
    return (Utf8){{(char)(0xc0 | character >> 6), (char)(0x80 | (character & 0x3f))}};
}

/* The pattern is a "Regex" or a "String". */
static json_t *replace(const char *kind, const char *pattern, const char *content)
{
    return json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern", kind, pattern,
                     "content", content);
}

static void append_small_letters(json_t *rules)
{
    enum { TWO_BYTES_END = 0x800 };
    for (int c = 'A'; c < TWO_BYTES_END; c++) {
        int small = (int)letters_small((uint32_t)c);
        if (small != c)
            json_array_append_new(rules,
                                  replace("String", utf8_of(c).text, utf8_of(small).text));
    }
}

/* Removes a byte order mark at the start of the text, then replaces. */
static json_t *normalizer(const char *from, const char *to, bool lowercase)
{
    json_t *rules = json_pack("[o, o]", replace("Regex", "\\A\xef\xbb\xbf", ""),
                              replace("String", from, to));
    if (lowercase)
        append_small_letters(rules);
    return json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", rules);
}

/* The pattern matches what separates tokens, or the tokens. */
static json_t *split(const char *pattern, const char *behavior, bool matches_tokens)
{
    return json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex", pattern,
                     "behavior", behavior, "invert", matches_tokens);
}

/* Appends the ranges of the characters of these classes. */
static void append_class(char **pattern, const char *before, unsigned classes)
{
    text_append(pattern, "%s", before);
    const LetterRange *range;
    for (size_t i = 0; (range = letters_range(i)); i++)
        if (classes & 1u << range->is)
            text_append(pattern, "\\x{%x}-\\x{%x}", (unsigned)range->first,
                        (unsigned)range->last);
    text_append(pattern, "]");
}

/* The same tokens as data/tokenizers/tokenizers.c cuts. */
static json_t *split_words_and_marks(void)
{
    const unsigned outside = 1u << LETTER_MARK | 1u << LETTER_SIGN | 1u << LETTER_SPACE,
                   digits = 1u << LETTER_DIGIT, accents = 1u << LETTER_EXTEND;
    char *pattern = NULL;
    append_class(&pattern, "<eos>|<unk>|[", 1u << LETTER_MARK | 1u << LETTER_SIGN);
    append_class(&pattern, "[", accents);
    append_class(&pattern, "*|[^", outside);
    append_class(&pattern, "+(?:(?:['\xe2\x80\x99](?=[^", outside | accents);
    append_class(&pattern, ")|(?<=[^", outside | digits);
    append_class(&pattern, ")\\.(?=[^", outside | digits | accents);
    append_class(&pattern, ")|(?<=[", digits);
    append_class(&pattern, ")[.,:](?=[", digits);
    append_class(&pattern, "))[^", outside);
    text_append(&pattern, "+)*");
    json_t *rule = split(pattern, "Removed", true);
    free(pattern);
    return rule;
}

/* No word has the prefix "\n", so every word gets its blank. */
static json_t *word_decoder(void)
{
    return json_pack("{s:s, s:[{s:s, s:s, s:b}, o, {s:s}, o]}", "type", "Sequence", "decoders",
                     "type", "WordPiece", "prefix", "\n", "cleanup", false,
                     replace("Regex", "\\A ?<eos>\\z", "\n"), "type", "Fuse",
                     replace("String", "\n ", "\n"));
}

static json_t *byte_level(void)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", false,
                     "trim_offsets", false, "use_regex", false);
}

typedef struct Rules {
    json_t *normalizer, *pre_tokenizer, *decoder;
} Rules;

static Rules rules_of(const Vocabulary *vocabulary)
{
    const Tokenizer *tokenizer = vocabulary->tokenizer;
    bool lowercase = vocabulary->lowercase;
    if (tokenizer == tokenizer_find(TOKENIZER_WORD))
        return (Rules){normalizer("\n", " <eos> ", lowercase),
                       split("[ \\t\\n\\x0B\\f\\r]+", "Removed", false), word_decoder()};
    if (tokenizer == tokenizer_find(TOKENIZER_WORDPUNCT))
        return (Rules){normalizer("\n", " <eos> ", lowercase), split_words_and_marks(),
                       word_decoder()};
    if (tokenizer == tokenizer_find(TOKENIZER_CHAR))
        return (Rules){normalizer("\r\n", "\n", lowercase),
                       split("[\\s\\S]", "Isolated", false),
                       json_pack("{s:s}", "type", "Fuse")};
    return (Rules){json_null(), byte_level(), byte_level()};
}

/* The bytes in GPT-2's alphabet, in their own order. */
static json_t *alphabet_json(void)
{
    json_t *ids = json_object();
    for (int byte = 0; byte < TOKENS_OF_BYTE; byte++) {
        const char one = (char)byte;
        char *spelling = bpe_spell_bytes(&one, 1);
        json_object_set_new(ids, spelling, json_integer(byte));
        free(spelling);
    }
    return ids;
}

static json_t *ids_json(const Vocabulary *vocabulary)
{
    bool separated = *vocabulary->tokenizer->separator;
    json_t *ids = json_object();
    for (size_t i = 0; i < vocabulary->count; i++) {
        bool as_line_end = !separated && (int32_t)i == vocabulary->eos;
        json_object_set_new(ids, as_line_end ? "\n" : vocabulary->words[i], json_count(i));
    }
    return ids;
}

/* tokenizer.json, vocab.json and merges.txt of a BPE vocabulary. */
static bool export_merges(ExportFolder *folder, const Vocabulary *vocabulary, Error *error)
{
    static const char *const names[] = {"tokenizer.json", "vocab.json", "merges.txt"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        export_folder_file(folder, names[i]);
    return bpe_export(vocabulary, folder->temporary, error);
}

bool export_tokenizer(ExportFolder *folder, const Vocabulary *vocabulary, Error *error)
{
    if (vocabulary->bpe)
        return export_merges(folder, vocabulary, error);
    Rules rules = rules_of(vocabulary);
    json_t *model =
        vocabulary->tokenizer->cut
            ? json_pack("{s:s, s:s, s:o}", "type", "WordLevel", "unk_token",
                        vocabulary->tokenizer->unknown, "vocab", ids_json(vocabulary))
            : json_pack("{s:s, s:[], s:o}", "type", "BPE", "merges", "vocab", alphabet_json());
    json_t *tokenizer = json_pack("{s:s, s:n, s:n, s:[], s:o, s:o, s:n, s:o, s:o}", "version",
                                  "1.0", "truncation", "padding", "added_tokens", "normalizer",
                                  rules.normalizer, "pre_tokenizer", rules.pre_tokenizer,
                                  "post_processor", "decoder", rules.decoder, "model", model);
    return export_folder_json(folder, "tokenizer.json", tokenizer, error);
}

/* --- tokenizer_config.json --- */

/* The special token that texts begin after, or another one; BPE_NONE: there is none. */
static uint32_t special_token(const Vocabulary *vocabulary)
{
    uint32_t id = BPE_NONE;
    for (size_t i = 0; vocabulary->bpe && i < arrlenu(vocabulary->bpe->added); i++) {
        const BpeAdded *added = &vocabulary->bpe->added[i];
        if (added->special && (id == BPE_NONE || (int32_t)added->id == vocabulary->start))
            id = added->id;
    }
    return id;
}

/* transformers leaves the token for padding out of decoded texts, so it is one that they do not
 * need. <eos> is a line end. Byte 255 is not in UTF-8. */
static char *padding(const Vocabulary *vocabulary, uint32_t special)
{
    static const char last = '\xff';
    return special != BPE_NONE          ? bpe_spell(vocabulary, special)
           : vocabulary->tokenizer->cut ? memory_copy_text(vocabulary->words[vocabulary->unk])
                                        : bpe_spell_bytes(&last, 1);
}

/* Names the class, since transformers would take GPT-2's own, and keeps all blanks. Without the
 * names of the inputs, older versions give GPT-2 types of tokens, whose embeddings it would
 * add. A token for padding that is not special here must not be cut out of texts. */
bool export_tokenizer_config(ExportFolder *folder, const Vocabulary *vocabulary, size_t context,
                             Error *error)
{
    uint32_t special = special_token(vocabulary);
    char *pad = padding(vocabulary, special);
    json_t *config = json_pack("{s:s, s:o, s:b, s:[s, s], s:s, s:s, s:b}", "tokenizer_class",
                               "PreTrainedTokenizerFast", "model_max_length",
                               json_count(context), "clean_up_tokenization_spaces", false,
                               "model_input_names", "input_ids", "attention_mask", "pad_token",
                               pad, "padding_side", "left", "split_special_tokens",
                               special == BPE_NONE);
    free(pad);
    return export_folder_json(folder, "tokenizer_config.json", config, error);
}

/* --- vocabulary.json --- */

/* Single bytes are not valid JSON; each is its own id. */
static json_t *words_json(const Vocabulary *vocabulary)
{
    if (!vocabulary->tokenizer->cut && !vocabulary->bpe)
        return json_null();
    json_t *words = json_array();
    for (uint32_t id = 0; id < vocabulary->count; id++) {
        char *spelling = vocabulary->bpe ? bpe_spell(vocabulary, id) : NULL;
        json_array_append_new(words, json_string(spelling ? spelling : vocabulary->words[id]));
        free(spelling);
    }
    return words;
}

bool export_vocabulary_json(ExportFolder *folder, const Vocabulary *vocabulary, Error *error)
{
    json_t *all = json_pack(
        "{s:s, s:o, s:i, s:o, s:o}", "tokens", vocabulary->tokenizer->name, "count",
        json_count(vocabulary->count), "eos", vocabulary->eos, "unk",
        vocabulary->tokenizer->cut ? json_integer(vocabulary->unk) : json_null(), "words",
        words_json(vocabulary));
    return export_folder_json(folder, "vocabulary.json", all, error);
}

/* --- vocabulary.txt --- */

bool export_vocabulary_text(ExportFolder *folder, const Vocabulary *vocabulary, Error *error)
{
    return vocabulary->bpe
               ? export_merges(folder, vocabulary, error)
               : vocabulary_store_linnet(vocabulary,
                                         export_folder_file(folder, "vocabulary.txt"), error);
}
