#include "src/about.h"

const AboutItem about_kernels = {
    "OPENBLAS_CORETYPE",
    "the processor whose kernels OpenBLAS is to use for matrix products. Where the processor "
    "has AVX-512, kernels of linnet's own take their place unless this is set"};

const AboutItem about_colour = {
    "NO_COLOR", "if this is not empty, nothing is coloured; nor is it where TERM is dumb"};

const AboutItem about_terminal_size = {
    "COLUMNS, LINES", "the size of the output where it is not a terminal: 80 by 24 otherwise"};

const AboutItem about_locale = {
    "LC_ALL, LC_CTYPE, LANG",
    "the first that is set decides: if it names UTF-8, charts are drawn with its characters, "
    "otherwise in ASCII"};
