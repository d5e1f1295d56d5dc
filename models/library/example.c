/* Scores a text and continues it: ./example RUN TEXT
 *
 *     cc example.c $(pkg-config --cflags --libs linnet) -lm -o example */
#include <linnet.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void fail(const char *why)
{
    fprintf(stderr, "example: %s\n", why);
    exit(1);
}

static bool print(void *context, const linnet_token *token)
{
    (void)context;
    fwrite(token->bytes, 1, token->size, stdout);
    return fflush(stdout) == 0;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        fail("usage: example RUN TEXT");
    linnet_error error;
    linnet_score score;
    size_t size = strlen(argv[2]);
    linnet_model *model = linnet_open(argv[1], &error);
    linnet_session *session = model ? linnet_session_open(model, 1, 1, &error) : NULL;
    if (!session || !linnet_score_text(session, argv[2], size, &score, &error))
        fail(error.text);
    printf("%zu tokens, perplexity %.2f\n%s", score.tokens,
           exp(score.nats / (double)score.tokens), argv[2]);

    int32_t *tokens = malloc((size + 1) * sizeof *tokens);
    if (!tokens)
        fail("out of memory");
    tokens[0] = linnet_start(model); /* texts begin after it */
    ptrdiff_t count = linnet_tokenize(model, argv[2], size, tokens + 1, size, &error);
    if (count < 0 || !linnet_feed(session, tokens, (size_t)count + 1, NULL, &error))
        fail(error.text);
    linnet_sampling sampling = LINNET_SAMPLING;
    sampling.length = 50;
    if (!linnet_sample(session, &sampling, print, NULL, &error))
        fail(error.text);
    putchar('\n');
    free(tokens);
    linnet_session_close(session);
    linnet_close(model);
    return 0;
}
