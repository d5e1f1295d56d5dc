/* Exports the vocabulary and the tokenizer.
 *
 * tokenizer.json is for the Python library "tokenizers". Its parts are chosen so that ids equal
 * linnet's for every text, and decoding equals the output of sample:
 *
 *   word  line ends become the word <eos> with blanks around it, then white space of the ASCII
 *         kind separates (the library's own definition includes more). Decoding puts a blank
 *         before each word but the first, then makes each <eos> with the blanks beside it a
 *         line end.
 *   char  "\r\n" becomes "\n", then every character is a token. The <eos> is listed as "\n",
 *         as in the text.
 *   byte  GPT-2's alphabet, which has a visible character for each byte, in the order of the
 *         bytes.
 *
 * No token is declared special: the library would cut it out of words such as "(<eos>)", which
 * is one unknown word here. */
#include "data/utf8.h"
#include "eval/export/forms.h"
#include "src/text.h"

#include <stdlib.h>
#include <string.h>

void export_json_string(FILE *out, const char *text)
{
    char *quoted = NULL;
    text_append_json_string(&quoted, text);
    fputs(quoted, out);
    free(quoted);
}

void export_json_number(FILE *out, double number)
{
    char *text = NULL;
    text_append_json_number(&text, number);
    fputs(text, out);
    free(text);
}

/* --- tokenizer.json --- */

/* Removes a byte order mark at the start of the text. */
#define WITHOUT_MARK \
    "{\"type\": \"Replace\", \"pattern\": {\"Regex\": \"\\\\A\\ufeff\"}, \"content\": \"\"}"

typedef struct Rules {
    const char *normalizer, *pre_tokenizer, *decoder;
} Rules;

static const Rules rules[] = {
    [TOKENIZER_WORD] =
        {.normalizer = "{\"type\": \"Sequence\", \"normalizers\": [" WITHOUT_MARK ",\n"
                       "    {\"type\": \"Replace\", \"pattern\": {\"String\": \"\\n\"}, "
                       "\"content\": \" <eos> \"}]}",
         .pre_tokenizer = "{\"type\": \"Split\", \"pattern\": {\"Regex\": \"[ "
                          "\\\\t\\\\n\\\\x0B\\\\f\\\\r]+\"},"
                          "\n    \"behavior\": \"Removed\", \"invert\": false}",
         /* No word has this prefix, so every word gets its blank. */
         .decoder =
             "{\"type\": \"Sequence\", \"decoders\": [\n"
             "    {\"type\": \"WordPiece\", \"prefix\": \"\\n\", \"cleanup\": false},\n"
             "    {\"type\": \"Replace\", \"pattern\": {\"Regex\": \"\\\\A ?<eos>\\\\z\"}, "
             "\"content\": \"\\n\"},\n"
             "    {\"type\": \"Fuse\"},\n"
             "    {\"type\": \"Replace\", \"pattern\": {\"String\": \"\\n \"}, "
             "\"content\": \"\\n\"}]}"},
    [TOKENIZER_CHAR] =
        {.normalizer = "{\"type\": \"Sequence\", \"normalizers\": [" WITHOUT_MARK ",\n"
                       "    {\"type\": \"Replace\", \"pattern\": {\"String\": \"\\r\\n\"}, "
                       "\"content\": \"\\n\"}]}",
         .pre_tokenizer = "{\"type\": \"Split\", \"pattern\": {\"Regex\": \"[\\\\s\\\\S]\"},\n"
                          "    \"behavior\": \"Isolated\", \"invert\": false}",
         .decoder = "{\"type\": \"Fuse\"}"},
    [TOKENIZER_BYTE] = {.normalizer = "null",
                        .pre_tokenizer =
                            "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
                            "\"trim_offsets\": false, \"use_regex\": false}",
                        .decoder = "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
                                   "\"trim_offsets\": false, \"use_regex\": false}"},
};

static size_t kind_of(const Vocabulary *vocabulary)
{
    size_t kind = 0;
    while (tokenizer_find(kind) != vocabulary->tokenizer)
        kind++;
    return kind;
}

/* GPT-2's alphabet: bytes of visible Latin-1 characters map to themselves, the others, in
 * order, to the characters from U+0100 on. */
static void print_alphabet(FILE *out)
{
    enum { FIRST_STAND_IN = 0x100 };
    for (int byte = 0, stand_ins = 0; byte < TOKENS_OF_BYTE; byte++) {
        bool visible = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
        int character = visible ? byte : FIRST_STAND_IN + stand_ins++;
        fprintf(out, "%s\n    \"\\u%04x\": %d", byte ? "," : "", (unsigned)character, byte);
    }
}

static void print_ids(FILE *out, const Vocabulary *vocabulary)
{
    bool separated = *vocabulary->tokenizer->separator;
    for (size_t i = 0; i < vocabulary->count; i++) {
        bool as_line_end = !separated && (int32_t)i == vocabulary->eos;
        fputs(i ? ",\n    " : "\n    ", out);
        export_json_string(out, as_line_end ? "\n" : vocabulary->words[i]);
        fprintf(out, ": %zu", i);
    }
}

static void print_tokenizer(FILE *out, const void *what)
{
    const Vocabulary *vocabulary = what;
    const Rules *rule = &rules[kind_of(vocabulary)];
    fprintf(out,
            "{\n  \"version\": \"1.0\", \"truncation\": null, \"padding\": null, "
            "\"added_tokens\": [],\n"
            "  \"normalizer\": %s,\n  \"pre_tokenizer\": %s,\n"
            "  \"post_processor\": null,\n  \"decoder\": %s,\n  \"model\": {",
            rule->normalizer, rule->pre_tokenizer, rule->decoder);
    if (vocabulary->map) {
        fputs("\"type\": \"WordLevel\", \"unk_token\": ", out);
        export_json_string(out, vocabulary->tokenizer->unknown);
        fputs(", \"vocab\": {", out);
        print_ids(out, vocabulary);
    } else {
        fputs("\"type\": \"BPE\", \"merges\": [], \"vocab\": {", out);
        print_alphabet(out);
    }
    fputs("}}\n}\n", out);
}

bool export_tokenizer(ExportFolder *folder, const Vocabulary *vocabulary, Error *error)
{
    return export_folder_print(folder, "tokenizer.json", print_tokenizer, vocabulary, error);
}

/* --- vocabulary.json --- */

static void print_json(FILE *out, const void *what)
{
    const Vocabulary *vocabulary = what;
    fprintf(out, "{\n  \"tokens\": \"%s\",\n  \"count\": %zu,\n  \"eos\": %d,\n",
            vocabulary->tokenizer->name, vocabulary->count, vocabulary->eos);
    if (!vocabulary->map) { /* single bytes are not valid JSON; each is its own id */
        fputs("  \"unk\": null,\n  \"words\": null\n}\n", out);
        return;
    }
    fprintf(out, "  \"unk\": %d,\n  \"words\": [", vocabulary->unk);
    for (size_t i = 0; i < vocabulary->count; i++) {
        fputs(i ? ",\n    " : "\n    ", out);
        export_json_string(out, vocabulary->words[i]);
    }
    fputs("]\n}\n", out);
}

bool export_vocabulary_json(ExportFolder *folder, const Vocabulary *vocabulary, Error *error)
{
    return export_folder_print(folder, "vocabulary.json", print_json, vocabulary, error);
}

/* --- vocabulary.txt --- */

/* The format of checkpoints, which list no bytes. */
static void print_bytes(FILE *out)
{
    for (int byte = 0; byte < TOKENS_OF_BYTE; byte++) {
        if (byte == '\\')
            fputs("\\\\\n", out);
        else
            fprintf(out, byte >= ' ' && byte <= '~' ? "%c\n" : "\\x%02x\n", (unsigned)byte);
    }
}

static void print_lines(FILE *out, const void *what)
{
    const Vocabulary *vocabulary = what;
    if (!vocabulary->map) {
        print_bytes(out);
        return;
    }
    size_t size;
    char *lines = vocabulary_write(vocabulary, &size);
    fwrite(lines, 1, size, out);
    free(lines);
}

bool export_vocabulary_text(ExportFolder *folder, const Vocabulary *vocabulary, Error *error)
{
    return export_folder_print(folder, "vocabulary.txt", print_lines, vocabulary, error);
}
