/* The functions of linnet.h, which are thin: sample generates with the same Generator, eval
 * scores with the same Scorer, and all programs open runs and cut texts into tokens with the
 * same functions. What is added here is what a library needs: a failed call returns, also if
 * something below it dies, and each session computes with a team of its own. */
#include "models/library/linnet.h"
#include "models/checkpoint.h"
#include "models/generator.h"
#include "models/score.h"
#include "models/stop.h"
#include "src/base/containers.h"
#include "src/base/processor.h"
#include "src/math/random.h"
#include "src/math/team.h"

#include <assert.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct linnet_model {
    LoadedModel loaded;
};

struct linnet_session {
    const linnet_model *model;
    Team *team;
    Generator generator;
    int32_t *column; /* the last token of each text */
    size_t sampled;  /* tokens of each since the restart */
};

/* --- calls that can fail --- */

typedef bool Work(void *context, Error *error);

static bool report(const Error *why, linnet_error *error)
{
    static_assert(sizeof why->text == sizeof error->text, "an error fits");
    if (error)
        memcpy(error->text, why->text, sizeof error->text);
    return false;
}

/* Does the work of a call with a team, or NULL. */
static bool call(Team *team, Work *work, void *context, linnet_error *error)
{
    Error why = {0};
    Team *before = team_use(team);
    bool good = error_catch(work, context, &why);
    team_use(before);
    return good || report(&why, error);
}

static bool check_tokens(const linnet_model *model, const int32_t *tokens, size_t count,
                         Error *error)
{
    size_t vocabulary = linnet_vocabulary_size(model);
    for (size_t i = 0; i < count; i++)
        if (tokens[i] < 0 || (size_t)tokens[i] >= vocabulary)
            return error_set(error, "tokens[%zu] is %d, but the model has %zu tokens", i,
                             (int)tokens[i], vocabulary);
    return true;
}

/* --- models --- */

const char *linnet_version(void)
{
    return LINNET_VERSION;
}

typedef struct Opening {
    linnet_model *model;
    const char *run;
} Opening;

static bool open_run(void *context, Error *error)
{
    const Opening *opening = context;
    return loaded_open(&opening->model->loaded, opening->run, error);
}

/* Settings have decimal points, whatever the locale of the program. One at a time: stb_ds keeps
 * the seed of its next map in a global. */
static bool open_alone(Opening *opening, linnet_error *error)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    locale_t plain = newlocale(LC_ALL_MASK, "C", NULL);
    if (!plain)
        return report(&(Error){.text = "out of memory for a locale"}, error);
    locale_t before = uselocale(plain);
    pthread_mutex_lock(&lock);
    bool good = call(NULL, open_run, opening, error);
    pthread_mutex_unlock(&lock);
    uselocale(before);
    freelocale(plain);
    return good;
}

/* Nothing comes before it, since this file may use instructions that the processor lacks. The
 * other files may, too, so it writes the error with functions of the C library alone. */
static bool check_processor(linnet_error *error)
{
    char names[384];
    if (processor_missing(PROCESSOR_BUILT_FOR, processor_present(), names, sizeof names) == 0)
        return true;
    if (error)
        snprintf(error->text, sizeof error->text,
                 "liblinnet was built for a processor with %s, which this one lacks; build "
                 "linnet on this machine, or for every x86-64 with 'make PORTABLE=1'",
                 names);
    return false;
}

linnet_model *linnet_open(const char *run, linnet_error *error)
{
    if (!check_processor(error))
        return NULL;
    Opening opening = {calloc(1, sizeof *opening.model), run};
    if (!opening.model) {
        report(&(Error){.text = "out of memory for a model"}, error);
        return NULL;
    }
    if (open_alone(&opening, error))
        return opening.model;
    linnet_close(opening.model);
    return NULL;
}

void linnet_close(linnet_model *model)
{
    if (model)
        loaded_close(&model->loaded);
    free(model);
}

const char *linnet_settings(const linnet_model *model)
{
    return checkpoint_extra(&model->loaded.checkpoint, SETTINGS_KEY);
}

size_t linnet_vocabulary_size(const linnet_model *model)
{
    return model->loaded.model.config.vocabulary;
}

size_t linnet_context(const linnet_model *model)
{
    return model->loaded.model.config.context;
}

/* --- texts and tokens --- */

int32_t linnet_start(const linnet_model *model)
{
    return vocabulary_start(&model->loaded.checkpoint.vocabulary);
}

typedef struct Encoding {
    const Vocabulary *vocabulary;
    const char *text;
    size_t size, unknown;
    int32_t *ids; /* an stb_ds array */
} Encoding;

static bool encode(void *context, Error *error)
{
    Encoding *e = context;
    return vocabulary_encode(e->vocabulary, "the text", e->text, e->size, &e->ids, &e->unknown,
                             error);
}

ptrdiff_t linnet_tokenize(const linnet_model *model, const char *text, size_t size,
                          int32_t *tokens, size_t room, linnet_error *error)
{
    Encoding encoding = {&model->loaded.checkpoint.vocabulary, text, size, 0, NULL};
    ptrdiff_t count = -1;
    if (call(NULL, encode, &encoding, error)) {
        count = arrlen(encoding.ids);
        size_t fitting = (size_t)count < room ? (size_t)count : room;
        if (fitting > 0)
            memcpy(tokens, encoding.ids, fitting * sizeof *tokens);
    }
    arrfree(encoding.ids);
    return count;
}

/* Appends what fits of some bytes; returns the size with all of them. */
static size_t append(char *text, size_t room, size_t size, const char *bytes, size_t more)
{
    size_t left = size < room ? room - size : 0, fitting = more < left ? more : left;
    if (fitting > 0)
        memcpy(text + size, bytes, fitting);
    return size + more;
}

ptrdiff_t linnet_detokenize(const linnet_model *model, const int32_t *tokens, size_t count,
                            char *text, size_t room, linnet_error *error)
{
    Error why = {0};
    const Vocabulary *vocabulary = &model->loaded.checkpoint.vocabulary;
    if (!check_tokens(model, tokens, count, &why)) {
        report(&why, error);
        return -1;
    }
    size_t size = 0;
    int32_t last = vocabulary->eos;
    for (size_t i = 0; i < count; last = tokens[i++]) {
        const char *between = vocabulary_separator(vocabulary, last, tokens[i]), *piece;
        size_t length = vocabulary_piece(vocabulary, tokens[i], &piece);
        size = append(text, room, size, between, strlen(between));
        size = append(text, room, size, piece, length);
    }
    return (ptrdiff_t)size;
}

/* --- sessions --- */

typedef struct Beginning {
    linnet_session *session;
    size_t texts, threads;
} Beginning;

static bool begin_session(void *context, Error *error)
{
    enum { MOST_THREADS = 1024 }; /* as for --threads of the programs */
    const Beginning *b = context;
    linnet_session *session = b->session;
    if (b->texts == 0)
        return error_set(error, "a session has at least one text");
    if (b->threads > MOST_THREADS)
        return error_set(error, "%zu threads are too many for a session, which has at most %d",
                         b->threads, MOST_THREADS);
    size_t threads = b->threads ? b->threads : team_processors();
    if (threads > 1)
        session->team = team_make(threads);
    team_use(session->team);
    if (team_size() < threads)
        return error_set(error, "cannot start %zu threads; the system allows %zu", threads,
                         team_size());
    session->column = memory_new(b->texts, sizeof *session->column, "the tokens");
    generator_make(&session->generator, &session->model->loaded.model, b->texts);
    return true;
}

linnet_session *linnet_session_open(const linnet_model *model, size_t texts, size_t threads,
                                    linnet_error *error)
{
    linnet_session *session = calloc(1, sizeof *session);
    if (!session) {
        report(&(Error){.text = "out of memory for a session"}, error);
        return NULL;
    }
    session->model = model;
    if (call(NULL, begin_session, &(Beginning){session, texts, threads}, error))
        return session;
    linnet_session_close(session);
    return NULL;
}

void linnet_session_close(linnet_session *session)
{
    if (!session)
        return;
    generator_free(&session->generator);
    free(session->column);
    team_free(session->team);
    free(session);
}

void linnet_restart(linnet_session *session)
{
    generator_restart(&session->generator);
    session->sampled = 0;
}

typedef struct Feeding {
    linnet_session *session;
    const int32_t *tokens;
    size_t count;
    float *logits;
} Feeding;

static bool feed(void *context, Error *error)
{
    const Feeding *f = context;
    linnet_session *session = f->session;
    Generator *generator = &session->generator;
    size_t texts = generator->pass.batch;
    if (!check_tokens(session->model, f->tokens, texts * f->count, error))
        return false;
    for (size_t i = 0; i < f->count; i++) {
        for (size_t text = 0; text < texts; text++)
            session->column[text] = f->tokens[text * f->count + i];
        generator_read(generator, session->column);
    }
    bool wanted = f->count > 0 && f->logits;
    size_t numbers = wanted ? texts * linnet_vocabulary_size(session->model) : 0;
    for (size_t i = 0; i < numbers; i++)
        f->logits[i] = (float)generator->logits[i];
    return true;
}

bool linnet_feed(linnet_session *session, const int32_t *tokens, size_t count, float *logits,
                 linnet_error *error)
{
    return call(session->team, feed, &(Feeding){session, tokens, count, logits}, error);
}

/* --- sampling --- */

/* What a call generates of a text. */
typedef struct Continuation {
    StopMatch match;
    char *pending; /* bytes that are not told yet, an stb_ds array */
    bool ended;
} Continuation;

typedef struct Sampling {
    linnet_session *session;
    const linnet_sampling *wanted;
    linnet_listener *listener;
    void *context;
    Stops stops;
    Continuation *texts; /* one for each of the session */
    size_t open;         /* texts that have not ended */
} Sampling;

static bool check_range(const char *name, double value, double least, double most, Error *error)
{
    return (value >= least && value <= most) ||
           error_set(error, "%s is %g, but must be from %g to %g", name, value, least, most);
}

/* A field that is added later must begin behind the size of now, not in its padding; then a
 * smaller size is that of an earlier version, and its fields are copied over the usual ones. */
static bool check_sampling(const linnet_sampling *wanted, Error *error)
{
    if (wanted->size != sizeof *wanted)
        return error_set(error,
                         "the size of the sampling options is %zu instead of %zu; begin with "
                         "LINNET_SAMPLING, of the linnet.h of this library",
                         wanted->size, sizeof *wanted);
    return check_range("temperature", wanted->temperature, 0, SAMPLER_MOST_TEMPERATURE,
                       error) &&
           check_range("top_p", wanted->top_p, 0, 1, error) &&
           check_range("repetition_penalty", wanted->repetition_penalty, SAMPLER_LEAST_PENALTY,
                       SAMPLER_MOST_PENALTY, error);
}

/* Tells the bytes of a token, and those that have waited, unless they may begin a stop text. */
static void tell(Sampling *s, linnet_token token, bool last)
{
    Continuation *text = &s->texts[token.text];
    const Vocabulary *vocabulary = &s->session->model->loaded.checkpoint.vocabulary;
    const char *piece,
        *between = vocabulary_separator(vocabulary, s->session->column[token.text], token.id);
    size_t size = vocabulary_piece(vocabulary, token.id, &piece);
    size_t stop = stop_append(&text->match, &s->stops, between, strlen(between),
                              &text->pending);
    if (!stop)
        stop = stop_append(&text->match, &s->stops, piece, size, &text->pending);
    size_t waiting = stop ? stop : last ? 0 : stop_undecided(&text->match, &s->stops);
    token.bytes = text->pending ? text->pending : "";
    token.size = arrlenu(text->pending) - waiting;
    bool goes_on = s->listener(s->context, &token);
    text->ended = !goes_on || stop || last;
    s->open -= text->ended;
    if (token.size > 0)
        arrdeln(text->pending, 0, token.size);
}

/* The next token of a text, chosen as sample does. */
static void generate(Sampling *s, size_t text, bool last)
{
    linnet_session *session = s->session;
    const linnet_sampling *wanted = s->wanted;
    const SamplerOptions options = {wanted->temperature, wanted->top_k, wanted->top_p,
                                    wanted->repetition_penalty};
    RandomKey key = random_key(wanted->seed, RANDOM_SAMPLE, text);
    int32_t unknown = session->model->loaded.checkpoint.vocabulary.unk;
    int32_t id = generator_pick(&session->generator, text, &options,
                                random_uniform(key, session->sampled),
                                wanted->unknown ? TOKEN_NONE : unknown);
    double nats = generator_loss(&session->generator, text, id);
    tell(s, (linnet_token){.text = text, .id = id, .nats = nats}, last);
    session->column[text] = id;
}

static bool sample(void *context, Error *error)
{
    Sampling *s = context;
    const linnet_sampling *wanted = s->wanted;
    Generator *generator = &s->session->generator;
    size_t texts = generator->pass.batch;
    if (!check_sampling(wanted, error))
        return false;
    for (const char *const *stop = wanted->stops; stop && *stop; stop++)
        if (!stops_add(&s->stops, *stop, strlen(*stop), error))
            return false;
    if (generator->read == 0)
        return error_set(error, "nothing has been fed; a text begins after linnet_start");
    s->texts = memory_new(texts, sizeof *s->texts, "the texts");
    s->open = texts;
    for (size_t i = 1; i <= wanted->length && s->open > 0; i++) {
        for (size_t text = 0; text < texts; text++)
            if (!s->texts[text].ended)
                generate(s, text, i == wanted->length);
        s->session->sampled++;
        generator_read(generator, s->session->column);
    }
    return true;
}

bool linnet_sample(linnet_session *session, const linnet_sampling *sampling,
                   linnet_listener *listener, void *context, linnet_error *error)
{
    Sampling s = {
        .session = session, .wanted = sampling, .listener = listener, .context = context};
    bool good = call(session->team, sample, &s, error);
    for (size_t text = 0; s.texts && text < session->generator.pass.batch; text++)
        arrfree(s.texts[text].pending);
    free(s.texts);
    stops_free(&s.stops);
    return good;
}

/* --- scoring --- */

typedef struct Scoring {
    const Model *model;
    Encoding encoding;
    Scorer scorer;
    Score score;
} Scoring;

/* A text that is shorter than the windows that eval reads needs no more of them. */
static bool score_text_of(void *context, Error *error)
{
    Scoring *s = context;
    if (!encode(&s->encoding, error))
        return false;
    size_t count = arrlenu(s->encoding.ids), window = s->model->config.context;
    if (count == 0)
        return error_set(error, "the text has no tokens to score");
    window = count < window ? count : window;
    Protocol protocol = {window, window, score_usual_batch(&s->model->config),
                         vocabulary_start(s->encoding.vocabulary)};
    size_t windows = team_tiles(count, window);
    protocol.batch = windows < protocol.batch ? windows : protocol.batch;
    CorpusSplit split = {.ids = tokens_plain(s->encoding.ids), .count = count};
    scorer_make(&s->scorer, s->model, &protocol);
    s->score = scorer_score(&s->scorer, &split, NULL, 0);
    return isfinite(s->score.nats) || error_set(error, "the loss of this text is not finite");
}

bool linnet_score_text(linnet_session *session, const char *text, size_t size,
                       linnet_score *score, linnet_error *error)
{
    const LoadedModel *loaded = &session->model->loaded;
    Scoring s = {.model = &loaded->model,
                 .encoding = {&loaded->checkpoint.vocabulary, text, size, 0, NULL}};
    bool good = call(session->team, score_text_of, &s, error);
    if (good)
        *score = (linnet_score){s.score.nats, s.score.tokens, s.encoding.unknown, size};
    scorer_free(&s.scorer);
    arrfree(s.encoding.ids);
    return good;
}
