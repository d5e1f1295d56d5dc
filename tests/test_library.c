/* The public functions have the figures of those that the programs use; tests/library has what
 * concerns a library: threads, errors, memory. */
#include "data/corpora/tokens.h"
#include "models/library/linnet.h"
#include "models/generator.h"
#include "models/score.h"
#include "src/base/containers.h"
#include "tests/content.h"
#include "tests/scratch.h"
#include "tests/tests.h"

#include <math.h>
#include <string.h>

SUITE("library", .folder = true);

enum { TEXTS = 3, COUNT_FED = 13 };

static ModelConfig config_of(size_t kind)
{
    ModelConfig config = content_config;
    config.attention = one_kind(kind);
    config.positions = positions_for(kind, POSITIONS_LEARNED);
    return config;
}

static void save_model(ModelConfig config, Content *content)
{
    content_make(content, config);
    content_save(content, content->path, false);
}

static int32_t token_at(size_t text, size_t i)
{
    return (int32_t)((text * 7 + i * i + 3 * i) % content_config.vocabulary);
}

static void check_feeding(const Model *model, linnet_session *session)
{
    linnet_error error;
    Generator generator;
    int32_t rows[TEXTS][COUNT_FED], column[TEXTS];
    float logits[TEXTS][6];
    generator_make(&generator, model, TEXTS);
    generator_restart(&generator);
    for (size_t i = 0; i < COUNT_FED; i++) {
        for (size_t text = 0; text < TEXTS; text++)
            column[text] = rows[text][i] = token_at(text, i);
        generator_read(&generator, column);
    }
    ck_assert_msg(linnet_feed(session, rows[0], COUNT_FED, logits[0], &error), "%s",
                  error.text);
    for (size_t text = 0; text < TEXTS; text++)
        for (size_t i = 0; i < content_config.vocabulary; i++)
            ck_assert(logits[text][i] == (float)generator_logits(&generator, text)[i]);
    generator_free(&generator);
}

/* The nats of a text, token by token; the context starts anew with every window. */
static double nats_of_steps(const Model *model, const int32_t *ids, int32_t before)
{
    Generator generator;
    double nats = 0;
    generator_make(&generator, model, 1);
    for (size_t i = 0; i < arrlenu(ids); before = ids[i++]) {
        if (i % model->config.context == 0)
            generator_restart(&generator);
        generator_read(&generator, &before);
        nats += generator_loss(&generator, 0, ids[i]);
    }
    generator_free(&generator);
    return nats;
}

/* A text of many windows has eval's figure, to the bit; any text nearly that of single steps.
 */
static void check_scoring(const LoadedModel *loaded, linnet_session *session)
{
    static const char words[] = "the linnet sings\nthe linnet the unheard-of \xc3\xa9\n";
    const Vocabulary *vocabulary = &loaded->checkpoint.vocabulary;
    const ModelConfig *config = &loaded->model.config;
    char text[20 * sizeof words] = "";
    for (size_t times = 1; times <= 20; times++) {
        linnet_score score;
        linnet_error why;
        Error error;
        int32_t *ids = NULL;
        size_t unknown, size = strlen(strcat(text, words));
        ck_assert(vocabulary_encode(vocabulary, "a test", text, size, &ids, &unknown, &error));
        ck_assert_msg(linnet_score_text(session, text, size, &score, &why), "%s", why.text);
        ck_assert_uint_eq(score.tokens, arrlenu(ids));
        ck_assert_uint_eq(score.unknown, unknown);
        ck_assert_uint_eq(score.unknown, times);
        ck_assert_uint_eq(score.bytes, size);
        double nats = nats_of_steps(&loaded->model, ids, vocabulary->eos);
        ck_assert_double_eq_tol(score.nats, nats, 1e-4 * nats);
        if (score.tokens >= 16 * config->context) {
            Scorer scorer;
            CorpusSplit split = {.ids = tokens_plain(ids), .count = arrlenu(ids)};
            scorer_make(&scorer, &loaded->model,
                        &(Protocol){config->context, config->context, 16, vocabulary->eos});
            ck_assert(scorer_score(&scorer, &split, NULL, 0).nats == score.nats);
            scorer_free(&scorer);
        }
        arrfree(ids);
    }
}

LOOP_TEST(every_kind_has_the_figures_of_the_programs, 0, count_kinds())
{
    Content content;
    LoadedModel loaded;
    Error error;
    linnet_error why;
    save_model(config_of((size_t)_i), &content);
    ck_assert_msg(loaded_open(&loaded, content.path, &error), "%s", error.text);
    linnet_model *model = linnet_open(content.path, &why);
    ck_assert_msg(model, "%s", why.text);
    ck_assert_uint_eq(linnet_vocabulary_size(model), content_config.vocabulary);
    ck_assert_uint_eq(linnet_context(model), content_config.context);
    linnet_session *session = linnet_session_open(model, TEXTS, 2, &why);
    ck_assert_msg(session, "%s", why.text);
    check_feeding(&loaded.model, session);
    check_scoring(&loaded, session);
    linnet_restart(session);
    check_feeding(&loaded.model, session);
    linnet_session_close(session);
    linnet_close(model);
    loaded_close(&loaded);
    content_free(&content);
}

TEST(what_is_not_finite_is_an_error)
{
    Content content;
    linnet_error why;
    float logits[6];
    const int32_t token = 1;
    content_make(&content, config_of(0));
    for (size_t i = 0; i < content.small.model.table.total; i++)
        content.small.model.base[i] = (real)1e15;
    content_save(&content, content.path, false);
    linnet_model *model = linnet_open(content.path, &why);
    ck_assert_msg(model, "%s", why.text);
    linnet_session *session = linnet_session_open(model, 1, 1, &why);
    ck_assert_msg(session, "%s", why.text);
    ck_assert(!linnet_feed(session, &token, 1, logits, &why));
    ck_assert_ptr_nonnull(strstr(why.text, "predictions are not finite"));
    ck_assert(!linnet_score_text(session, "the", 3, &(linnet_score){0}, &why));
    ck_assert_ptr_nonnull(strstr(why.text, "loss of this text is not finite"));
    linnet_session_close(session);
    linnet_close(model);
    content_free(&content);
}

/* The loss of a text that a user of the library computes from logits; at most COUNT_FED tokens.
 */
static double nats_after(const linnet_model *model, linnet_session *session, int32_t before,
                         const char *text)
{
    linnet_error why;
    int32_t tokens[1 + COUNT_FED] = {before};
    float logits[6];
    double nats = 0;
    ptrdiff_t count = linnet_tokenize(model, text, strlen(text), tokens + 1, COUNT_FED, &why);
    ck_assert(count > 0 && count <= COUNT_FED);
    linnet_restart(session);
    for (ptrdiff_t i = 0; i < count; i++) {
        double sum = 0;
        ck_assert_msg(linnet_feed(session, &tokens[i], 1, logits, &why), "%s", why.text);
        for (size_t k = 0; k < content_config.vocabulary; k++)
            sum += exp((double)logits[k]);
        nats += log(sum) - (double)logits[tokens[i + 1]];
    }
    return nats;
}

/* Without a start token of its own, and with each. */
LOOP_TEST(texts_begin_after_the_start_token, -1, (int)content_config.vocabulary)
{
    static const char text[] = "the linnet sings";
    Content content;
    linnet_error why;
    linnet_score score;
    content_make(&content, content_config);
    int32_t eos = content.vocabulary.eos, start = _i < 0 ? eos : _i;
    content.vocabulary.start = _i < 0 ? TOKEN_NONE : _i;
    for (size_t i = 0; i < content.small.model.table.total; i++)
        content.small.model.base[i] *= 5; /* so that tokens matter */
    content_save(&content, content.path, false);
    linnet_model *model = linnet_open(content.path, &why);
    ck_assert_msg(model, "%s", why.text);
    ck_assert_int_eq(linnet_start(model), start);
    linnet_session *session = linnet_session_open(model, 1, 1, &why);
    ck_assert_msg(session, "%s", why.text);
    ck_assert(linnet_score_text(session, text, strlen(text), &score, &why));
    double nats = nats_after(model, session, linnet_start(model), text);
    ck_assert_double_eq_tol(score.nats, nats, 1e-5 * nats);
    if (start != eos)
        ck_assert(fabs(nats_after(model, session, eos, text) - nats) > 1e-3 * nats);
    linnet_session_close(session);
    linnet_close(model);
    content_free(&content);
}

TEST(settings_are_those_of_the_checkpoint)
{
    Content content;
    linnet_error why;
    save_model(content_config, &content);
    linnet_model *model = linnet_open(content.path, &why);
    ck_assert_msg(model, "%s", why.text);
    ck_assert_ptr_nonnull(strstr(linnet_settings(model), "layers = 2\n"));
    ck_assert_ptr_nonnull(strstr(linnet_settings(model), "tokens = word\n"));
    linnet_close(model);
    content_free(&content);
}
