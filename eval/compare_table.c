#include "eval/compare_table.h"
#include "eval/terminal.h"
#include "src/containers.h"
#include "src/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TABLE_COLUMNS = 9, TABLE_LEFT = 2, CELL = 32 };

typedef char Cell[CELL];

/* Four or so digits and a unit: "12.3k". */
static void print_amount(Cell cell, double amount)
{
    static const char units[] = " kMGT";
    size_t unit = 0;
    for (; fabs(amount) >= 999.5 && unit + 2 < sizeof units; unit++)
        amount /= 1000;
    snprintf(cell, CELL, fabs(amount) < 9.995 && unit > 0 ? "%.2f%.*s" : "%.3g%.*s", amount,
             unit > 0, units + unit);
}

static void print_time(Cell cell, double seconds)
{
    const double most = 1e9; /* thirty years; also what fits every integer type */
    enum { MINUTE = 60, HOUR = 3600 };
    if (!(seconds >= MINUTE && seconds < most)) {
        snprintf(cell, CELL, "%.3gs", seconds);
        return;
    }
    unsigned long whole = (unsigned long)(seconds + 0.5);
    snprintf(cell, CELL, "%lu:%02lu:%02lu", whole / HOUR, whole % HOUR / MINUTE,
             whole % MINUTE);
}

/* The numbers of one run; what is not known stays "-". */
static void print_numbers(Cell *cells, const RunData *run)
{
    const double plain = 1e5; /* longer ones are written with an exponent */
    double ppl = exp(run->best_val_loss);
    if (run->parameters > 0)
        print_amount(cells[2], (double)run->parameters);
    if (!isnan(run->best_val_loss)) {
        snprintf(cells[3], CELL, run->best_val_loss < plain ? "%.4f" : "%.4g",
                 run->best_val_loss);
        snprintf(cells[4], CELL, ppl < plain ? "%.2f" : "%.3g", ppl);
        snprintf(cells[5], CELL, "%.4g", run->best_epoch);
    }
    if (arrlenu(run->rows) > 0) {
        double loss = run->final_train_loss;
        snprintf(cells[6], CELL, fabs(loss) < plain ? "%.4f" : "%.4g", loss);
        print_time(cells[8], run->seconds);
    }
    if (!isnan(run->tokens_per_second))
        print_amount(cells[7], run->tokens_per_second);
}

static void print_row(const char *name, const Cell *cells, const size_t *widths)
{
    for (size_t i = 0; i < TABLE_COLUMNS; i++) {
        const char *text = i == 0 ? name : cells[i];
        int blanks = (int)(widths[i] - text_columns(text));
        if (i < TABLE_LEFT)
            printf("%s%*s", text, blanks, "");
        else
            printf("  %*s%s", blanks, "", text);
        if (i == 0)
            printf("  ");
    }
    printf("\n");
}

typedef Cell Row[TABLE_COLUMNS];

static const Row titles = {"run",   "attn",  "params", "best val", "ppl",
                           "epoch", "train", "tok/s",  "time"};

/* Every column takes what its longest cell takes, but names only what the others leave. */
static void choose_widths(const Row *rows, size_t count, char *const *names, size_t width,
                          size_t *widths)
{
    enum { GAP = 2, NAME_LEAST = 8 };
    size_t others = 0;
    for (size_t i = 0; i < TABLE_COLUMNS; i++) {
        widths[i] = strlen(titles[i]);
        for (size_t r = 0; r < count; r++) {
            size_t columns = text_columns(i == 0 ? names[r] : rows[r][i]);
            widths[i] = columns > widths[i] ? columns : widths[i];
        }
        others += i == 0 ? 0 : widths[i] + GAP;
    }
    size_t room = width > others + NAME_LEAST ? width - others : NAME_LEAST;
    widths[0] = widths[0] < room ? widths[0] : room;
}

void compare_print_table(const RunData *runs, size_t count, char *const *names, size_t width,
                         bool utf8)
{
    enum { ATTN_MOST = 16 };
    Row *rows = memory_take(count, sizeof *rows, "the table");
    for (size_t r = 0; r < count; r++) {
        for (size_t i = 1; i < TABLE_COLUMNS; i++)
            snprintf(rows[r][i], CELL, "-");
        char *attn = terminal_safe_name(runs[r].attn ? runs[r].attn : "-", ATTN_MOST, false);
        snprintf(rows[r][1], CELL, "%s", attn);
        free(attn);
        print_numbers(rows[r], &runs[r]);
    }
    size_t widths[TABLE_COLUMNS];
    choose_widths(rows, count, names, width, widths);
    print_row(titles[0], titles, widths);
    for (size_t r = 0; r < count; r++) {
        char *name = terminal_safe_name(names[r], widths[0], utf8);
        print_row(name, rows[r], widths);
        free(name);
    }
    free(rows);
}
