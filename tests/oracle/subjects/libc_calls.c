// libc's everyday code: strings, stdio, malloc, sorting with callbacks,
// regular expressions, numbers.

#include <locale.h>
#include <regex.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <wchar.h>

static char from[5000];
static char to[5000];

// Short, long, and everything that vector code treats apart.
static size_t call_strings(void) {
  static const size_t sizes[] = {0,  1,  3,  7,   8,   15,  16,   31,  32,
                                 33, 63, 64, 127, 128, 255, 1000, 4099};
  size_t sum = 0;
  for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); ++i) {
    const size_t size = sizes[i];
    memset(from, 'a' + (int)(i % 20), size);
    from[size] = 0;
    memcpy(to, from, size + 1);
    memmove(to + 1, to, size);
    sum += strlen(from) + (size_t)(memcmp(from, to, size) != 0);
    sum += strnlen(from, 100) + (strchr(from, 'z') != NULL);
    sum += (strrchr(from, 'a') != NULL) + (memchr(from, 0, size + 1) != NULL);
    sum += (size_t)(strcmp(from, to) < 0) + (size_t)strncmp(from, to, size / 2);
    sum += (size_t)(strcasecmp(from, to) == 0) + strspn(from, "abc");
    sum += strcspn(from, "xyz") + (strstr(from, "bcb") != NULL);
    strncpy(to, from, sizeof(to) / 50);
    stpcpy(to, "end");
  }
  return sum;
}

static int compare(const void* a, const void* b) {
  return *(const int*)a - *(const int*)b;
}

static int compare_strings(const void* a, const void* b) {
  return strcoll(*(const char* const*)a, *(const char* const*)b);
}

static int visited;
static void visit(const void* node, VISIT order, int depth) {
  visited += node != NULL && order == leaf && depth > 0;
}

static void sort_and_search(void) {
  int numbers[40];
  void* tree = NULL;
  for (int i = 0; i < 40; ++i) numbers[i] = i * 7919 % 101;
  for (int i = 0; i < 10; ++i) tsearch(&numbers[i], &tree, compare);
  twalk(tree, visit);
  while (tree != NULL) tdelete(*(int**)tree, &tree, compare);
  qsort(numbers, 40, sizeof(int), compare);
  if (bsearch(&numbers[3], numbers, 40, sizeof(int), compare) == NULL) abort();
  const char* words[] = {"pear", "apple", "fig", "date", "cherry"};
  qsort(words, 5, sizeof(*words), compare_strings);
}

static void allocate(void) {
  void* blocks[32];
  for (size_t i = 0; i < 32; ++i) blocks[i] = malloc(24 << (i % 12));
  for (size_t i = 0; i < 32; i += 2) free(blocks[i]);
  for (size_t i = 1; i < 32; i += 2) blocks[i] = realloc(blocks[i], 50 * i);
  for (size_t i = 1; i < 32; i += 2) free(blocks[i]);
  free(calloc(1000, 300));  // of its own mapping
  free(aligned_alloc(256, 1024));
}

static void format_and_scan(void) {
  char text[200];
  int number = 0;
  double real = 0;
  snprintf(text, sizeof(text), "%5d %-8s %.3f %lx %e %c", 42, "text", 3.25,
           255L, 1e100, 'c');
  if (sscanf("17 2.5 word", "%d %lf %199s", &number, &real, text) != 3) abort();
  FILE* file = tmpfile();
  if (file == NULL) abort();
  fprintf(file, "%d lines\n%s\n", number, text);
  rewind(file);
  while (fgets(text, sizeof(text), file) != NULL) number += text[0];
  fclose(file);
  wchar_t wide[20];
  mbstowcs(wide, "wide \xc3\xa4", 20);
  const time_t now = 1700000000;
  struct tm broken;
  strftime(text, sizeof(text), "%A %c", gmtime_r(&now, &broken));
  number += (int)strtol("0x1f", NULL, 0) + (int)strtod("1.25e3", NULL);
}

static void match(void) {
  regex_t expression;
  regmatch_t groups[3];
  if (regcomp(&expression, "([a-z]+)=([0-9]{1,3})*x", REG_EXTENDED) != 0) {
    abort();
  }
  regexec(&expression, "some text with key=123x in it", 3, groups, 0);
  regfree(&expression);
}

int main(void) {
  setlocale(LC_ALL, "C.UTF-8");
  size_t sum = call_strings();
  sort_and_search();
  allocate();
  format_and_scan();
  match();
  return sum == 1;
}
