/* Samples of the runs' models: one made for the page, and those written during training. */
#include "eval/compare/page/report_parts.h"
#include "eval/show/excerpt.h"
#include "eval/show/markup.h"
#include "eval/show/palette.h"
#include "models/checkpoint.h"
#include "src/base/file.h"
#include "src/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* What a training with --sample-every leaves. */
#define RUN_SAMPLES "samples.txt"

enum { EXCERPT_TOKENS = 60, EXCERPT_SEED = 1 };

/* Prints untrusted text, which may contain zero bytes. */
static void print_lines(FILE *out, const char *text, size_t size)
{
    char *copy = memory_take(size + 1, 1, "a sample");
    memcpy(copy, text, size);
    for (char *line = copy; line <= copy + size; line += strlen(line) + 1) {
        if (line > copy)
            fputs(text[line - copy - 1] == '\n' ? "\n" : "\\x00", out);
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        markup_print(out, line);
    }
    free(copy);
}

static void print_missing(FILE *out, const Error *why)
{
    fputs("<p class=\"aside\">No sample: ", out);
    markup_print(out, why->text);
    fputs("</p>\n", out);
}

static void print_excerpt(FILE *out, const RunData *run)
{
    LoadedModel loaded;
    Error error;
    if (!loaded_open(&loaded, run->path, &error)) {
        print_missing(out, &error);
        return;
    }
    Generator generator;
    generator_make(&generator, &loaded.model, 1);
    char *text = excerpt_make(&generator, &loaded.checkpoint.vocabulary, EXCERPT_TOKENS,
                              random_key(EXCERPT_SEED, RANDOM_SAMPLE, 0));
    generator_free(&generator);
    fputs("<pre>", out);
    print_lines(out, text, strlen(text));
    fputs("</pre>\n", out);
    free(text);
    loaded_close(&loaded);
}

/* Of a long history, prints the end, from the start of a line. */
static void print_history(FILE *out, const RunData *run)
{
    const size_t most = (size_t)64 << 20, shown = 20000;
    char *path = file_join(run->path, RUN_SAMPLES), *text = NULL;
    size_t size = 0;
    Error error;
    bool there = file_exists(path), good = there && file_read(path, most, &text, &size, &error);
    free(path);
    if (there && !good)
        print_missing(out, &error);
    if (!good)
        return;
    size_t from = size > shown ? size - shown : 0;
    const char *line = from > 0 ? memchr(text + from, '\n', size - from) : NULL;
    from = line ? (size_t)(line + 1 - text) : from;
    fputs("<details><summary>Samples during training</summary>\n<pre>", out);
    fputs(from > 0 ? "[...]\n" : "", out);
    print_lines(out, text + from, size - from);
    fputs("</pre></details>\n", out);
    free(text);
}

void report_print_samples(FILE *out, const Comparison *all)
{
    fprintf(
        out,
        "<section aria-labelledby=\"samples\"><h2 id=\"samples\">Samples</h2>\n"
        "<p class=\"aside\">The first %d tokens sampled from each run's best checkpoint with "
        "seed %d.</p>\n<div class=\"samples\">\n",
        EXCERPT_TOKENS, EXCERPT_SEED);
    for (size_t r = 0; r < all->count; r++) {
        fputs("<article><h3>", out);
        palette_print_swatch(out, all->runs[r].identity);
        markup_print(out, all->each[r].name);
        fputs("</h3>\n", out);
        print_excerpt(out, &all->runs[r]);
        print_history(out, &all->runs[r]);
        fputs("</article>\n", out);
    }
    fputs("</div></section>\n", out);
}
