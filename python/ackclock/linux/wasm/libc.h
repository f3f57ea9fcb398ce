/* The few functions of C that modules use, for WebAssembly without imports. */
#ifndef MINI_LIBC_H
#define MINI_LIBC_H
#include <stddef.h>

#define EPERM 1
#define ENOENT 2
#define ENOMEM 12
#define EBUSY 16
#define EEXIST 17
#define EINVAL 22
#define ERANGE 34

void *malloc(size_t);
void *calloc(size_t, size_t);
void free(void *);
void *memset(void *, int, size_t);
void *memcpy(void *, const void *, size_t);
size_t strlen(const char *);
int strcmp(const char *, const char *);
char *strstr(const char *, const char *);
char *strdup(const char *);
int snprintf(char *, size_t, const char *, ...);
static inline int abs(int x) { return x < 0 ? -x : x; }
#endif
