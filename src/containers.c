/* The one place where stb_ds is compiled. */
#define STB_DS_IMPLEMENTATION
#include "src/containers.h"
