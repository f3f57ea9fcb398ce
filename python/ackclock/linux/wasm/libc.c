#include "libc.h"

/* Memory is taken from pages that are added for it, and never given back: a flow allocates a few times. */
void *malloc(size_t n) {
  static char *top, *end;
  n = (n + 15) & ~(size_t)15;
  if ((size_t)(end - top) < n) {
    size_t pages = (n + 65535) / 65536, at = __builtin_wasm_memory_grow(0, pages);
    if (at == (size_t)-1) return 0;
    top = (char *)(at * 65536);
    end = top + pages * 65536;
  }
  top += n;
  return top - n;
}
void free(void *p) { (void)p; }
void *calloc(size_t count, size_t size) {
  void *p = malloc(count * size);
  return p ? memset(p, 0, count * size) : 0;
}

__attribute__((no_builtin)) void *memset(void *to, int c, size_t n) {
  unsigned char *p = to;
  while (n--) *p++ = c;
  return to;
}
__attribute__((no_builtin)) void *memcpy(void *to, const void *from, size_t n) {
  unsigned char *p = to;
  const unsigned char *q = from;
  while (n--) *p++ = *q++;
  return to;
}
size_t strlen(const char *s) {
  size_t n = 0;
  while (s[n]) n++;
  return n;
}
int strcmp(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return (unsigned char)*a - (unsigned char)*b;
}
char *strstr(const char *text, const char *part) {
  for (; *text; text++) {
    size_t n = 0;
    while (part[n] && text[n] == part[n]) n++;
    if (!part[n]) return (char *)text;
  }
  return 0;
}
char *strdup(const char *s) {
  char *copy = malloc(strlen(s) + 1);
  return copy ? memcpy(copy, s, strlen(s) + 1) : 0;
}
char *strsep(char **s, const char *delimiters) { (void)s, (void)delimiters; return 0; }
int snprintf(char *to, size_t n, const char *format, ...) {
  (void)format;
  if (n) *to = 0;
  return 0;
}

void __wasm_call_ctors(void);
__attribute__((export_name("_initialize"))) void _initialize(void) { __wasm_call_ctors(); }
