// _count_throw.h: functions of a library of C++.
#ifndef TESTS_RUNTIME_COUNT_THROW_H
#define TESTS_RUNTIME_COUNT_THROW_H

void throw_if(bool now, const char *what);
int between(int i);

#endif
