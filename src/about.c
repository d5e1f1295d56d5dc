#include "src/about.h"

const AboutItem about_kernels = {
    "OPENBLAS_CORETYPE",
    "the processor type whose OpenBLAS kernels are used for matrix products. Unless it is set, "
    "linnet uses its own kernels on processors with AVX-512"};

const AboutItem about_colour = {
    "NO_COLOR", "if not empty, output has no colours; the same if TERM is dumb"};

const AboutItem about_terminal_size = {
    "COLUMNS, LINES", "the size of output that does not go to a terminal; 80 by 24 if unset"};

const AboutItem about_locale = {
    "LC_ALL, LC_CTYPE, LANG",
    "the first of these that is set decides whether charts use UTF-8 characters or ASCII"};
