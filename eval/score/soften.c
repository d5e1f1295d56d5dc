#include "eval/score/soften.h"
#include "src/base/file.h"
#include "src/base/memory.h"
#include "src/math/team.h"
#include "src/math/vector.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Rows whose logits are in memory at once; tokens of a record. */
enum { SOFTEN_ROWS = 256, LISTED = 64 };

bool softener_make(Softener *softener, const char *path, const CorpusSplit *split,
                   size_t vocabulary, Error *error)
{
    *softener = (Softener){.path = path, .split = split, .vocabulary = vocabulary};
    if (vocabulary > SOFT_MOST_TOKENS)
        return error_usage(error,
                           "--soft-targets: a vocabulary of %zu tokens, and at most %d can be "
                           "stored; omit the option, or train runs with a smaller --vocab-size",
                           vocabulary, SOFT_MOST_TOKENS);
    if (!*path || file_is_folder(path))
        return error_usage(
            error,
            "--soft-targets '%s': this cannot be a file; the option takes the FILE "
            "to write, and the runs come after it",
            path);
    size_t listed = softener->listed = vocabulary < LISTED ? vocabulary : LISTED;
    if (!soft_writer_begin(&softener->writer, path, listed, split, vocabulary, error))
        return false;
    softener->unigram = soft_targets_unigram(split, vocabulary);
    softener->records = memory_new(SOFTEN_ROWS * 2 * listed, sizeof *softener->records,
                                   "the soft targets");
    softener->logits = memory_new(SOFTEN_ROWS * vocabulary, sizeof *softener->logits,
                                  "the soft targets");
    return true;
}

void softener_free(Softener *softener)
{
    soft_writer_abort(&softener->writer);
    free(softener->unigram);
    free(softener->records);
    free(softener->logits);
    *softener = (Softener){0};
}

/* --- one token --- */

static void to_probabilities(real *z, size_t count)
{
    real max = vector_max(z, count), sum = 0;
    for (size_t i = 0; i < count; i++) {
        z[i] = vector_exp(z[i] - max);
        sum += z[i];
    }
    for (size_t i = 0; i < count; i++)
        z[i] /= sum;
}

/* The mean of p and what the record has from all runs before. */
static void average(const Softener *softener, real *p, const uint16_t *record)
{
    const real *unigram = softener->unigram;
    const size_t listed = softener->listed;
    const real weight = 1 / (real)(softener->runs + 1), earlier = 1 - weight;
    const real rest = earlier * soft_record_rest(record, listed, unigram);
    for (size_t i = 0; i < softener->vocabulary; i++)
        p[i] = weight * p[i] + rest * unigram[i];
    for (size_t k = 0; k < listed; k++)
        p[record[k]] += earlier * (real)record[listed + k] / SOFT_UNIT -
                        rest * unigram[record[k]];
}

/* Lists the most likely tokens, in order; of equal ones, those with the smallest ids. Sums of
 * their probabilities are rounded, so that the listed ones keep what they have together. */
static void list(const Softener *softener, uint16_t *record, const real *p)
{
    real most[LISTED] = {0};
    size_t listed = softener->listed, count = 0;
    for (size_t i = 0; i < softener->vocabulary; i++) {
        if (count == listed && p[i] <= most[listed - 1])
            continue;
        size_t at = count < listed ? count++ : listed - 1;
        for (; at > 0 && most[at - 1] < p[i]; at--) {
            most[at] = most[at - 1];
            record[at] = record[at - 1];
        }
        most[at] = p[i];
        record[at] = (uint16_t)i;
    }
    real sum = 0;
    size_t units = 0;
    for (size_t k = 0; k < listed; k++) {
        sum += most[k];
        size_t all = sum > 0 ? (size_t)lround(fmin((double)sum, 1) * SOFT_UNIT)
                             : 0; /* NaN: 0 */
        record[listed + k] = (uint16_t)(all > units ? all - units : 0);
        units += record[listed + k];
    }
}

static void soften_row(void *context, size_t row, size_t worker)
{
    (void)worker;
    const Softener *softener = context;
    uint16_t *record = softener->records + row * 2 * softener->listed;
    real *p = softener->logits + row * softener->vocabulary;
    to_probabilities(p, softener->vocabulary);
    if (softener->runs > 0)
        average(softener, p, record);
    list(softener, record, p);
}

/* --- the text --- */

/* Averages the next rows, whose logits are there, into their records in the file. */
static void soften_rows(Softener *softener, size_t rows)
{
    Error error;
    SoftWriter *writer = &softener->writer;
    uint16_t *records = softener->records;
    const size_t listed = softener->listed;
    if (softener->runs > 0 && !soft_writer_get(writer, softener->next, records, rows, &error))
        die("%s", error.text);
    team_run(rows, soften_row, softener);
    if (!soft_writer_put(writer, softener->next, records, rows, &error))
        die("%s", error.text);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < listed; k++)
            softener->units += records[(2 * i + 1) * listed + k];
    softener->next += rows;
}

static void add_batch(void *context, Pass *pass)
{
    Softener *softener = context;
    if (softener->next == 0)
        softener->units = 0;
    for (size_t first = 0, rows; first < pass->scored.count; first += rows) {
        size_t left = pass->scored.count - first;
        rows = left < SOFTEN_ROWS ? left : SOFTEN_ROWS;
        pass_scored_logits(pass, softener->logits, first, rows);
        soften_rows(softener, rows);
    }
    if (softener->next == softener->split->count) {
        softener->runs++;
        softener->next = 0;
    }
}

ScoreListener softener_listener(Softener *softener)
{
    return (ScoreListener){add_batch, softener};
}

bool softener_write(Softener *softener, Error *error)
{
    size_t tokens = softener->split->count;
    if (!soft_writer_end(&softener->writer, error))
        return false;
    print_warning(
        "soft targets of %zu tokens in %s: the %zu likeliest of each have %.1f %% of the "
        "probability",
        tokens, softener->path, softener->listed,
        100 * softener->units / (double)tokens / SOFT_UNIT);
    return true;
}
