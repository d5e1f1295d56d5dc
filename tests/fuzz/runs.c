/* The files of a run directory (log, scores, settings) and the output made from them. */
#include "eval/compare/compare.h"
#include "eval/compare/page/report.h"
#include "eval/runs/rundata.h"
#include "src/base/containers.h"
#include "src/base/text.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* --- log --- */

static char *write_log(const RunLogText *log)
{
    char *text = runlog_header(log->columns), line[RUNLOG_LINE];
    for (size_t i = 0; i < arrlenu(log->rows); i++) {
        runlog_line(&log->rows[i], log->columns, line);
        FUZZ_HOLDS(strlen(line) < RUNLOG_LINE && strchr(line, '\n') == line + strlen(line) - 1);
        text_append(&text, "%s", line);
    }
    return text;
}

/* Numbers are written with nine digits, so a second round trip changes nothing. */
static void check_log(const RunLogText *log)
{
    char *text = write_log(log);
    RunLogText back;
    Error error = {0};
    FUZZ_HOLDS(runlog_parse("again", text, strlen(text), &back, &error));
    FUZZ_HOLDS(back.whole == strlen(text) && back.columns == log->columns);
    FUZZ_HOLDS(arrlenu(back.rows) == arrlenu(log->rows));
    for (size_t i = 0; i < arrlenu(back.rows); i++) {
        FUZZ_HOLDS(back.rows[i].step == log->rows[i].step);
        FUZZ_HOLDS(back.rows[i].has_val_loss == log->rows[i].has_val_loss);
        FUZZ_HOLDS(isnan(back.rows[i].train_loss) == isnan(log->rows[i].train_loss));
    }
    char *again = write_log(&back);
    FUZZ_HOLDS(strcmp(text, again) == 0);
    arrfree(back.rows);
    free(again);
    free(text);
}

void fuzz_run_log(const uint8_t *data, size_t size)
{
    RunLogText log;
    Error error = {0};
    if (!runlog_parse("log", (const char *)data, size, &log, &error)) {
        FUZZ_HOLDS(!log.rows);
        fuzz_check_reason(&error);
        return;
    }
    FUZZ_HOLDS(log.whole <= size && (!log.whole || data[log.whole - 1] == '\n'));
    for (size_t i = 1; i < arrlenu(log.rows); i++)
        FUZZ_HOLDS(log.rows[i].step >= log.rows[i - 1].step);
    check_log(&log);
    arrfree(log.rows);
}

/* --- scores --- */

static const RunScore *last_like(const RunScore *scores, const RunScore *protocol)
{
    const RunScore *last = NULL;
    for (size_t i = 0; i < arrlenu(scores); i++)
        if (score_same_protocol(&scores[i], protocol, SCORE_PER_TOKEN))
            last = &scores[i];
    return last;
}

/* Whether a later score is of the same protocol, or of another text for the same split. */
static bool is_replaced(const RunScore *scores, size_t i)
{
    for (size_t later = i + 1; later < arrlenu(scores); later++)
        if (score_same_protocol(&scores[later], &scores[i], SCORE_PER_TOKEN) ||
            (strcmp(scores[later].split, scores[i].split) == 0 &&
             scores[later].text_crc != scores[i].text_crc))
            return true;
    return false;
}

/* Of scores saved one by one, those stay, unchanged, that no later one replaces. */
static void check_scores(const RunScore *scores)
{
    enum { MOST = 16 }; /* every save writes a file */
    char *path = fuzz_scratch("scores.csv");
    RunScore *back;
    Error error = {0};
    size_t different = 0;
    unlink(path);
    for (size_t i = 0; i < arrlenu(scores); i++) {
        different += !is_replaced(scores, i);
        FUZZ_HOLDS(i >= MOST || scores_note(path, &scores[i], &error));
    }
    if (arrlenu(scores) > 0 && arrlenu(scores) <= MOST) {
        FUZZ_HOLDS(scores_read(path, &back, &error));
        FUZZ_HOLDS(arrlenu(back) == different);
        for (size_t i = 0; i < arrlenu(back); i++) {
            const RunScore *score = last_like(scores, &back[i]);
            FUZZ_HOLDS(score && score->nats == back[i].nats);
            FUZZ_HOLDS(score->tokens == back[i].tokens && score->step == back[i].step);
        }
        arrfree(back);
    }
    free(path);
}

void fuzz_scores(const uint8_t *data, size_t size)
{
    RunScore *scores;
    Error error = {0};
    if (scores_read(fuzz_file(data, size), &scores, &error)) {
        check_scores(scores);
        arrfree(scores);
    } else {
        FUZZ_HOLDS(!scores);
        fuzz_check_reason(&error);
    }
}

/* --- run directory: settings, log, scores and samples, separated by zeros --- */

/* The output is valid JSON with the values read. Integers may exceed those of jansson. */
static void check_json(const RunData *run)
{
    json_t *made = compare_run_json(run);
    char *text = json_dumps(made, 0);
    json_decref(made);
    FUZZ_HOLDS(text);
    fuzz_check_shown(text, true);
    json_t *tree = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);
    FUZZ_HOLDS(tree);
    FUZZ_HOLDS(json_array_size(json_object_get(tree, "points")) == run->validations);
    FUZZ_HOLDS(json_array_size(json_object_get(tree, "scores")) == arrlenu(run->scores));
    json_decref(tree);
    free(text);
}

/* Every tag of the page was written by the program. */
void fuzz_check_tags(const char *page)
{
    static const char *const tags[] = {
        "section", "h2",      "h3",      "table", "caption", "thead",  "tbody",
        "tr",      "th",      "td",      "p",     "div",     "svg",    "path",
        "code",    "span",    "button",  "label", "input",   "dl",     "dt",
        "dd",      "details", "summary", "pre",   "ul",      "li",     "a",
        "em",      "strong",  "article", "abbr",  "small",   "br",     "title",
        "style",   "rect",    "text",    "tspan", "line",    "circle", "g"};
    while ((page = strchr(page, '<'))) {
        page += page[1] == '/' ? 2 : 1;
        size_t length = strspn(page, "abcdefghijklmnopqrstuvwxyz0123456789");
        bool known = false;
        for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
            known = known || (strlen(tags[i]) == length && strncmp(page, tags[i], length) == 0);
        FUZZ_HOLDS(known);
        page += strcspn(page, "<>");
        FUZZ_HOLDS(*page == '>');
    }
}

static void check_page(RunData *run)
{
    char *text = NULL, *name = run->name;
    if (run->attn)
        run->name = memory_copy_text(run->attn); /* any text */
    Comparison all = comparison_make(run, 1, true, NULL);
    if (run->attn)
        free(run->name);
    run->name = name;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    FUZZ_HOLDS(stream);
    report_print_numbers(stream, &all);
    report_print_settings(stream, &all);
    report_print_samples(stream, &all);
    FUZZ_HOLDS(fflush(stream) == 0);
    size_t page = size;
    report_print_data(stream, &(Report){.all = &all});
    FUZZ_HOLDS(fclose(stream) == 0);
    fuzz_check_shown(text, true);
    FUZZ_HOLDS(!strchr(text + page, '<'));
    json_t *tree = json_loads(text + page, JSON_DECODE_INT_AS_REAL, NULL);
    FUZZ_HOLDS(tree);
    json_decref(tree);
    text[page] = '\0';
    fuzz_check_tags(text);
    free(text);
    comparison_free(&all);
}

/* Writes the next part to a file; without a next part, there is no file. */
static void put_next(const char *name, const uint8_t **data, size_t *size)
{
    char *path = fuzz_scratch(name), *text = fuzz_next_text(data, size);
    unlink(path);
    if (*text)
        fuzz_scratch_put(path, text, strlen(text));
    free(text);
    free(path);
}

void fuzz_run_folder(const uint8_t *data, size_t size)
{
    static const char *const names[] = {RUN_SETTINGS, RUN_LOG, RUN_SCORES, "samples.txt"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        put_next(names[i], &data, &size);
    RunData run;
    Error error = {0};
    if (rundata_read(&run, fuzz_scratch_folder(), &error)) {
        check_json(&run);
        check_page(&run);
    } else {
        fuzz_check_reason(&error);
    }
    rundata_free(&run);
}
