#include "eval/inspect/views.h"
#include "eval/show/markup.h"

#include <stdlib.h>

enum { WORD = 40, STRONGEST = 4 }; /* letters; tokens */

/* Of one model, maps have the size at which their words are read well, --map wide, or less
 * where the screen has no room. Those of several models stand side by side down to two thirds
 * of it, at which letters are 9 pixels high, and below each other where that does not fit. The
 * link below a map makes it the target, which is larger. */
static const char style[] =
    ":root{color-scheme:light dark;--paper:#fff;--ink:#222;--pale:#666;--line:#ddd;"
    "--link:#0a5fa5}"
    "@media(prefers-color-scheme:dark){:root{--paper:#15181c;--ink:#ddd;--pale:#999;"
    "--line:#333;--link:#62bdf5}}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;max-width:100rem;padding:2rem 1.25rem 4rem;background:var(--paper);"
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
    ".maps,.pair{display:grid;gap:1.5rem;margin-top:1rem;"
    "grid-template-columns:repeat(auto-fill,minmax(min(100%,var(--map)),1fr))}"
    ".pair{grid-template-columns:repeat(auto-fit,minmax(min(100%,calc(var(--map)*.66)),1fr))}"
    "section{min-width:0;overflow-x:auto;scroll-margin-top:1rem}"
    ".maps .map,.pair "
    ".map{display:block;width:100%;max-width:calc(var(--map)*1.25);height:auto}"
    "section:target{grid-column:1/-1}"
    "section:target .map{width:calc(var(--map)*1.6);max-width:none}"
    ".tables{display:grid;gap:0 2.5rem;"
    "grid-template-columns:repeat(auto-fit,minmax(min(100%,34rem),1fr))}"
    ".tables section{min-width:0}"
    ".links{font-size:.85rem}section:not(:target) .smaller,"
    "section:target .larger{display:none}"
    "h3{font-size:.95rem;margin:.75rem 0 .25rem;overflow-wrap:anywhere}"
    "th.model{padding-top:.4rem;border:0}.two td.list,.two th.list{min-width:9rem}"
    "@media(max-width:75rem){.two .track{display:none}"
    ".two th,.two td{padding-right:.5rem}}"
    /* On a narrow screen a row's list goes below the row. */
    "@media(max-width:40rem){body{padding:1.25rem .9rem 3rem}.track{display:none}"
    "table,tbody{display:block}tr{display:grid;column-gap:.6rem;padding:.25rem 0;"
    "border-bottom:1px solid var(--line)}th,td{padding:0;border:0;min-width:0;"
    "white-space:normal;overflow-wrap:anywhere}"
    ".tokens tr{grid-template-columns:2rem 1fr 1fr 6.3rem 2.8rem}"
    ".heads tr{grid-template-columns:2.8rem 2.6rem 1fr 4rem 4.8rem}.list{grid-column:2/-1}"
    ".two .later{grid-column:4}.two th.model{grid-column:2/-1}"
    ".two th.later,.two th.later~th{display:none}}"
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

static void print_names(FILE *out, const Inspections *all)
{
    for (size_t m = 0; m < all->count; m++) {
        fputs(m ? " and " : "", out);
        markup_print(out, all->runs[m]);
    }
}

static void print_head_of_page(FILE *out, const Inspections *all)
{
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>");
    print_names(out, all);
    fprintf(out, ": attention</title>\n<style>%s%s</style>\n</head>\n<body>\n<h1>", style,
            heatmap_style);
    print_names(out, all);
    fprintf(out, "</h1>\n");
    for (size_t m = 0; m < all->count; m++) {
        const Inspection *inspection = &all->each[m];
        fprintf(out, "<p class=\"pale\">");
        if (inspection->label) {
            markup_print(out, inspection->label);
            fprintf(out, ": ");
        }
        print_and_free(out, config_attention(&inspection->model->config));
        fprintf(out, ", %zu layers of %zu heads; %zu tokens read",
                inspection->model->config.layers, inspection->model->config.heads,
                inspection->read);
        if (inspection->rest)
            fprintf(out, ", the last %zu shown", inspection->shown);
        fprintf(out, "</p>\n");
    }
}

/* --- predictions --- */

/* The cells of one model; those of a second one may have to go below. */
static void print_prediction(FILE *out, const Inspection *inspection, size_t i, bool later)
{
    const Prediction *prediction = &inspection->predictions[i];
    fprintf(out, "<td class=\"n%s\">", later ? " later" : "");
    if (prediction->rank > 0)
        fprintf(out, prediction->probability < 5e-5 ? "%.0e" : "%.4f", prediction->probability);
    if (prediction->rank > 0)
        fprintf(out,
                "<span class=\"track\"><span class=\"bar\" style=\"width:%.1f%%\"></span>"
                "</span></td><td class=\"n\">%zu</td>",
                100 * prediction->probability, prediction->rank);
    else
        fprintf(out, "</td><td></td>");
    fprintf(out, "<td class=\"list\">");
    for (size_t g = 0; g < inspection->guesses; g++)
        print_entry(out, inspection_word(inspection, prediction->best[g].id, WORD, true),
                    prediction->best[g].probability);
    fprintf(out, "</td>");
}

static void print_token_row(FILE *out, const Inspections *all, size_t i)
{
    const Inspection *first = all->each;
    fprintf(out, "<tr><td class=\"n pale\">%zu</td><td>", inspection_number(first, i));
    print_token(out, first, i);
    fprintf(out, "</td><td>");
    if (i + 1 < first->shown)
        print_token(out, first, i + 1);
    fprintf(out, "</td>");
    for (size_t m = 0; m < all->count; m++)
        print_prediction(out, &all->each[m], i, m > 0);
    fprintf(out, "</tr>\n");
}

static void print_token_titles(FILE *out, const Inspections *all)
{
    if (all->count > 1)
        fprintf(out, "<tr><th class=\"model\" colspan=\"3\"></th>");
    for (size_t m = 0; all->count > 1 && m < all->count; m++) {
        fprintf(out, "<th class=\"model\" colspan=\"3\">");
        markup_print(out, all->runs[m]);
        fprintf(out, "</th>");
    }
    fprintf(out, "%s<tr><th class=\"n\">#</th><th>token</th><th>followed by</th>",
            all->count > 1 ? "</tr>\n" : "");
    for (size_t m = 0; m < all->count; m++)
        fprintf(out,
                "<th class=\"n%s\">probability</th><th class=\"n\">rank</th>"
                "<th class=\"list\">likeliest</th>",
                m > 0 ? " later" : "");
    fprintf(out, "</tr>\n");
}

static void print_predictions(FILE *out, const Inspections *all)
{
    fprintf(out,
            "<h2>Next-token predictions</h2>\n"
            "<p>For each token: the one that follows it in the text, its probability and its "
            "rank in the vocabulary, and the likeliest tokens.</p>\n"
            "<div class=\"wide\"><table class=\"tokens%s\">\n",
            all->count > 1 ? " two" : "");
    print_token_titles(out, all);
    for (size_t i = 0; i < all->each->shown; i++)
        print_token_row(out, all, i);
    fprintf(out, "</table></div>\n");
}

/* --- attention --- */

/* The anchor of a map: "m1l2h1" is head 1 in layer 2 of the first model. */
static void print_anchor(FILE *out, size_t model, const HeadView *view)
{
    fprintf(out, "m%zul%zuh%zu", model + 1, view->layer + 1, view->head + 1);
}

static void print_head_row(FILE *out, const Inspection *inspection, size_t model,
                           const HeadView *view)
{
    size_t last = inspection->shown - 1, columns[STRONGEST];
    size_t count = inspection_strongest(inspection, view, last, columns, STRONGEST);
    fprintf(out, "<tr><td class=\"n\"><a href=\"#");
    print_anchor(out, model, view);
    fprintf(out,
            "\">%zu</a></td><td class=\"n\">%zu</td>"
            "<td>%s</td><td class=\"n\">%.2f</td><td class=\"n\">%.1f</td><td class=\"list\">",
            view->layer + 1, view->head + 1, view->kind->name, view->entropy, view->distance);
    for (size_t k = 0; k < count; k++)
        print_entry(out, inspection_place(inspection, columns[k], WORD, true),
                    (double)view->weights[last * inspection->columns + columns[k]]);
    fprintf(out, "</td></tr>\n");
}

static void print_label(FILE *out, const Inspection *inspection)
{
    if (!inspection->label)
        return;
    fprintf(out, "<h3>");
    markup_print(out, inspection->label);
    fprintf(out, "</h3>\n");
}

static void print_heads(FILE *out, const Inspections *all)
{
    fputs("<h2>Attention heads</h2>\n"
          "<p>Means over the text: the entropy of a token's weights in nats, and the weighted "
          "distance of the tokens it attends to.</p>\n<div class=\"tables\">\n",
          out);
    for (size_t m = 0; m < all->count; m++) {
        const Inspection *inspection = &all->each[m];
        fputs("<section>\n", out);
        print_label(out, inspection);
        fputs("<div class=\"wide\"><table class=\"heads\">\n<tr><th class=\"n\">layer</th>"
              "<th class=\"n\">head</th><th>kind</th><th class=\"n\">entropy</th>"
              "<th class=\"n\">distance</th><th class=\"list\">the last token attends to</th>"
              "</tr>\n",
              out);
        for (size_t i = 0; i < inspection->head_count; i++)
            print_head_row(out, inspection, m, &inspection->heads[i]);
        fprintf(out, "</table></div>\n</section>\n");
    }
    fprintf(out, "</div>\n");
}

/* Why weights are negative: a sentence for each kind of the model that has such. */
static void print_reasons(FILE *out, const Inspection *inspection)
{
    for (size_t i = 0; i < inspection->head_count; i++) {
        const HeadView *view = &inspection->heads[i];
        const char *why = inspection_why_negative(inspection, view);
        for (size_t j = 0; why && j < i; j++)
            if (inspection->heads[j].kind == view->kind &&
                inspection_why_negative(inspection, &inspection->heads[j]))
                why = NULL;
        if (why)
            fprintf(out, "<p class=\"why\">Negative weights of %s are orange. %s</p>\n",
                    view->kind->name, why);
    }
}

static void print_map(FILE *out, const Inspection *inspection, size_t model,
                      const HeadView *view)
{
    fprintf(out, "<section id=\"");
    print_anchor(out, model, view);
    fprintf(out, "\">\n<h3>");
    print_and_free(out, inspection_title(inspection, view, true));
    fprintf(out, "</h3>\n");
    heatmap_print(out, inspection, view);
    fprintf(out, "<div class=\"links\"><a class=\"larger\" href=\"#");
    print_anchor(out, model, view);
    fprintf(out, "\">larger</a><a class=\"smaller\" href=\"#maps\">smaller</a></div>\n"
                 "</section>\n");
}

/* Those of several models, side by side: the same layer and head. */
static void print_maps(FILE *out, const Inspections *all)
{
    fputs("<h2 id=\"maps\">Attention weights</h2>\n<p>A row for each token, a column for each "
          "token it attends to. Hover over a square to see its weight. Kinds without softmax "
          "never compute these weights; shown are the effective weights of their state, which "
          "need not sum to 1.</p>\n",
          out);
    for (size_t m = 0; m < all->count; m++)
        print_reasons(out, &all->each[m]);
    fprintf(out, "<div%s style=\"--map:%zupx\">\n", all->count > 1 ? "" : " class=\"maps\"",
            heatmap_width(all->each));
    for (size_t i = 0; i < inspections_heads(all); i++) {
        fputs(all->count > 1 ? "<div class=\"pair\">\n" : "", out);
        for (size_t m = 0; m < all->count; m++)
            if (i < all->each[m].head_count)
                print_map(out, &all->each[m], m, &all->each[m].heads[i]);
        fputs(all->count > 1 ? "</div>\n" : "", out);
    }
    fprintf(out, "</div>\n");
}

void inspect_print_page(FILE *out, const void *all)
{
    print_head_of_page(out, all);
    print_predictions(out, all);
    print_heads(out, all);
    print_maps(out, all);
    fprintf(out, "</body>\n</html>\n");
}
