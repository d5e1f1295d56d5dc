#include "eval/inspect/views.h"
#include "eval/show/markup.h"

#include <stdlib.h>

enum {
    WORD = 40, /* letters */
    STRONGEST = 4,
    SMALL_WORDS = 20 /* more need a larger map */
};

/* A map is small until its link makes it the target; then it is wide and shows its words. */
static const char style[] =
    ":root{color-scheme:light dark;--paper:#fff;--ink:#222;--pale:#666;--line:#ddd;"
    "--link:#0a5fa5}"
    "@media(prefers-color-scheme:dark){:root{--paper:#15181c;--ink:#ddd;--pale:#999;"
    "--line:#333;--link:#62bdf5}}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;max-width:78rem;padding:2rem 1.25rem 4rem;background:var(--paper);"
    "color:var(--ink);font:16px/1.5 system-ui,sans-serif}"
    "h1{font-size:1.6rem;line-height:1.25;margin:0;overflow-wrap:anywhere}h2{font-size:1.2rem;"
    "margin:2.5rem 0 .5rem}"
    "p{max-width:44rem;margin:.5rem 0}.pale{color:var(--pale)}a{color:var(--link)}"
    ".wide{overflow-x:auto}"
    "table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}"
    "th{text-align:left;font-weight:600;border-bottom:1px solid var(--line)}"
    "th,td{padding:.2rem .9rem .2rem 0;vertical-align:top;white-space:nowrap}"
    "th.n,td.n{text-align:right}td.list{white-space:normal;min-width:13rem}"
    ".entry{display:inline-block;margin-right:.7rem;white-space:nowrap}"
    ".bar{display:inline-block;height:.6em;background:var(--link);border-radius:1px}"
    ".track{display:inline-block;width:5rem;margin-left:.6rem;text-align:left}"
    ".maps{display:grid;gap:1.5rem;margin-top:1rem;"
    "grid-template-columns:repeat(auto-fill,minmax(min(100%,17rem),1fr))}"
    ".maps section{min-width:0;overflow-x:auto;scroll-margin-top:1rem}"
    ".maps .map{display:block;width:100%;height:auto}"
    ".maps section:target{grid-column:1/-1}"
    ".maps section:target .map{width:auto;max-width:none}"
    ".links{font-size:.85rem}.maps section:not(:target) .smaller,"
    ".maps section:target .larger{display:none}"
    /* On a narrow screen a row's list goes below the row. */
    "@media(max-width:40rem){body{padding:1.25rem .9rem 3rem}.track{display:none}"
    "table,tbody{display:block}tr{display:grid;column-gap:.6rem;padding:.25rem 0;"
    "border-bottom:1px solid var(--line)}th,td{padding:0;border:0;min-width:0;"
    "white-space:normal;overflow-wrap:anywhere}"
    ".tokens tr{grid-template-columns:2rem 1fr 1fr 6.3rem 2.8rem}"
    ".heads tr{grid-template-columns:2.8rem 2.6rem 1fr 4rem 4.3rem}.list{grid-column:2/-1}}"
    ".maps h3{font-size:.95rem;margin:0 0 .25rem}"
    ".maps.many section:not(:target) .map text{display:none}"
    "@media print{.links{display:none}}";

static void print_and_free(FILE *out, char *text)
{
    markup_print(out, text);
    free(text);
}

static void print_token(FILE *out, const Inspection *inspection, size_t i)
{
    print_and_free(out, inspection_token(inspection, i, WORD, true));
}

/* An entry of a list: a word and its weight or probability. */
static void print_entry(FILE *out, char *word, double value)
{
    fprintf(out, "<span class=\"entry\">");
    print_and_free(out, word);
    fprintf(out, " <span class=\"pale\">");
    print_and_free(out, inspection_value(value));
    fprintf(out, "</span></span> ");
}

static void print_head_of_page(FILE *out, const InspectPage *page)
{
    const Inspection *inspection = page->inspection;
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>");
    markup_print(out, page->run);
    fprintf(out, ": attention</title>\n<style>%s%s</style>\n</head>\n<body>\n<h1>", style,
            heatmap_style);
    markup_print(out, page->run);
    fprintf(out, "</h1>\n<p class=\"pale\">");
    print_and_free(out, config_attention(&inspection->model->config));
    fprintf(out, ", %zu layers of %zu heads; %zu tokens read", inspection->model->config.layers,
            inspection->model->config.heads, inspection->read);
    if (inspection->rest)
        fprintf(out, ", the last %zu shown", inspection->shown);
    fprintf(out, "</p>\n");
}

/* --- predictions --- */

static void print_prediction(FILE *out, const Inspection *inspection, size_t i)
{
    const Prediction *prediction = &inspection->predictions[i];
    fprintf(out, "<tr><td class=\"n pale\">%zu</td><td>", inspection_number(inspection, i));
    print_token(out, inspection, i);
    fprintf(out, "</td><td>");
    if (prediction->rank > 0) {
        print_token(out, inspection, i + 1);
        fprintf(out, "</td><td class=\"n\">");
        fprintf(out, prediction->probability < 5e-5 ? "%.0e" : "%.4f", prediction->probability);
        fprintf(out,
                "<span class=\"track\"><span class=\"bar\" style=\"width:%.1f%%\"></span>"
                "</span></td><td class=\"n\">%zu</td>",
                100 * prediction->probability, prediction->rank);
    } else {
        fprintf(out, "</td><td></td><td></td>");
    }
    fprintf(out, "<td class=\"list\">");
    for (size_t g = 0; g < inspection->guesses; g++)
        print_entry(out, inspection_word(inspection, prediction->best[g].id, WORD, true),
                    prediction->best[g].probability);
    fprintf(out, "</td></tr>\n");
}

static void print_predictions(FILE *out, const Inspection *inspection)
{
    fputs(
        "<h2>Next-token predictions</h2>\n"
        "<p>For each token: the one that follows it in the text, its probability and its rank "
        "in the vocabulary, and the likeliest tokens.</p>\n"
        "<div class=\"wide\"><table class=\"tokens\">\n<tr><th class=\"n\">#</th>"
        "<th>token</th><th>followed by</th><th class=\"n\">probability</th>"
        "<th class=\"n\">rank</th><th class=\"list\">likeliest</th></tr>\n",
        out);
    for (size_t i = 0; i < inspection->shown; i++)
        print_prediction(out, inspection, i);
    fprintf(out, "</table></div>\n");
}

/* --- attention --- */

static void print_head_row(FILE *out, const Inspection *inspection, const HeadView *view)
{
    size_t last = inspection->shown - 1, columns[STRONGEST];
    size_t count = inspection_strongest(inspection, view, last, columns, STRONGEST);
    fprintf(out,
            "<tr><td class=\"n\"><a href=\"#l%zuh%zu\">%zu</a></td><td class=\"n\">%zu</td>"
            "<td>%s</td><td class=\"n\">%.2f</td><td class=\"n\">%.1f</td><td class=\"list\">",
            view->layer + 1, view->head + 1, view->layer + 1, view->head + 1, view->kind->name,
            view->entropy, view->distance);
    for (size_t k = 0; k < count; k++)
        print_entry(out, inspection_place(inspection, columns[k], WORD, true),
                    (double)view->weights[last * inspection->columns + columns[k]]);
    fprintf(out, "</td></tr>\n");
}

static void print_heads(FILE *out, const Inspection *inspection)
{
    fputs(
        "<h2>Attention heads</h2>\n"
        "<p>Means over the text: the entropy of a token's weights in nats, and the weighted "
        "distance of the tokens it attends to.</p>\n"
        "<div class=\"wide\"><table class=\"heads\">\n<tr><th class=\"n\">layer</th>"
        "<th class=\"n\">head</th><th>kind</th><th class=\"n\">entropy</th>"
        "<th class=\"n\">distance</th><th class=\"list\">the last token attends to</th></tr>\n",
        out);
    for (size_t i = 0; i < inspection->head_count; i++)
        print_head_row(out, inspection, &inspection->heads[i]);
    fprintf(out, "</table></div>\n");
}

static void print_maps(FILE *out, const Inspection *inspection)
{
    fprintf(
        out,
        "<h2 id=\"maps\">Attention weights</h2>\n<p>A row for each token, a column for each "
        "token it attends to. Hover over a square to see its weight. Kinds without softmax "
        "never compute these weights; shown are the effective weights of their state, which "
        "may be negative (orange) and need not sum to 1.</p>\n<div class=\"maps%s\">\n",
        inspection->columns > SMALL_WORDS ? " many" : "");
    for (size_t i = 0; i < inspection->head_count; i++) {
        const HeadView *view = &inspection->heads[i];
        fprintf(out, "<section id=\"l%zuh%zu\">\n<h3>", view->layer + 1, view->head + 1);
        print_and_free(out, inspection_title(view));
        fprintf(out, "</h3>\n");
        heatmap_print(out, inspection, view);
        fprintf(out,
                "<div class=\"links\"><a class=\"larger\" href=\"#l%zuh%zu\">larger</a>"
                "<a class=\"smaller\" href=\"#maps\">smaller</a></div>\n</section>\n",
                view->layer + 1, view->head + 1);
    }
    fprintf(out, "</div>\n");
}

void inspect_print_page(FILE *out, const void *content)
{
    const InspectPage *page = content;
    print_head_of_page(out, page);
    print_predictions(out, page->inspection);
    print_heads(out, page->inspection);
    print_maps(out, page->inspection);
    fprintf(out, "</body>\n</html>\n");
}
