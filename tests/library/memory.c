/* Lets every request for memory of liblinnet fail, one after another: memory RUN. A call that
 * gets none must return an error, and the next one must work. The linker (ld --wrap) brings
 * linnet's own requests here. */
#include "models/library/linnet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long left = -1; /* requests until one fails; negative: none */

static bool fails(void)
{
    return left >= 0 && left-- == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t unit, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t unit, size_t size);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t unit, size_t size)
{
    return fails() ? NULL : __real_aligned_alloc(unit, size);
}

/* --- calls --- */

static const char *run;
static linnet_model *model;
static linnet_session *session;
static linnet_error error;

static bool open_model(void)
{
    linnet_model *opened = linnet_open(run, &error);
    if (opened && model)
        linnet_close(opened);
    else if (opened)
        model = opened;
    return opened;
}

static bool open_session(void)
{
    linnet_session *opened = linnet_session_open(model, 2, 1, &error);
    if (opened && session)
        linnet_session_close(opened);
    else if (opened)
        session = opened;
    return opened;
}

static bool feed(void)
{
    const int32_t tokens[] = {1, 2, 3, 4};
    linnet_restart(session);
    return linnet_feed(session, tokens, 2, NULL, &error);
}

static bool listen(void *context, const linnet_token *token)
{
    (void)context, (void)token;
    return true;
}

static bool sample(void)
{
    linnet_sampling sampling = LINNET_SAMPLING;
    sampling.stops = (const char *[]){"zebra", "s zebra", NULL};
    return feed() && linnet_sample(session, &sampling, listen, NULL, &error);
}

static bool tokenize(void)
{
    return linnet_tokenize(model, "the prices rose", 15, NULL, 0, &error) > 0;
}

static bool score(void)
{
    linnet_score found;
    return linnet_score_text(session, "the prices rose", 15, &found, &error);
}

/* Calls it with the first request failing, then the second, until it asks for no more. */
static long exhaust(const char *name, bool (*call)(void))
{
    for (long request = 0;; request++) {
        error.text[0] = '\0';
        left = request;
        bool good = call(), asked = left < 0;
        left = -1;
        if (good && !asked) {
            printf("%s: %ld requests\n", name, request);
            return request;
        }
        if (good ? error.text[0] != '\0' : !strstr(error.text, "memory")) {
            fprintf(stderr, "memory: %s: request %ld: %s, and it says: %s\n", name, request,
                    good ? "it worked" : "it failed", error.text);
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    run = argv[1];
    long opening = exhaust("open", open_model);
    long beginning = model ? exhaust("session_open", open_session) : 0;
    exhaust("tokenize", tokenize);
    exhaust("feed", feed);
    long sampling = exhaust("sample", sample);
    exhaust("score_text", score);
    linnet_session_close(session);
    linnet_close(model);
    return opening > 10 && beginning > 2 && sampling > 2 ? 0 : 1;
}
