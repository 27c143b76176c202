/* _calls_other.h: a function of another folder. */
#ifndef TESTS_ROWS_CALLS_OTHER_H
#define TESTS_ROWS_CALLS_OTHER_H

int other(int x);

#endif
