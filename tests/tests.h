/* What every test file has: a suite, perhaps cases, tests, and lists to go through. Suites,
 * cases and tests add themselves when the program starts, and belong to what stands above them.
 */
#ifndef LINNET_TESTS_H
#define LINNET_TESTS_H

#include <check.h>
#include <stdbool.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* A suite with a case of the same name, a case, or a test. */
typedef struct TestPart {
    TTest test; /* has the name, file and line; a function, if it is a test */
    bool is_suite;
    /* of the tests of a case: */
    bool folder; /* the scratch directory, empty before each test */
    void (*set_up)(void), (*tear_down)(void); /* called in the process of each test */
    /* of a test: */
    int status;   /* with which it must exit */
    int from, to; /* the values of _i that it runs with */
    struct TestPart *next;
} TestPart;

void test_part_add(TestPart *part);

#define TEST_PART(id, ...)                                                            \
    __attribute__((constructor)) static void add_##id(void)                           \
    {                                                                                 \
        static TestPart part;                                                         \
        part = (TestPart){.test.file = __FILE__, .test.line = __LINE__, __VA_ARGS__}; \
        test_part_add(&part);                                                         \
    }                                                                                 \
    struct TestPart

/* SUITE("name", .folder = true); the same for CASE. */
#define SUITE(...)            TEST_PART(suite, .is_suite = true, .test.name = __VA_ARGS__)
#define CASE(...)             CASE_AT(__LINE__, __VA_ARGS__)
#define CASE_AT(line, ...)    CASE_NAMED(line, __VA_ARGS__)
#define CASE_NAMED(line, ...) TEST_PART(case_##line, .test.name = __VA_ARGS__)

/* TEST(sentence) { ... } */
#define TEST(sentence)                    LOOP_TEST(sentence, 0, 1)
#define LOOP_TEST(sentence, first, after) TEST_WITH(sentence, .from = (first), .to = (after))
#define EXIT_TEST(sentence, code)         TEST_WITH(sentence, .status = (code), .to = 1)
#define TEST_WITH(sentence, ...)                                                   \
    static void sentence(int _i);                                                  \
    TEST_PART(sentence, .test.name = #sentence, .test.fn = sentence, __VA_ARGS__); \
    static void sentence(int _i CK_ATTRIBUTE_UNUSED)

#endif
