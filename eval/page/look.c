#include "eval/page/look.h"
#include "eval/show/palette.h"

size_t report_corpus_of(const Report *report, size_t run)
{
    size_t corpus = 0;
    for (size_t r = 1; r <= run; r++)
        corpus += !groups_same_scale(&report->runs[r - 1], &report->runs[r]);
    return corpus;
}

static void print_rule(FILE *out, const char *selector, bool dark)
{
    fprintf(out, "%s {", selector);
    for (size_t i = 0; i < PALETTE_COLOURS; i++)
        fprintf(out, " --c%zu: %s;", i, palette_hex(i, dark));
    fputs(" }\n", out);
}

void report_print_colours(FILE *out)
{
    print_rule(out, ":root", false);
    fputs("@media (prefers-color-scheme: dark) {\n", out);
    print_rule(out, ":root:not([data-theme=\"light\"])", true);
    fputs("}\n", out);
    print_rule(out, ":root[data-theme=\"dark\"]", true);
}

void report_print_colour(FILE *out, size_t identity)
{
    fprintf(out, "var(--c%zu)", palette_index(identity));
}

void report_print_swatch(FILE *out, const RunData *run)
{
    fputs("<svg class=\"swatch\" viewBox=\"0 0 26 8\" aria-hidden=\"true\">"
          "<path d=\"M1 4H25\" stroke=\"",
          out);
    report_print_colour(out, run->identity);
    fprintf(out, "\" stroke-width=\"3\" stroke-dasharray=\"%s\"/></svg>",
            palette_dashes(run->identity));
}
