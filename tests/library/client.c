/* A program that uses liblinnet by its public functions alone; library.sh runs it, on its own,
 * under valgrind and with ThreadSanitizer.
 *
 * client threads RUN TEXT: four threads with sessions of one model, and of models of their own,
 * have the same results as one, bit for bit.
 *
 * client errors RUN FILE: what must fail fails with a line, and does no harm.
 *
 * client watch RUN FILE: opens the run again and again until FILE exists. */
#include "eval/library/linnet.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXTS   2
#define LONGEST 4096

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

/* --- threads --- */

/* What a session computes: logits after each of its steps, and a score. */
typedef struct Result {
    size_t numbers;
    float *logits;
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
    EXPECT(linnet_score_text(session, text, size, &result.score, &why));
    EXPECT(linnet_detokenize(model, tokens, (size_t)count, result.text, LONGEST, &why) > 0);
    linnet_session_close(session);
    free(tokens);
    return result;
}

static bool same(const Result *a, const Result *b)
{
    return memcmp(a->logits, b->logits, a->numbers * STEPS * sizeof *a->logits) == 0 &&
           a->score.nats == b->score.nats && a->score.tokens == b->score.tokens &&
           strcmp(a->text, b->text) == 0;
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
    linnet_model *own = open_or_fail(job->run);
    const linnet_model *models[] = {job->model, own};
    job->good = true;
    for (int i = 0; i < 2; i++) {
        Result result = use(models[i], job->text, job->size, job->threads);
        job->good &= same(&result, job->wanted);
        free(result.logits);
    }
    linnet_close(own);
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

static bool says(const char *part)
{
    bool good = strstr(error.text, part) && !strchr(error.text, '\n');
    if (!good)
        fprintf(stderr, "client: it says: %s\n", error.text);
    error.text[0] = '\0';
    return good;
}

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
    if (argc != 4)
        return 2;
    if (strcmp(argv[1], "threads") == 0)
        check_threads(argv[2], argv[3]);
    else if (strcmp(argv[1], "errors") == 0)
        check_errors(argv[2], argv[3]);
    else
        watch(argv[2], argv[3]);
    return 0;
}
