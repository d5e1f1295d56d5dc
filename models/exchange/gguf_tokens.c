/* The vocabulary of a GGUF file, as llama.cpp reads it.
 *
 * Byte-pair encoding is GPT-2's there too: the tokens in GPT-2's alphabet, the merges, and the
 * same splitter, called "gpt-2". Bytes are an encoding of that kind without merges.
 *
 * Texts begin after the start token, as in sample: that token is both the first and the last.
 */
#include "data/tokenizers/bpe.h"
#include "models/exchange/gguf_file.h"
#include "src/base/containers.h"
#include "src/base/text.h"

/* As llama.cpp numbers them. */
enum { TOKEN_NORMAL = 1, TOKEN_CONTROL = 3, TOKEN_USER_DEFINED = 4 };

static int32_t type_of(const Vocabulary *vocabulary, uint32_t id)
{
    const BpeAdded *added = vocabulary->bpe ? bpe_added(vocabulary->bpe, id) : NULL;
    return !added ? TOKEN_NORMAL : added->special ? TOKEN_CONTROL : TOKEN_USER_DEFINED;
}

static void add_tokens(Gguf *gguf, const Vocabulary *vocabulary)
{
    char **texts = NULL;
    int32_t *types = NULL;
    for (uint32_t id = 0; id < vocabulary->count; id++) {
        char *text = vocabulary->bpe ? bpe_spell(vocabulary, id)
                                     : bpe_spell_bytes(vocabulary->words[id], 1);
        arrput(texts, text);
        arrput(types, type_of(vocabulary, id));
    }
    gguf_add_texts(gguf, "tokenizer.ggml.tokens", texts, arrlenu(texts));
    gguf_add_numbers(gguf, "tokenizer.ggml.token_type", types, arrlenu(types));
    text_lines_free(texts);
    arrfree(types);
}

static void add_merges(Gguf *gguf, const Vocabulary *vocabulary)
{
    char **merges = NULL;
    for (size_t i = 0; vocabulary->bpe && i < arrlenu(vocabulary->bpe->merges); i++)
        arrput(merges, bpe_spell_merge(vocabulary, i));
    gguf_add_texts(gguf, "tokenizer.ggml.merges", merges, arrlenu(merges));
    text_lines_free(merges);
}

bool gguf_add_vocabulary(Gguf *gguf, const Vocabulary *vocabulary)
{
    if (vocabulary->tokenizer->cut) {
        gguf_add_text(gguf, "tokenizer.ggml.model", "none");
        return false;
    }
    gguf_add_text(gguf, "tokenizer.ggml.model", "gpt2");
    gguf_add_text(gguf, "tokenizer.ggml.pre", "gpt-2");
    add_tokens(gguf, vocabulary);
    add_merges(gguf, vocabulary);
    gguf_add_count(gguf, "tokenizer.ggml.bos_token_id", (size_t)vocabulary_start(vocabulary));
    gguf_add_count(gguf, "tokenizer.ggml.eos_token_id", (size_t)vocabulary_start(vocabulary));
    gguf_add_flag(gguf, "tokenizer.ggml.add_bos_token", true);
    gguf_add_flag(gguf, "tokenizer.ggml.add_eos_token", false);
    return true;
}
