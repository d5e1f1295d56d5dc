/* Every test file hands main its suite. */
#ifndef LINNET_TESTS_H
#define LINNET_TESTS_H

#include <check.h>

Suite *attention_suite(void);
Suite *model_suite(void);
Suite *core_suite(void);
Suite *data_suite(void);
Suite *toy_suite(void);
Suite *safetensors_suite(void);
Suite *chart_suite(void);

#endif
