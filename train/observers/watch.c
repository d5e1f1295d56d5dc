#include "train/observers/observers.h"
#include "eval/runs/runchart.h"
#include "eval/show/terminal.h"
#include "src/base/containers.h"
#include "src/base/phase.h"
#include "src/base/text.h"
#include "train/observers/fullscreen.h"

#include <math.h>
#include <string.h>

#define REDRAW_SECONDS 0.25
#define MOST_MESSAGES  ((size_t)100) /* more than any terminal shows */

bool watch_check(const SessionOptions *session, Error *error)
{
    if (session->watch && !fullscreen_is_possible())
        return error_set(error, "--watch needs a terminal to draw on, and standard error is "
                                "none; leave --watch out");
    return true;
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

/* Adds the lines of a text of items, and frees it. */
static void add_items(Page *page, char *text)
{
    char **lines = words_filled(text, page->look.columns);
    for (size_t i = 0; i < arrlenu(lines); i++)
        add_line(page, lines[i]);
    text_lines_free(lines);
    free(text);
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

/* --- its sections --- */

static void add_bar(Page *page, double share)
{
    enum { AROUND = 8 }; /* the ends of the bar, and " 100 %" */
    size_t columns = page->look.columns;
    char *text = columns > AROUND ? words_bar(share, columns - AROUND) : NULL;
    text_append(&text, "%3.0f %%", floor(100 * share));
    add_line(page, text);
    free(text);
}

static void add_numbers(Page *page, const RunView *run)
{
    const Progress *progress = run->progress;
    char *text = words_of_step(run);
    text_append(&text, "  %s elapsed  memory %.0f MB", text_duration(progress->seconds).text,
                memory_peak_megabytes());
    add_items(page, text);
    if (!progress->validated)
        return;
    text = words_of_validation(run);
    text_append(&text, "  best %.4f after step %zu", progress->best.loss, progress->best.step);
    add_items(page, text);
}

static void add_chart(Page *page, const Watch *watch, const RunView *run, size_t rows)
{
    Chart chart = curves_chart(watch->curves, run, 4 * page->look.columns);
    chart.columns = page->look.columns;
    chart.rows = rows;
    chart.utf8 = page->look.utf8;
    chart.colour = page->look.colour;
    char *text = NULL;
    chart_append(&text, &chart);
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
        arrput(page->lines, text_format("%.*s", (int)(end - line), line));
    free(text);
    chart_free(&chart);
}

static size_t clamp(size_t value, size_t low, size_t high)
{
    return value < low ? low : value > high ? high : value;
}

static void add_sample(Page *page, const Watch *watch, size_t rows)
{
    char **lines = text_wrap(watch->sample, page->look.columns);
    char *title = text_format("Sample after step %zu", watch->sample_step);
    add_title(page, title);
    free(title);
    for (size_t i = 0; i + 1 < rows; i++) /* sections below keep their place */
        add_line(page, i < arrlenu(lines) ? lines[i] : "");
    text_lines_free(lines);
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
static void add_sections(Page *page, const Watch *watch, const RunView *run)
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
        add_chart(page, watch, run, rest - sample - messages);
    if (sample >= LEAST)
        add_sample(page, watch, sample);
    if (messages >= LEAST)
        add_messages(page, watch, messages);
}

static void draw(Watch *watch, const RunView *run)
{
    Page page = {.look = fullscreen_look()};
    add_title(&page, run->folder);
    if (run->progress->step > 0)
        add_bar(&page, (double)run->progress->step / (double)run->steps);
    if (run->last.tokens > 0)
        add_numbers(&page, run);
    add_line(&page, "");
    add_sections(&page, watch, run);
    while (arrlenu(page.lines) > page.look.rows)
        free(arrpop(page.lines));
    fullscreen_draw(page.lines);
    text_lines_free(page.lines);
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

static bool started(void *self, const RunView *run, Error *error)
{
    Watch *watch = self;
    size_t step = run->progress->step;
    if (!fullscreen_enter(error))
        return false;
    add_message(watch,
                text_format("%zu parameters, %zu training tokens; Ctrl-C saves and stops",
                            run->model->table.parameters, run->corpus->train.count));
    if (step > 0)
        add_message(watch, text_format("continues after step %zu", step));
    draw(watch, run);
    return true;
}

static bool stepped(void *self, const RunView *run, Error *error)
{
    (void)error;
    const Watch *watch = self;
    if (fullscreen_is_stale() || clock_seconds() - watch->drawn >= REDRAW_SECONDS)
        draw(self, run);
    return true;
}

static bool validated(void *self, const RunView *run, Error *error)
{
    (void)error;
    const Progress *progress = run->progress;
    add_message(self, text_format("%s  epoch %.4g  step %zu  %svalidation%s %.4f%s%s",
                                  text_duration(progress->seconds).text,
                                  view_epochs(run, progress->step), progress->step,
                                  words_of_training_loss(run).text, view_part(run),
                                  progress->last.loss, words_of_accuracy(run).text,
                                  run->best ? "  best" : ""));
    return true;
}

static bool sampled(void *self, const RunView *run, Error *error)
{
    (void)error;
    Watch *watch = self;
    free(watch->sample);
    watch->sample = memory_copy_text(run->sample);
    watch->sample_step = run->progress->step;
    return true;
}

static void warned(void *self, const char *text)
{
    add_message(self, memory_copy_text(text));
    print_warning("%s", text); /* shown when the page is left, which forgets its messages */
}

static bool ended(void *self, const RunView *run, Error *error)
{
    (void)self;
    (void)run;
    (void)error;
    fullscreen_leave();
    return true;
}

static void free_watch(void *self)
{
    Watch *watch = self;
    text_lines_free(watch->messages);
    free(watch->sample);
    *watch = (Watch){0};
}

const ObserverCalls watch_calls = {.on = {[RUN_STARTED] = started,
                                          [RUN_STEPPED] = stepped,
                                          [RUN_VALIDATED] = validated,
                                          [RUN_SAMPLED] = sampled,
                                          [RUN_ENDED] = ended},
                                   .warned = warned,
                                   .free = free_watch};
