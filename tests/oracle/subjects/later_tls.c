// Loaded while the program runs, and so with dynamic thread-local storage.

static __thread int number;

int next_number(void) { return ++number; }
