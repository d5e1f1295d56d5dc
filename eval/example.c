/* Scores a text, and prints the ten most likely tokens after it: ./example RUN TEXT
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

int main(int argc, char **argv)
{
    if (argc != 3)
        fail("usage: example RUN TEXT");
    linnet_error error;
    linnet_score score;
    linnet_model *model = linnet_open(argv[1], &error);
    linnet_session *session = model ? linnet_session_open(model, 1, 1, &error) : NULL;
    if (!session || !linnet_score_text(session, argv[2], strlen(argv[2]), &score, &error))
        fail(error.text);
    printf("%zu tokens, perplexity %.2f\n", score.tokens,
           exp(score.nats / (double)score.tokens));

    size_t size = strlen(argv[2]), vocabulary = linnet_vocabulary_size(model);
    int32_t *tokens = malloc((size + 1) * sizeof *tokens);
    float *logits = malloc(vocabulary * sizeof *logits);
    if (!tokens || !logits)
        fail("out of memory");
    tokens[0] = linnet_start(model); /* texts begin after it */
    ptrdiff_t count = linnet_tokenize(model, argv[2], size, tokens + 1, size, &error);
    if (count < 0 || !linnet_feed(session, tokens, (size_t)count + 1, logits, &error))
        fail(error.text);
    for (int line = 0; line < 10; line++) {
        char piece[64];
        int32_t best = 0;
        for (size_t i = 1; i < vocabulary; i++)
            best = logits[i] > logits[best] ? (int32_t)i : best;
        ptrdiff_t length = linnet_detokenize(model, &best, 1, piece, sizeof piece, &error);
        printf("%8.4f  %.*s\n", (double)logits[best], (int)(length < 64 ? length : 64), piece);
        logits[best] = -INFINITY;
    }
    free(logits);
    free(tokens);
    linnet_session_close(session);
    linnet_close(model);
    return 0;
}
