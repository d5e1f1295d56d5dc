/* For "make dist" alone: what glibc 2.33 and 2.34 moved or renamed, under the names of older
 * ones.
 *
 * A program refers to the version that a function of glibc had when the program was linked.
 * Of all that linnet calls, only the functions below have a newer one than glibc 2.31, with the
 * same arguments and effect. Linked with this file, linnet runs wherever these older versions
 * exist, which is everywhere: glibc keeps them. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Declares old_NAME, the oldest version of a function on x86-64. */
#define OLD(type, name, ...)      \
    type old_##name(__VA_ARGS__); \
    __asm__(".symver old_" #name "," #name "@GLIBC_2.2.5")

OLD(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
OLD(int, pthread_join, pthread_t, void **);
OLD(int, pthread_once, pthread_once_t *, void (*)(void));
OLD(int, pthread_key_create, pthread_key_t *, void (*)(void *));
OLD(int, pthread_setspecific, pthread_key_t, const void *);
OLD(void *, pthread_getspecific, pthread_key_t);

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    return old_pthread_create(thread, attributes, run, argument);
}

int pthread_join(pthread_t thread, void **result)
{
    return old_pthread_join(thread, result);
}

int pthread_once(pthread_once_t *once, void (*run)(void))
{
    return old_pthread_once(once, run);
}

int pthread_key_create(pthread_key_t *key, void (*destroy)(void *))
{
    return old_pthread_key_create(key, destroy);
}

int pthread_setspecific(pthread_key_t key, const void *value)
{
    return old_pthread_setspecific(key, value);
}

void *pthread_getspecific(pthread_key_t key)
{
    return old_pthread_getspecific(key);
}

/* Headers of older versions called functions of other names; the system calls are the same. */
int stat(const char *restrict path, struct stat *restrict found)
{
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, found, 0);
}

int fstat(int file, struct stat *found)
{
    return (int)syscall(SYS_fstat, file, found);
}

/* Called before main. Programs have neither `init` nor `fini` of their own. */
typedef int Main(int, char **, char **);
OLD(int, __libc_start_main, Main *, int, char **, void (*)(void), void (*)(void),
    void (*)(void), void *);
int __libc_start_main(Main *, int, char **, void (*)(void), void (*)(void), void (*)(void),
                      void *);

int __libc_start_main(Main *start, int count, char **arguments, void (*init)(void),
                      void (*fini)(void), void (*end)(void), void *stack)
{
    return old___libc_start_main(start, count, arguments, init, fini, end, stack);
}
