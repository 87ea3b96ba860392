/**
 * Counts what a thread asks of malloc(), calloc() and realloc(), in this program and in the libraries below it. To be
 * included by one file of a test program. Where COUNTS is 0 a sanitizer brings its own malloc() and nothing is counted.
 */
#ifndef KR_COUNT_ALLOCATIONS_H
#define KR_COUNT_ALLOCATIONS_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS 0
#else
#define COUNTS 1
#endif

static _Thread_local size_t allocations;

#if COUNTS
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t cnt, size_t size);
extern void *__libc_realloc(void *old, size_t size);

#pragma GCC visibility push(default) /* or the libraries would go on using their own */

void *malloc(size_t size)
{
        allocations++;
        return __libc_malloc(size);
}

void *calloc(size_t cnt, size_t size)
{
        allocations++;
        return __libc_calloc(cnt, size);
}

void *realloc(void *old, size_t size)
{
        allocations++;
        return __libc_realloc(old, size);
}

#pragma GCC visibility pop
#endif

#endif
