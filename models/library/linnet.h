/* liblinnet: a language model that linnet has trained, in your own program.
 *
 * Open a run, open sessions on it, feed tokens and read the logits of the next ones, let it
 * continue a text, or score one:
 *
 *     linnet_error error;
 *     linnet_model *model = linnet_open("runs/softmax-ptb", &error);
 *     linnet_session *session = model ? linnet_session_open(model, 1, 1, &error) : NULL;
 *
 * Errors. A function that can fail returns NULL, false or -1 and writes one line into the
 * caller's linnet_error, which may be NULL. No input and no missing file ends the program, and
 * nothing is printed. Running out of memory is an error like any other, except inside jansson,
 * while linnet_open parses the header of a checkpoint; a call that fails so may lose the memory
 * that it had taken. Logits or a loss that are not finite are an error. After a failed
 * linnet_feed or linnet_sample call linnet_restart. Pointers must be valid, and models and
 * sessions open: that is not checked.
 *
 * Threads. Any number of threads may use one model at once, each with a session of its own; a
 * session serves one thread at a time. The numbers do not depend on the number of threads, nor
 * on what other sessions do. The threads of a session do not survive a fork; a session of one
 * thread does.
 *
 * Memory. A model holds the weights once, for all of its sessions. A session holds the state of
 * its texts: of fixed size for most kinds of linear attention, growing with the context length
 * for softmax. Each thread that computes keeps 1.3 MB to compute in until it ends.
 *
 * Texts are bytes with a length, in UTF-8 unless the tokenizer of the model takes any bytes.
 * Tokens are numbers from 0 to linnet_vocabulary_size - 1. Models are trained on texts that
 * begin after a certain token, usually that of a line end: feed linnet_start before the first
 * token of a text, as the programs sample and eval do. */
#ifndef LINNET_H
#define LINNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of this header, and as a number: 10000 * major + 100 * minor + patch. */
#define LINNET_VERSION        "0.1.0"
#define LINNET_VERSION_NUMBER 100

#ifdef __cplusplus
extern "C" {
#endif

#define LINNET_API __attribute__((visibility("default")))

typedef struct linnet_model linnet_model;
typedef struct linnet_session linnet_session;

/* What went wrong, where, and what to do: one line, ended by a zero. */
typedef struct linnet_error {
    char text[1024];
} linnet_error;

/* The version of the library, such as "0.1.0". */
LINNET_API const char *linnet_version(void);

/* Opens a run directory, whose best checkpoint is used, or a checkpoint file. NULL on failure.
 * The run may be in training: what is opened is always a whole checkpoint, and the model does
 * not change when training writes the next one. Close it with linnet_close. */
LINNET_API linnet_model *linnet_open(const char *run, linnet_error *error);

/* Frees a model, which may be NULL. Close its sessions first. */
LINNET_API void linnet_close(linnet_model *model);

/* The settings of the model and its text, a line "name = value" for each, as train stored them.
 * Belongs to the model. */
LINNET_API const char *linnet_settings(const linnet_model *model);

/* Number of tokens in the vocabulary, and of logits. */
LINNET_API size_t linnet_vocabulary_size(const linnet_model *model);

/* Context length in tokens that the model was trained with. */
LINNET_API size_t linnet_context(const linnet_model *model);

/* The token that texts begin after: feed it first. It is the token of "\n", or that which an
 * imported model begins texts with (BOS). linnet_tokenize does not write it. */
LINNET_API int32_t linnet_start(const linnet_model *model);

/* Writes the tokens of a text of `size` bytes to `tokens`, at most `room` of them, and returns
 * how many the text has; -1 on failure, as for text that is not UTF-8. A text has at most as
 * many tokens as bytes. Words outside the vocabulary become its token for unknown ones. */
LINNET_API ptrdiff_t linnet_tokenize(const linnet_model *model, const char *text, size_t size,
                                     int32_t *tokens, size_t room, linnet_error *error);

/* Writes the text of `count` tokens to `text`, at most `room` bytes, and returns how many it
 * has; -1 if a number is no token. No zero is added. The text is that of a line's beginning:
 * words have blanks between them, not before the first. */
LINNET_API ptrdiff_t linnet_detokenize(const linnet_model *model, const int32_t *tokens,
                                       size_t count, char *text, size_t room,
                                       linnet_error *error);

/* Opens a session for a batch of `texts` texts that are read side by side, computed by
 * `threads` threads, at most 1024, the caller's included; 0: one per processor. One thread is
 * usual where several sessions work at once. NULL on failure. Close it with
 * linnet_session_close. */
LINNET_API linnet_session *linnet_session_open(const linnet_model *model, size_t texts,
                                               size_t threads, linnet_error *error);

/* Frees a session, which may be NULL, and ends its threads. */
LINNET_API void linnet_session_close(linnet_session *session);

/* Forgets what the texts of the session have read. */
LINNET_API void linnet_restart(linnet_session *session);

/* Feeds `count` tokens to each text: `tokens` has a row of `count` for each. Writes the logits
 * of the next token, a row of linnet_vocabulary_size for each text, to `logits`, unless it is
 * NULL or count is 0. At a number that is no token it fails before it has read any. A text may
 * be longer than the context: if the model's attention or positions are limited to it, the last
 * half is kept and read again, as sample does. */
LINNET_API bool linnet_feed(linnet_session *session, const int32_t *tokens, size_t count,
                            float *logits, linnet_error *error);

/* How to continue texts. Later versions may have more fields at the end; the size says with
 * which ones a program was compiled. */
typedef struct linnet_sampling {
    size_t size;        /* sizeof(linnet_sampling) */
    size_t length;      /* tokens to generate of each text, at most */
    double temperature; /* 0: the likeliest token; at most 100 */
    size_t top_k;       /* choose among the k likeliest tokens; 0: all */
    double top_p;       /* choose among the likeliest tokens of this probability; 1: all */
    double repetition_penalty; /* from 0.01 to 100; 1: none */
    uint64_t seed;
    const char *const *stops; /* stop texts, at most 16, and NULL after the last; or NULL */
    bool unknown;             /* whether the token for unknown words may come */
} linnet_sampling;

/* The values that the program sample begins with:
 *
 *     linnet_sampling sampling = LINNET_SAMPLING;
 *     sampling.temperature = 0.5; */
#define LINNET_SAMPLING                                           \
    {                                                             \
        sizeof(linnet_sampling), 100, 0.8, 0, 1, 1, 1, NULL, true \
    }

/* A token that was generated, valid until the listener returns. A stop text may be spread over
 * tokens, so bytes that may begin one come with a later token, or with the last. */
typedef struct linnet_token {
    size_t text; /* which one of the session, from 0 */
    int32_t id;
    double nats;       /* its loss at temperature 1, among all tokens */
    const char *bytes; /* to append to the text, as linnet_detokenize joins tokens */
    size_t size;       /* number of bytes; they may end inside a character */
} linnet_token;

/* Is told each token. Returns whether the text is to go on; if not, bytes that wait are not
 * told. It may use any model, but not the session that calls it, and must return. */
typedef bool linnet_listener(void *context, const linnet_token *token);

/* Continues each text of a session behind what has been fed, at least linnet_start, and tells
 * the listener every token, in order. A text ends after `length` tokens, before the first stop
 * text in what is generated, or when the listener says so. The tokens are those of the program
 * sample with the same prompt and seed.
 *
 * The session has read all tokens then: feed more, or continue again, which with the same seed
 * gives the same tokens as one call of both lengths. In a batch, texts that end before the
 * others read their last token again and again. The seed counts together with the number of
 * the text and that of its tokens generated since linnet_restart. */
LINNET_API bool linnet_sample(linnet_session *session, const linnet_sampling *sampling,
                              linnet_listener *listener, void *context, linnet_error *error);

/* The score of a text. Loss per token: nats / tokens. Perplexity: exp(nats / tokens). Bits per
 * byte: nats / (bytes * log(2)). */
typedef struct linnet_score {
    double nats;    /* cross-entropy loss, summed over all tokens */
    size_t tokens;  /* all are scored, the first after linnet_start */
    size_t unknown; /* of these, words outside the vocabulary; many of them flatter a score */
    size_t bytes;
} linnet_score;

/* Scores a text of `size` bytes, of at least one token, as eval does: in windows of the context
 * length that do not overlap. (eval also adds a missing last line end and trims lines if the
 * run was trained with --trim.) The texts of the session are left as they are. */
LINNET_API bool linnet_score_text(linnet_session *session, const char *text, size_t size,
                                  linnet_score *score, linnet_error *error);

#ifdef __cplusplus
}
#endif

#endif
