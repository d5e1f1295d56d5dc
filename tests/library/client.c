/* A program that uses liblinnet by its public functions alone; library.sh runs it, on its own,
 * under valgrind and with ThreadSanitizer.
 *
 * client sample RUN PROMPT SEED COUNT LENGTH TEMPERATURE TOP_K TOP_P PENALTY UNKNOWN STOP...:
 * prints the ids of the tokens of each text.
 *
 * client threads RUN TEXT: four threads with sessions of one model, and of models of their own,
 * have the same results as one, bit for bit.
 *
 * client errors RUN FILE: what must fail fails with a line, and does no harm.
 *
 * client watch RUN FILE: opens the run again and again until FILE exists. */
#include "models/library/linnet.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXTS   2
#define LONGEST 4096
#define SAMPLED 40

static linnet_error error;

#define EXPECT(condition)                                                       \
    do {                                                                        \
        if (!(condition)) {                                                     \
            fprintf(stderr, "client.c:%d: not so: %s\n", __LINE__, #condition); \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

static void *take(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    EXPECT(memory);
    return memory;
}

static linnet_model *open_or_fail(const char *run)
{
    linnet_error why;
    linnet_model *model = linnet_open(run, &why);
    if (!model)
        fprintf(stderr, "client: %s\n", why.text);
    EXPECT(model);
    return model;
}

/* --- sampling --- */

/* What a listener was told of each text, and when it lets one end. */
typedef struct Told {
    size_t counts[TEXTS], sizes[TEXTS], most[TEXTS];
    int32_t ids[TEXTS][SAMPLED];
    char texts[TEXTS][LONGEST];
    double nats; /* of the first token */
} Told;

static bool listen(void *context, const linnet_token *token)
{
    Told *told = context;
    size_t text = token->text, count = text < TEXTS ? told->counts[text]++ : SAMPLED;
    EXPECT(count < SAMPLED && told->sizes[text] + token->size < LONGEST);
    memcpy(told->texts[text] + told->sizes[text], token->bytes, token->size);
    told->sizes[text] += token->size;
    told->ids[text][count] = token->id;
    if (text == 0 && count == 0)
        told->nats = token->nats;
    return told->counts[text] != told->most[text];
}

/* Feeds each text linnet_start and the prompt, at most LONGEST bytes. */
static void feed_prompt(const linnet_model *model, linnet_session *session, size_t texts,
                        const char *prompt, float *logits)
{
    size_t size = strlen(prompt);
    int32_t tokens[LONGEST + 1] = {linnet_start(model)};
    int32_t *rows = take((size + 1) * texts, sizeof *rows);
    ptrdiff_t count = linnet_tokenize(model, prompt, size, tokens + 1, LONGEST, &error) + 1;
    EXPECT(count > 0 && size <= LONGEST);
    for (size_t text = 0; text < texts; text++)
        memcpy(rows + text * (size_t)count, tokens, (size_t)count * sizeof *rows);
    linnet_restart(session);
    EXPECT(linnet_feed(session, rows, (size_t)count, logits, &error));
    free(rows);
}

static Told sample(linnet_session *session, linnet_sampling sampling)
{
    Told told = {.nats = 0};
    EXPECT(linnet_sample(session, &sampling, listen, &told, &error));
    return told;
}

static bool says(const char *part)
{
    bool good = strstr(error.text, part) && !strchr(error.text, '\n');
    if (!good)
        fprintf(stderr, "client: it says: %s\n", error.text);
    error.text[0] = '\0';
    return good;
}

static void print_sampled(char **arguments)
{
    static const char *stops[20];
    linnet_sampling sampling = LINNET_SAMPLING;
    linnet_model *model = open_or_fail(arguments[0]);
    size_t count = strtoul(arguments[3], NULL, 10);
    sampling.seed = strtoul(arguments[2], NULL, 10);
    sampling.length = strtoul(arguments[4], NULL, 10);
    sampling.temperature = strtod(arguments[5], NULL);
    sampling.top_k = strtoul(arguments[6], NULL, 10);
    sampling.top_p = strtod(arguments[7], NULL);
    sampling.repetition_penalty = strtod(arguments[8], NULL);
    sampling.unknown = strcmp(arguments[9], "yes") == 0;
    for (size_t i = 0; arguments[10 + i]; i++)
        stops[i] = arguments[10 + i];
    sampling.stops = stops;
    linnet_session *session = linnet_session_open(model, count, 1, &error);
    EXPECT(session && count <= TEXTS);
    feed_prompt(model, session, count, arguments[1], NULL);
    Told told = sample(session, sampling);
    for (size_t text = 0; text < count; text++)
        for (size_t i = 0; i < told.counts[text]; i++)
            printf("%d%c", (int)told.ids[text][i], i + 1 < told.counts[text] ? ' ' : '\n');
    linnet_session_close(session);
    linnet_close(model);
}

/* Whether a text is as long as told, and the other one begins with it. */
static bool begins(const Told *whole, const Told *part, size_t text, size_t count)
{
    return part->counts[text] == count && part->sizes[text] <= whole->sizes[text] &&
           memcmp(part->ids[text], whole->ids[text], count * sizeof(int32_t)) == 0 &&
           memcmp(part->texts[text], whole->texts[text], part->sizes[text]) == 0;
}

/* Appends what was told later. */
static void join(Told *told, const Told *more)
{
    for (size_t text = 0; text < TEXTS; text++) {
        memcpy(told->ids[text] + told->counts[text], more->ids[text],
               more->counts[text] * sizeof(int32_t));
        memcpy(told->texts[text] + told->sizes[text], more->texts[text], more->sizes[text]);
        told->counts[text] += more->counts[text];
        told->sizes[text] += more->sizes[text];
    }
}

/* Every part of a text is a stop text once: nothing of it is told, and all before it. */
static void check_stops(const linnet_model *model, linnet_session *session, const char *prompt,
                        linnet_sampling sampling, const Told *whole)
{
    enum { LONG = 9 };
    const char *text = whole->texts[0];
    for (size_t begin = 0; begin < whole->sizes[0]; begin += 3)
        for (size_t size = 1; size <= LONG && begin + size <= whole->sizes[0]; size += 4) {
            char stop[LONG + 1] = "";
            memcpy(stop, text + begin, size);
            if (strlen(stop) < size)
                continue; /* a zero byte: no stop text can have it */
            sampling.stops = (const char *[]){"no such text", stop, "", NULL};
            feed_prompt(model, session, 1, prompt, NULL);
            Told told = sample(session, sampling);
            EXPECT(begins(whole, &told, 0, told.counts[0]));
            EXPECT(text + told.sizes[0] == (char *)memmem(text, whole->sizes[0], stop, size));
        }
    /* What only begins a stop text waits, and comes with the last token. */
    char *begun = take(whole->sizes[0] + 1, 1);
    memcpy(begun, text, whole->sizes[0]);
    begun[whole->sizes[0]] = '\a';
    sampling.stops = (const char *[]){begun, NULL};
    feed_prompt(model, session, 1, prompt, NULL);
    Told told = sample(session, sampling);
    EXPECT(begins(whole, &told, 0, SAMPLED) && told.sizes[0] == whole->sizes[0]);
    free(begun);
}

static void check_pauses(const linnet_model *model, linnet_session *session, const char *prompt,
                         linnet_sampling sampling, const Told *whole)
{
    feed_prompt(model, session, 1, prompt, NULL);
    sampling.length = 0;
    EXPECT(sample(session, sampling).counts[0] == 0);
    sampling.length = 15;
    Told first = sample(session, sampling), second = {.most = {10}};
    EXPECT(begins(whole, &first, 0, 15));
    sampling.length = SAMPLED;
    EXPECT(linnet_sample(session, &sampling, listen, &second, &error));
    EXPECT(second.counts[0] == 10);
    join(&first, &second);
    sampling.length = SAMPLED - 25;
    second = sample(session, sampling);
    join(&first, &second);
    EXPECT(begins(whole, &first, 0, SAMPLED) && first.sizes[0] == whole->sizes[0]);
}

/* Texts of a batch are what they are alone, and one that ends does not change the other. */
static void check_batch(const linnet_model *model, const char *prompt, linnet_sampling sampling,
                        const Told *alone)
{
    linnet_session *session = linnet_session_open(model, TEXTS, 2, &error);
    EXPECT(session);
    feed_prompt(model, session, TEXTS, prompt, NULL);
    Told both = sample(session, sampling), cut = {.most = {5}};
    EXPECT(begins(&both, alone, 0, SAMPLED) && !begins(&both, &(Told){.nats = 0}, 0, SAMPLED));
    EXPECT(memcmp(both.ids[0], both.ids[1], sizeof both.ids[0]) != 0);
    feed_prompt(model, session, TEXTS, prompt, NULL);
    EXPECT(linnet_sample(session, &sampling, listen, &cut, &error));
    EXPECT(begins(&both, &cut, 0, 5) && begins(&both, &cut, 1, SAMPLED));
    linnet_session_close(session);
}

static void check_refused(linnet_session *session, linnet_sampling good)
{
    static const char *const many[18] = {"1", "2", "3", "4", "5", "6", "7", "8", "9",
                                         "0", "1", "2", "3", "4", "5", "6", "7"};
    Told told = {.nats = 0};
    linnet_sampling bad = good;
#define REFUSED(field, value, part)                                                    \
    do {                                                                               \
        bad.field = value;                                                             \
        EXPECT(!linnet_sample(session, &bad, listen, &told, &error) && says(part));    \
        EXPECT(!linnet_sample(session, &bad, listen, &told, NULL) && !told.counts[0]); \
        bad = good;                                                                    \
    } while (0)
    REFUSED(size, 0, "size of the sampling options is 0 instead of");
    REFUSED(size, SIZE_MAX, "begin with LINNET_SAMPLING");
    REFUSED(temperature, -1, "temperature is -1, but must be from 0 to 100");
    REFUSED(temperature, 101, "temperature is 101");
    REFUSED(temperature, (double)NAN, "temperature is nan");
    REFUSED(top_p, 2, "top_p is 2, but must be from 0 to 1");
    REFUSED(top_p, (double)NAN, "top_p is nan");
    REFUSED(repetition_penalty, 0, "repetition_penalty is 0, but must be from");
    REFUSED(repetition_penalty, (double)INFINITY, "repetition_penalty is inf");
    REFUSED(stops, many, "more than 16 stop texts");
#undef REFUSED
}

static double nats_of(const float *logits, size_t count, int32_t id)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += exp((double)logits[i] - (double)logits[id]);
    return log(sum);
}

static void check_sampling(const linnet_model *model, linnet_session *session)
{
    static const char prompt[] = "the prices";
    linnet_sampling sampling = LINNET_SAMPLING;
    size_t vocabulary = linnet_vocabulary_size(model);
    float *logits = take(vocabulary, sizeof *logits);
    linnet_restart(session);
    EXPECT(!linnet_sample(session, &sampling, listen, NULL, &error) && says("linnet_start"));
    sampling.length = SAMPLED;
    feed_prompt(model, session, 1, prompt, logits);
    check_refused(session, sampling);
    Told whole = sample(session, sampling);
    EXPECT(whole.counts[0] == SAMPLED);
    EXPECT(fabs(whole.nats - nats_of(logits, vocabulary, whole.ids[0][0])) < 1e-4);
    check_pauses(model, session, prompt, sampling, &whole);
    check_stops(model, session, prompt, sampling, &whole);
    check_batch(model, prompt, sampling, &whole);
    free(logits);
}

/* --- threads --- */

/* What a session computes: logits after each of its steps, continued texts, and a score. */
typedef struct Result {
    size_t numbers;
    float *logits;
    Told told;
    linnet_score score;
    char text[LONGEST];
} Result;

enum { STEPS = 3 };

static Result use(const linnet_model *model, const char *text, size_t size, size_t threads)
{
    linnet_error why;
    Result result = {.numbers = linnet_vocabulary_size(model) * TEXTS};
    result.logits = take(result.numbers * STEPS, sizeof *result.logits);
    int32_t *tokens = take(size * TEXTS, sizeof *tokens);
    ptrdiff_t count = linnet_tokenize(model, text, size, tokens, size, &why);
    EXPECT(count > 0 && (size_t)count > linnet_context(model));
    for (ptrdiff_t i = 0; i < count; i++) /* the second text is the first, reversed */
        tokens[2 * count - 1 - i] = tokens[i];
    linnet_session *session = linnet_session_open(model, TEXTS, threads, &why);
    EXPECT(session);
    for (size_t step = 0; step < STEPS; step++) {
        if (step == 1)
            linnet_restart(session);
        EXPECT(linnet_feed(session, tokens, (size_t)count - step / 2,
                           result.logits + step * result.numbers, &why));
    }
    linnet_sampling sampling = LINNET_SAMPLING;
    sampling.length = SAMPLED;
    sampling.top_k = 20;
    sampling.stops = (const char *[]){"e", NULL};
    EXPECT(linnet_sample(session, &sampling, listen, &result.told, &why));
    EXPECT(linnet_score_text(session, text, size, &result.score, &why));
    EXPECT(linnet_detokenize(model, tokens, (size_t)count, result.text, LONGEST, &why) > 0);
    linnet_session_close(session);
    free(tokens);
    return result;
}

static bool same(const Result *a, const Result *b)
{
    return memcmp(a->logits, b->logits, a->numbers * STEPS * sizeof *a->logits) == 0 &&
           memcmp(&a->told, &b->told, sizeof a->told) == 0 && a->score.nats == b->score.nats &&
           a->score.tokens == b->score.tokens && strcmp(a->text, b->text) == 0;
}

typedef struct Job {
    const linnet_model *model;
    const char *run, *text;
    size_t size, threads;
    const Result *wanted;
    bool good;
} Job;

static void *work(void *argument)
{
    Job *job = argument;
    linnet_model *second = open_or_fail(job->run);
    const linnet_model *models[] = {job->model, second};
    job->good = true;
    for (int i = 0; i < 2; i++) {
        Result result = use(models[i], job->text, job->size, job->threads);
        job->good &= same(&result, job->wanted);
        free(result.logits);
    }
    linnet_close(second);
    return NULL;
}

static void check_threads(const char *run, const char *path)
{
    enum { THREADS = 4 };
    static const size_t inside[THREADS] = {1, 2, 1, 3};
    static char text[LONGEST];
    FILE *file = fopen(path, "rb");
    EXPECT(file);
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    linnet_model *model = open_or_fail(run);
    Result wanted = use(model, text, size, 1);
    size_t bytes = wanted.numbers * sizeof *wanted.logits;
    EXPECT(memcmp(wanted.logits, wanted.logits + wanted.numbers, bytes) == 0); /* restarted */
    EXPECT(memcmp(wanted.logits, wanted.logits + 2 * wanted.numbers, bytes) != 0);
    EXPECT(isfinite(wanted.score.nats) && wanted.score.bytes == size);
    pthread_t threads[THREADS];
    Job jobs[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        jobs[i] = (Job){model, run, text, size, inside[i], &wanted, false};
        EXPECT(pthread_create(&threads[i], NULL, work, &jobs[i]) == 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        EXPECT(jobs[i].good);
    }
    free(wanted.logits);
    linnet_close(model);
}

/* --- errors --- */

static void check_tokens(const linnet_model *model, linnet_session *session)
{
    size_t vocabulary = linnet_vocabulary_size(model);
    float *before = take(vocabulary, sizeof *before), *after = take(vocabulary, sizeof *after);
    const int32_t wrong[] = {1, (int32_t)vocabulary, -1}, good[] = {1, 2};
    char text[8] = "untouch";
    EXPECT(!linnet_feed(session, wrong, 2, before, &error) && says("tokens[1] is "));
    EXPECT(!linnet_feed(session, wrong + 2, 1, before, &error) && says("tokens[0] is -1"));
    EXPECT(!linnet_feed(session, wrong, 2, before, NULL));
    EXPECT(linnet_detokenize(model, wrong, 3, text, sizeof text, &error) == -1 &&
           says("tokens[1]"));
    EXPECT(strcmp(text, "untouch") == 0);
    EXPECT(linnet_feed(session, good, 2, before, &error)); /* nothing was read before */
    linnet_restart(session);
    EXPECT(linnet_feed(session, good, 1, NULL, &error));
    EXPECT(linnet_feed(session, good + 1, 1, after, &error));
    EXPECT(memcmp(before, after, vocabulary * sizeof *before) == 0);
    EXPECT(linnet_feed(session, good, 0, after, &error));
    EXPECT(memcmp(before, after, vocabulary * sizeof *before) == 0);
    free(before);
    free(after);
}

static void check_texts(const linnet_model *model, linnet_session *session)
{
    static const char text[] = "the prices\nrose the";
    const size_t size = sizeof text - 1;
    int32_t tokens[sizeof text], few[1] = {-7};
    char back[sizeof text] = "", part[5] = "????";
    linnet_score score;
    ptrdiff_t count = linnet_tokenize(model, text, size, tokens, size, &error);
    EXPECT(count > 1 && (size_t)count <= size);
    EXPECT(linnet_tokenize(model, text, size, few, 1, &error) == count && few[0] == tokens[0]);
    EXPECT(linnet_tokenize(model, text, size, NULL, 0, &error) == count);
    EXPECT(linnet_tokenize(model, "", 0, NULL, 0, &error) == 0);
    EXPECT(linnet_detokenize(model, tokens, (size_t)count, back, sizeof back, &error) ==
           (ptrdiff_t)size);
    EXPECT(strcmp(back, text) == 0);
    EXPECT(linnet_detokenize(model, tokens, (size_t)count, part, 4, &error) == (ptrdiff_t)size);
    EXPECT(memcmp(part, text, 4) == 0 && part[4] == '\0');
    EXPECT(!linnet_score_text(session, "", 0, &score, &error) && says("no tokens"));
    EXPECT(linnet_score_text(session, "zzgy the", 8, &score, &error) && score.bytes == 8);
    if (strstr(linnet_settings(model), "tokens = word")) {
        EXPECT(score.tokens == 2 && score.unknown == 1);
        EXPECT(!linnet_score_text(session, "\xff", 1, &score, &error) && says("invalid UTF-8"));
        EXPECT(linnet_tokenize(model, "a\0b", 3, tokens, 3, &error) == -1 &&
               says("zero bytes"));
    }
}

/* The locale may have decimal commas. */
static void check_errors(const char *run, const char *file)
{
    if (!setlocale(LC_ALL, ""))
        fprintf(stderr, "client: the locale is missing\n");
    EXPECT(strcmp(linnet_version(), LINNET_VERSION) == 0);
    EXPECT(!linnet_open("/nowhere/run", &error) && says("/nowhere/run: no such run"));
    EXPECT(!linnet_open(file, &error) && says("not a safetensors file"));
    EXPECT(!linnet_open("/", &error) && says("no checkpoint in this directory"));
    EXPECT(!linnet_open("", NULL));
    linnet_model *model = open_or_fail(run);
    EXPECT(!linnet_session_open(model, 0, 1, &error) && says("at least one text"));
    EXPECT(!linnet_session_open(model, SIZE_MAX / 2, 1, &error) && says("address space"));
    EXPECT(!linnet_session_open(model, 1, 1025, &error) && says("1025 threads are too many"));
    EXPECT(!linnet_session_open(model, 1, SIZE_MAX, &error) && says("at most 1024"));
    linnet_session *session = linnet_session_open(model, 1, 0, &error);
    EXPECT(session);
    check_tokens(model, session);
    check_texts(model, session);
    check_sampling(model, session);
    linnet_session_close(session);
    linnet_session_close(NULL);
    linnet_close(model);
    linnet_close(NULL);
}

/* --- a run in training --- */

static void watch(const char *run, const char *end)
{
    size_t opened = 0;
    for (; access(end, F_OK) != 0; opened++) {
        linnet_model *model = open_or_fail(run);
        linnet_session *session = linnet_session_open(model, 1, 1, &error);
        float *logits = take(linnet_vocabulary_size(model), sizeof *logits);
        EXPECT(session && linnet_feed(session, &(int32_t){0}, 1, logits, &error));
        EXPECT(isfinite((double)logits[0]));
        free(logits);
        linnet_session_close(session);
        linnet_close(model);
    }
    printf("%zu\n", opened);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    if (strcmp(argv[1], "sample") == 0 && argc > 11)
        print_sampled(argv + 2);
    else if (strcmp(argv[1], "threads") == 0)
        check_threads(argv[2], argv[3]);
    else if (strcmp(argv[1], "errors") == 0)
        check_errors(argv[2], argv[3]);
    else
        watch(argv[2], argv[3]);
    return 0;
}
