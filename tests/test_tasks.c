/* Synthetic tasks: right answers by another way of computing them, names, corpora, accuracy. */
#include "data/corpora/batches.h"
#include "data/corpora/corpus.h"
#include "data/corpora/tasks.h"
#include "models/score.h"
#include "src/layers/head.h"
#include "src/base/memory.h"
#include "tests/rig.h"
#include "tests/scratch.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <string.h>

SUITE("tasks");

/* A line as words; answers are NULL where there are none. */
typedef struct Line {
    Task task;
    int32_t *symbols, *ids; /* ids: of the answers */
    char **words, **answers;
} Line;

static Line line_make(const char *name)
{
    Line line;
    Error error;
    ck_assert_msg(task_read(&line.task, name, &error), "%s", error.text);
    size_t length = line.task.length;
    line.symbols = memory_new(length, sizeof *line.symbols, "a test");
    line.ids = memory_new(length, sizeof *line.ids, "a test");
    line.words = memory_new(length, sizeof *line.words, "a test");
    line.answers = memory_new(length, sizeof *line.answers, "a test");
    return line;
}

static void line_clear(Line *line)
{
    for (size_t i = 0; i < line->task.length; i++) {
        free(line->words[i]);
        free(line->answers[i]);
        line->words[i] = line->answers[i] = NULL;
    }
}

static void line_write(Line *line, uint64_t seed, size_t index)
{
    line_clear(line);
    task_write(&line->task, seed, index, line->symbols, line->ids);
    for (size_t i = 0; i < line->task.length; i++) {
        ck_assert(line->symbols[i] >= 0 && (size_t)line->symbols[i] < line->task.symbols);
        ck_assert(line->ids[i] >= -1 && line->ids[i] < (int32_t)line->task.symbols);
        line->words[i] = task_word(&line->task, (size_t)line->symbols[i]);
        if (line->ids[i] >= 0)
            line->answers[i] = task_word(&line->task, (size_t)line->ids[i]);
    }
}

static void line_free(Line *line)
{
    line_clear(line);
    free(line->symbols);
    free(line->ids);
    free(line->words);
    free(line->answers);
}

/* --- answers --- */

/* Where the word stands first; every word asked for stands somewhere before. */
static size_t find_first(const Line *line, const char *word)
{
    size_t at = 0;
    while (strcmp(line->words[at], word) != 0)
        at++;
    return at;
}

/* An answer is the word after the one that is asked for, where that stood first. */
static size_t check_recall(const Line *line)
{
    size_t answered = 0, keys = 0, others = 0;
    for (size_t i = 0; i < line->task.length; i++) {
        size_t before = find_first(line, line->words[i]);
        bool key = line->words[i][0] == 'k' || line->words[i][0] == '>';
        ck_assert(!line->answers[i] == !(key && before < i));
        if (line->answers[i]) {
            ck_assert_str_eq(line->answers[i], line->words[before + 1]);
            answered++;
        }
        keys += key && before == i;
        others += line->words[i][0] == 'x' || line->words[i][0] == '.';
    }
    ck_assert_uint_eq(answered, keys); /* each is asked for once */
    if (line->words[0][0] != 's' && line->words[0][0] != '>')
        ck_assert_uint_eq(others, line->task.values[3]);
    return answered;
}

static size_t check_copying(const Line *line)
{
    size_t read = 0, answered = 0;
    for (size_t i = 0; i < line->task.length; i++) {
        ck_assert(!line->answers[i] == (line->words[i][0] != '>'));
        if (!line->answers[i])
            continue;
        while (line->words[read][0] == '.')
            read++;
        ck_assert_str_eq(line->answers[i], line->words[read++]);
        answered++;
    }
    ck_assert_uint_eq(answered, line->task.values[0]);
    return answered;
}

static size_t check_parity(const Line *line)
{
    size_t ones = 0;
    for (size_t i = 0; i < line->task.length; i++) {
        ones += strcmp(line->words[i], "1") == 0;
        ck_assert_str_eq(line->answers[i], ones % 2 ? "1" : "0");
    }
    return line->task.length;
}

/* Follows each of 1 to 5 through the words. */
static size_t check_s5(const Line *line)
{
    for (size_t i = 0; i < line->task.length; i++)
        for (size_t from = 0; from < 5; from++) {
            size_t at = from;
            for (size_t j = 0; j <= i; j++)
                at = (size_t)(line->words[j][at] - '1');
            ck_assert_uint_eq((size_t)(line->answers[i][from] - '1'), at);
        }
    return line->task.length;
}

TEST(answers_are_right)
{
    const struct {
        const char *name;
        size_t (*check)(const Line *line);
        size_t answers, length, symbols;
    } rows[] = {{"recall", check_recall, 8, 24, 129},
                {"recall:pairs=1,keys=1,values=2", check_recall, 1, 3, 4},
                {"recall:pairs=20,keys=20,values=3,distance=7", check_recall, 20, 67, 24},
                {"noisy-recall", check_recall, 8, 40, 144},
                {"noisy-recall:pairs=3,keys=100,noise=50", check_recall, 3, 59, 180},
                {"induction", check_recall, 1, 32, 17},
                {"induction:length=3,symbols=2", check_recall, 1, 3, 3},
                {"copying", check_copying, 8, 40, 18},
                {"copying:items=5,length=5,symbols=2", check_copying, 5, 10, 4},
                {"parity:length=40", check_parity, 40, 40, 2},
                {"s5", check_s5, 16, 16, 120}};
    for (size_t r = 0; r < COUNT(rows); r++) {
        Line line = line_make(rows[r].name);
        ck_assert_uint_eq(line.task.length, rows[r].length);
        ck_assert_uint_eq(line.task.symbols, rows[r].symbols);
        for (size_t i = 0; i < 200; i++) {
            line_write(&line, 1 + i % 3, i);
            ck_assert_uint_eq(rows[r].check(&line), rows[r].answers);
        }
        line_free(&line);
    }
}

TEST(lines_depend_on_seed_and_index_alone)
{
    const TaskKind *kind;
    for (size_t k = 0; (kind = task_kind(k)); k++) {
        Line one = line_make(kind->name), other = line_make(kind->name);
        size_t bytes = one.task.length * sizeof *one.symbols;
        line_write(&one, 1, 5);
        line_write(&other, 2, 5);
        ck_assert_int_ne(memcmp(one.symbols, other.symbols, bytes), 0);
        line_write(&other, 1, 6);
        ck_assert_int_ne(memcmp(one.symbols, other.symbols, bytes), 0);
        line_write(&other, 1, 5);
        ck_assert_int_eq(memcmp(one.symbols, other.symbols, bytes), 0);
        ck_assert_int_eq(memcmp(one.ids, other.ids, bytes), 0);
        line_free(&one);
        line_free(&other);
    }
}

TEST(settings_are_checked)
{
    const struct {
        const char *name, *says;
    } rows[] = {{"recall:pears=3", "no setting 'pears'"},
                {"recall:", "no setting ''"},
                {"recall:pairs=0", "pairs must be a whole number from 1 to 4096"},
                {"recall:pairs=", "pairs must be"},
                {"recall:pairs", "pairs must be"},
                {"recall:lines=1", "lines must be a whole number from 2"},
                {"recall:pairs=-1", "pairs must be"},
                {"recall:pairs=8,", "no setting ''"},
                {"recall:pairs=1,keys=4,pairs=1", "pairs is set twice"},
                {"recall:pairs=65", "pairs=65 must not be more than keys=64"},
                {"copying:items=40,length=39", "items=40 must not be more than length=39"},
                {"induction:length=2", "length must be a whole number from 3"},
                {"noisy-recall:noise=99999999999999999999", "noise must be"},
                {"copying:length=32768,items=16384,lines=10000000", "are too much"},
                {"parity:symbols=3", "no setting 'symbols'"}};
    Task task;
    Error error;
    for (size_t i = 0; i < COUNT(rows); i++) {
        ck_assert(task_is_named(rows[i].name));
        ck_assert_msg(!task_read(&task, rows[i].name, &error), "%s", rows[i].name);
        ck_says(error, rows[i].says);
    }
    ck_assert(!task_is_named("recal") && !task_is_named("recalls") &&
              !task_is_named("./recall") && !task_is_named("") && !task_is_named(":"));
}

/* --- corpora --- */

static Corpus load(const char *name, const Vocabulary *known)
{
    Corpus corpus;
    Error error;
    const CorpusOptions options = {.min_count = 1};
    ck_assert_msg(corpus_load(&corpus, name, &options, known, &error), "%s", error.text);
    return corpus;
}

TEST(a_corpus_has_labels_behind_the_tokens_that_ask)
{
    const char *name = "noisy-recall:pairs=3,noise=2,keys=5,values=7,lines=50";
    Corpus corpus = load(name, NULL);
    const CorpusSplit *splits[] = {&corpus.train, &corpus.valid, &corpus.test};
    const size_t lines[] = {50, 1000, 1000};
    const Vocabulary *vocabulary = &corpus.vocabulary;
    Line line = line_make(name);
    ck_assert_uint_eq(corpus.line, 12);
    for (size_t s = 0; s < COUNT(splits); s++) {
        const CorpusSplit *split = splits[s];
        ck_assert_uint_eq(split->count, lines[s] * corpus.line);
        ck_assert_uint_eq(split_scored(split), lines[s] * 3);
        ck_assert_uint_eq(split->crc, tokens_crc(split->ids, split->count));
        for (size_t at = 0; at < split->count; at++) {
            size_t place = at % corpus.line;
            int32_t label = tokens_at(split->labels, at);
            if (place == 0)
                line_write(&line, s + 1, at / corpus.line);
            const char *word = vocabulary->words[tokens_at(split->ids, at)];
            ck_assert_str_eq(word, place < 11 ? line.words[place] : TOKEN_EOS);
            const char *answer = place > 0 ? line.answers[place - 1] : NULL;
            ck_assert(answer ? label >= 0 : label == TOKEN_NONE);
            if (answer)
                ck_assert_str_eq(vocabulary->words[label], answer);
        }
    }
    line_free(&line);
    corpus_free(&corpus);
}

TEST(a_model_keeps_its_symbols)
{
    Corpus large = load("recall:keys=20,lines=5", NULL), small;
    small = load("recall:keys=9,lines=5", &large.vocabulary); /* fewer are no problem */
    ck_assert_uint_eq(small.vocabulary.count, large.vocabulary.count);
    const struct {
        CorpusOptions options;
        const char *says;
    } rows[] = {{{.min_count = 1}, "the model's vocabulary has no 'k20'"},
                {{.min_count = 2}, "--min-count: recall:keys=21 is a synthetic task"},
                {{.min_count = 1, .tokenizer = TOKENIZER_BYTE}, "--tokens: recall"},
                {{.min_count = 1, .vocab_size = 9}, "--vocab-size: recall"},
                {{.min_count = 1, .valid = "x"}, "--valid: recall"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        Corpus corpus;
        Error error;
        ck_assert(!corpus_load(&corpus, "recall:keys=21", &rows[i].options, &large.vocabulary,
                               &error));
        ck_says(error, rows[i].says);
    }
    corpus_free(&large);
    corpus_free(&small);
}

/* --- windows --- */

/* Whether a window is the line: what the model reads and answers. Returns the answers. */
static size_t check_window(const Corpus *corpus, const CorpusSplit *split, size_t line,
                           const int32_t *inputs, const int32_t *targets)
{
    size_t begin = line * corpus->line, answers = 0;
    ck_assert_int_eq(inputs[0], corpus->vocabulary.eos);
    for (size_t i = 0; i < corpus->line; i++) {
        if (i > 0)
            ck_assert_int_eq(inputs[i], tokens_at(split->ids, begin + i - 1));
        ck_assert_int_eq(targets[i], tokens_at(split->labels, begin + i));
        answers += targets[i] >= 0;
    }
    return answers;
}

/* The line of a window, by its tokens, which differ in all lines of the test. */
static size_t line_of(const Corpus *corpus, const int32_t *inputs)
{
    size_t line = 0, lines = corpus->train.count / corpus->line, same = 0;
    for (; line < lines; line++) {
        for (same = 1; same < corpus->line; same++)
            if (tokens_at(corpus->train.ids, line * corpus->line + same - 1) != inputs[same])
                break;
        if (same == corpus->line)
            break;
    }
    ck_assert_uint_lt(line, lines);
    return line;
}

TEST(each_window_is_a_line)
{
    enum { LINES = 23, BATCH = 4, MOST = 8 };
    Corpus corpus = load("s5:length=7,lines=23", NULL);
    int32_t inputs[BATCH * MOST], targets[BATCH * MOST];
    Batches batches;
    batches_init(
        &batches, corpus.train.ids, corpus.train.count,
        &(BatchOptions){
            .context = corpus.line, .batch = BATCH, .seed = 3, .labels = corpus.train.labels});
    for (size_t epoch = 0; epoch < 3; epoch++) {
        size_t seen[LINES] = {0};
        for (size_t index = 0; index < batches_per_epoch(&batches); index++) {
            BatchCount count = batches_fill(&batches, epoch, index, 0, BATCH, inputs, targets);
            ck_assert_uint_eq(count.read % corpus.line, 0);
            ck_assert_uint_eq(count.targets, count.read / corpus.line * 7);
            for (size_t row = 0; row < count.read / corpus.line; row++) {
                const int32_t *at = inputs + row * corpus.line;
                size_t line = line_of(&corpus, at);
                seen[line]++;
                check_window(&corpus, &corpus.train, line, at, targets + row * corpus.line);
            }
        }
        for (size_t line = 0; line < LINES; line++)
            ck_assert_uint_eq(seen[line], 1);
    }
    batches_free(&batches);
    corpus_free(&corpus);
}

/* Whether the largest logit of a row is the target's, by the logits themselves. */
static bool is_right(const Rig *rig, const real *u, int32_t target)
{
    real logits[16];
    const ModelConfig *config = &rig->model.config;
    head_logits(logits, u, rig->model.params.wte, NULL,
                (HeadSizes){1, config->dim, config->vocabulary, 0});
    for (size_t v = 0; v < config->vocabulary; v++)
        if (logits[v] > logits[target])
            return false;
    return true;
}

TEST(only_answers_are_scored_and_counted)
{
    Corpus corpus = load("recall:pairs=4,keys=4,values=4,lines=2", NULL);
    ModelConfig config = rig_tiny;
    config.context = corpus.line;
    config.vocabulary = corpus.vocabulary.count;
    Rig rig;
    rig_make_for(&rig, config, 8, 0.5, PASS_EVALUATE);
    Windows windows = {.ids = corpus.valid.ids,
                       .count = corpus.valid.count,
                       .window = corpus.line,
                       .stride = corpus.line,
                       .prime = corpus.vocabulary.eos,
                       .labels = corpus.valid.labels};
    Score score = score_windows(&rig.pass, &windows, NULL, 0), expected = {0};
    for (size_t first = 0; first < windows_number(&windows); first += 8) {
        for (size_t row = 0; row < 8; row++) {
            int32_t *inputs = rig.inputs + row * corpus.line,
                    *targets = rig.targets + row * corpus.line;
            windows_fill(&windows, first + row, inputs, targets);
            expected.tokens += check_window(&corpus, &corpus.valid, first + row, inputs,
                                            targets);
        }
        expected.nats += pass_loss(&rig.pass, rig.inputs, rig.targets);
        const real *u = pass_forward(&rig.pass, rig.inputs, NULL);
        for (size_t i = 0; i < rig.pass.rows; i++)
            if (rig.targets[i] >= 0)
                expected.right += is_right(&rig, u + i * config.dim, rig.targets[i]);
    }
    ck_assert_uint_eq(score.tokens, 4000);
    ck_assert_uint_eq(expected.tokens, 4000);
    ck_assert_double_eq(score.nats, expected.nats);
    ck_assert_uint_eq(score.right, expected.right);
    ck_assert(score.right > 0 && score.right < score.tokens);
    rig_free(&rig);
    corpus_free(&corpus);
}
