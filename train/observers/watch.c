#include "train/observers/watch.h"
#include "eval/runs/runchart.h"
#include "eval/show/terminal.h"
#include "src/containers.h"
#include "src/phase.h"
#include "src/text.h"
#include "src/memory.h"
#include "train/observers/fullscreen.h"

#include <math.h>
#include <string.h>

#define REDRAW_SECONDS 0.25
#define MOST_MESSAGES  ((size_t)100) /* more than any terminal shows */

void watch_init(Watch *watch, const Trainer *trainer, const RunFolder *folder,
                const Curves *curves)
{
    *watch = (Watch){.trainer = trainer,
                     .folder = folder,
                     .curves = curves,
                     .pace = pace_start(&trainer->progress),
                     .drawn = -INFINITY};
}

void watch_free(Watch *watch)
{
    for (size_t i = 0; i < arrlenu(watch->messages); i++)
        free(watch->messages[i]);
    arrfree(watch->messages);
    free(watch->sample);
    free(watch->sample_title);
    *watch = (Watch){0};
}

/* --- building a page: lines that fit its size --- */

typedef struct Page {
    FullscreenLook look;
    char **lines; /* an array of stb_ds */
} Page;

static void add_line(Page *page, const char *text)
{
    char *line = terminal_safe_name(text, page->look.columns, page->look.utf8);
    arrput(page->lines, line);
}

/* Adds items with gaps between, on as many lines as needed, and frees them. */
static void add_items(Page *page, char **items, size_t count)
{
    char *line = NULL;
    for (size_t i = 0; i < count; i++) {
        if (line && text_columns(line) + 3 + text_columns(items[i]) > page->look.columns) {
            add_line(page, line);
            free(line);
            line = NULL;
        }
        text_append(&line, "%s%s", line ? "   " : "", items[i]);
        free(items[i]);
    }
    add_line(page, line);
    free(line);
}

static void add_title(Page *page, const char *title)
{
    const char *stroke = page->look.utf8 ? "─" : "-";
    char *text = text_format("%s%s %s ", stroke, stroke, title);
    for (size_t at = text_columns(text); at < page->look.columns; at++)
        text_append(&text, "%s", stroke);
    char *line = terminal_safe_name(text, page->look.columns, page->look.utf8);
    if (page->look.colour) {
        char *bold = text_format("\033[1m%s\033[0m", line);
        free(line);
        line = bold;
    }
    arrput(page->lines, line);
    free(text);
}

/* Adds a text of several lines, wrapped at blanks, up to `most` lines. */
static void add_folded(Page *page, const char *text, size_t most)
{
    size_t end = arrlenu(page->lines) + most;
    while (*text && arrlenu(page->lines) < end) {
        size_t length = strcspn(text, "\n");
        char *line = text_format("%.*s", (int)length, text);
        char *safe = terminal_safe_name(line, SIZE_MAX, page->look.utf8);
        char **lines = text_wrap(*safe ? safe : "\n", page->look.columns);
        for (size_t i = 0; i < arrlenu(lines) && arrlenu(page->lines) < end; i++)
            arrput(page->lines, memory_copy_text(lines[i]));
        text_lines_free(lines);
        free(safe);
        free(line);
        text += length + (text[length] == '\n');
    }
}

/* --- its sections --- */

static void add_bar(Page *page, double share)
{
    enum { AROUND = 8 }; /* the ends of the bar, and " 100 %" */
    char *text = NULL;
    if (page->look.columns > AROUND)
        words_append_bar(&text, share, page->look.columns - AROUND);
    text_append(&text, "%3.0f %%", floor(100 * share));
    add_line(page, text);
    free(text);
}

static void add_numbers(Page *page, const Watch *watch)
{
    const Trainer *t = watch->trainer;
    const Progress *progress = &t->progress;
    char *epoch = NULL;
    words_append_epoch(&epoch, t);
    char *items[] = {epoch,
                     text_format("loss %.4f (smoothed)", watch->smoothed_loss),
                     text_format("%.1fk tokens/s", pace_speed(&watch->pace, progress) / 1000),
                     text_format("%s left", text_duration(pace_left(&watch->pace, t)).text),
                     text_format("%s elapsed", text_duration(progress->seconds).text),
                     text_format("step %zu/%zu", progress->step, t->steps),
                     text_format("lr %.2e", watch->step.lr),
                     text_format("gradient norm %.2f", watch->step.gradient_norm),
                     text_format("memory %.0f MB", memory_peak_megabytes())};
    add_items(page, items, sizeof items / sizeof *items);
    if (progress->last_step == 0)
        return;
    char *validation[] = {
        text_format("validation %.4f", progress->last_loss),
        text_format("perplexity %s", text_perplexity(exp(progress->last_loss)).text),
        text_format("best %.4f after step %zu", progress->best_loss, progress->best_step)};
    add_items(page, validation, sizeof validation / sizeof *validation);
}

static void add_chart(Page *page, const Watch *watch, size_t rows)
{
    Chart chart = curves_chart(watch->curves, 4 * page->look.columns);
    chart.columns = page->look.columns;
    chart.rows = rows;
    chart.utf8 = page->look.utf8;
    chart.colour = page->look.colour;
    char *text = NULL;
    chart_append(&text, &chart);
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
        arrput(page->lines, text_format("%.*s", (int)(end - line), line));
    free(text);
    runchart_free(&chart);
}

static size_t clamp(size_t value, size_t low, size_t high)
{
    return value < low ? low : value > high ? high : value;
}

static void add_sample(Page *page, const Watch *watch, size_t rows)
{
    size_t end = arrlenu(page->lines) + rows;
    add_title(page, watch->sample_title);
    add_folded(page, watch->sample, rows - 1);
    while (arrlenu(page->lines) < end) /* sections below keep their place */
        add_line(page, "");
}

static void add_messages(Page *page, const Watch *watch, size_t rows)
{
    size_t count = arrlenu(watch->messages), most = rows - 1;
    add_title(page, "Messages");
    for (size_t i = count > most ? count - most : 0; i < count; i++)
        add_line(page, watch->messages[i]);
}

/* The lower sections take a share of the rows, the curves the rest. If that is too little for
 * the curves, the sample is dropped first, then the messages. */
static void add_sections(Page *page, const Watch *watch)
{
    enum { LEAST = 2 }; /* of a section: its title and a line */
    size_t total = page->look.rows, used = arrlenu(page->lines);
    size_t rest = total > used ? total - used : 0;
    bool chart = page->look.columns >= CHART_COLUMNS_LEAST && rest >= CHART_ROWS_LEAST;
    size_t of_chart = chart ? CHART_ROWS_LEAST : 0;
    size_t sample = watch->sample ? clamp(total / 8, LEAST, 8) + 1 : 0;
    size_t messages = clamp(total / 8, LEAST + 1, 12) + 1;
    if (rest < of_chart + sample + messages)
        sample = 0;
    if (rest < of_chart + messages)
        messages = rest - of_chart;
    if (chart)
        add_chart(page, watch, rest - sample - messages);
    if (sample >= LEAST)
        add_sample(page, watch, sample);
    if (messages >= LEAST)
        add_messages(page, watch, messages);
}

static void draw(Watch *watch)
{
    const Progress *progress = &watch->trainer->progress;
    Page page = {.look = fullscreen_look()};
    add_title(&page, watch->folder->path);
    if (progress->step > 0)
        add_bar(&page, (double)progress->step / (double)watch->trainer->steps);
    if (watch->step.tokens > 0)
        add_numbers(&page, watch);
    add_line(&page, "");
    add_sections(&page, watch);
    while (arrlenu(page.lines) > page.look.rows)
        free(arrpop(page.lines));
    fullscreen_draw(page.lines);
    for (size_t i = 0; i < arrlenu(page.lines); i++)
        free(page.lines[i]);
    arrfree(page.lines);
    watch->drawn = clock_seconds();
}

/* --- the news --- */

/* Takes the text. */
static void add_message(Watch *watch, char *text)
{
    if (arrlenu(watch->messages) == MOST_MESSAGES) {
        free(watch->messages[0]);
        arrdel(watch->messages, 0);
    }
    arrput(watch->messages, text);
}

static bool started(void *self, Error *error)
{
    Watch *watch = self;
    const Trainer *t = watch->trainer;
    size_t step = t->progress.step;
    if (!fullscreen_enter(error))
        return false;
    add_message(watch,
                text_format("%zu parameters, %zu training tokens; Ctrl-C saves and stops",
                            t->model.table.parameters, t->corpus.train.count));
    if (step > 0)
        add_message(watch, text_format("continues after step %zu", step));
    draw(watch);
    return true;
}

static bool stepped(void *self, const StepNews *news, Error *error)
{
    (void)error;
    Watch *watch = self;
    watch->step = *news->step;
    watch->smoothed_loss = news->smoothed_loss;
    if (fullscreen_is_stale() || clock_seconds() - watch->drawn >= REDRAW_SECONDS)
        draw(watch);
    return true;
}

static bool validated(void *self, const ValidationNews *news, Error *error)
{
    (void)error;
    Watch *watch = self;
    const Progress *progress = &watch->trainer->progress;
    char *text = text_format("%s  epoch %.4g  step %zu  train %.4f  validation %.4f%s",
                             text_duration(progress->seconds).text,
                             trainer_epoch(watch->trainer, progress->step), progress->step,
                             news->train_loss, progress->last_loss, news->best ? "  best" : "");
    add_message(watch, text);
    return true;
}

static bool sampled(void *self, const SampleNews *news, Error *error)
{
    (void)error;
    Watch *watch = self;
    free(watch->sample);
    free(watch->sample_title);
    watch->sample = memory_copy_text(news->text);
    watch->sample_title = text_format("Sample after step %zu", news->step);
    return true;
}

static void warned(void *self, const char *text)
{
    add_message(self, memory_copy_text(text));
}

static bool ended(void *self, Error *error)
{
    (void)self;
    (void)error;
    fullscreen_leave();
    return true;
}

const ObserverCalls watch_calls = {.started = started,
                                   .stepped = stepped,
                                   .validated = validated,
                                   .sampled = sampled,
                                   .warned = warned,
                                   .ended = ended};
