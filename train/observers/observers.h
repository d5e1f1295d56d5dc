/* The observers of a session. Each is a table of calls and a struct, zeroed before the training
 * starts; it frees what it took at the end. */
#ifndef LINNET_OBSERVERS_H
#define LINNET_OBSERVERS_H

#include "train/observers/events.h"
#include "eval/show/chart.h"
#include "src/base/text.h"
#include "train/loop/view.h"

/* Writes log.csv; its data is the open RunLog. */
extern const ObserverCalls log_calls;

/* Writes samples.txt: a line "# step N, epoch E", then the text, where lines that begin with #
 * get a blank in front. */
typedef struct Samples {
    char *path, *text; /* owned; the text is the content of the file */
} Samples;
extern const ObserverCalls samples_calls;

/* Redraws curves.svg, the run's losses so far, at each validation. */
typedef struct Curves {
    char *picture;   /* path, owned */
    char *name;      /* of the run; owned */
    RunLogRow *rows; /* an array of stb_ds: log rows that the curves need, also from earlier
                      * sessions */
} Curves;
extern const ObserverCalls curves_calls;
/* The chart, with at most `points` points per curve. The caller sets its size and colour, and
 * frees it with chart_free. */
Chart curves_chart(const Curves *curves, const RunView *run, size_t points);

/* Writes TensorBoard event files: a scalar for each number of a log row, and the settings and
 * samples as texts. Its data is a closed EventFile. */
extern const ObserverCalls events_calls;

/* Prints. Lasting lines go to stdout: a summary of the settings, a line for each validation,
 * samples, the end. The progress goes to stderr: on a terminal one line that is redrawn,
 * elsewhere a line for each row of the log. A reader of stdout that leaves, or a full disk
 * behind it, does not stop the training. */
typedef struct Screen {
    bool quiet, live; /* live: stderr is a terminal that can redraw a line */
    bool line_open;   /* a progress line is on the screen */
    double shown;     /* when it was last drawn, in seconds of the run */
} Screen;
extern const ObserverCalls screen_calls;

void screen_open(Screen *screen, bool quiet);
/* The model, the text, the schedule and the settings that differ from the defaults. */
void screen_settings(const Screen *screen, const RunView *run);
/* Prints a lasting text and a line end; frees the text. */
void screen_say(Screen *screen, char *text);

/* Shows the training on the whole terminal (--watch): progress, speed and time left; the curves
 * so far; what the model wrote last; the last messages. Sections that the terminal has no room
 * for are left out. */
typedef struct Watch {
    const Curves *curves; /* whose observer is told first */
    double drawn;         /* when, in seconds of a monotonic clock; 0: not yet */
    char *sample;         /* the last one; NULL before the first; owned */
    size_t sample_step;   /* when it was made */
    char **messages;      /* an array of stb_ds, owned */
} Watch;
extern const ObserverCalls watch_calls;
/* Whether --watch, if it is given, has a terminal to draw on. */
bool watch_check(const SessionOptions *session, Error *error);

/* ---- Pieces of text that several of them show; the caller frees them ---- */

/* "epoch 1.25/10  loss 5.1230  12.3k tokens/s  0:03:21 left  ...", in a grid words_of_grid
 * before: items with two blanks between, those first that people look for first. */
char *words_of_step(const RunView *run);
/* "grid: run 7 of 24, 2:10:00 left  ", or "" for a run of its own; the caller frees. */
char *words_of_grid(const RunView *run);
/* "train 4.2311  ", or "matching 0.0123  " (attention outputs); "" before the first step. */
ShortText words_of_training_loss(const RunView *run);
/* "  accuracy 12.34 %" of the latest validation, or "" for a text. */
ShortText words_of_accuracy(const RunView *run);
/* The figures of the latest validation; the caller frees. */
char *words_of_validation(const RunView *run);
/* The lines of such a text, wrapped between items; an stb_ds array for text_lines_free. */
char **words_filled(const char *text, size_t width);
/* "[====>     ] " with the given number of columns between the brackets. */
char *words_bar(double share, size_t columns);
/* Every line indented by four blanks. */
char *words_indented(const char *text);

#endif
