/*
 * async_text.c - digits and dates without printf(3) and gmtime(3), which are not safe
 * in a signal handler.
 */
#include "util/async_text.h"

#define DAY_S 86400

char *async_text(char *to, const char *text)
{
    while (*text)
        *to++ = *text++;
    return to;
}

static char *digits(char *to, uint64_t number, int at_least)
{
    char reversed[ASYNC_NUMBER_MAX];
    int n = 0;

    do
        reversed[n++] = (char)('0' + number % 10);
    while ((number /= 10) > 0 || n < at_least);
    while (n > 0)
        *to++ = reversed[--n];
    return to;
}

char *async_number(char *to, uint64_t number)
{
    return digits(to, number, 1);
}

static int year_days(int year)
{
    return 365 + (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
}

static int month_days(int year, int month)
{
    static const char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return days[month] + (month == 1 && year_days(year) == 366);
}

char *async_time(char *to, int64_t unix_s)
{
    int64_t days = unix_s > 0 ? unix_s / DAY_S : 0,
            rest = unix_s > 0 ? unix_s % DAY_S : 0;
    int year = 1970, month = 0;

    for (; year < 9999 && days >= year_days(year); year++)
        days -= year_days(year);
    for (; month < 11 && days >= month_days(year, month); month++)
        days -= month_days(year, month);
    to = async_text(digits(to, (uint64_t)year, 4), "-");
    to = async_text(digits(to, (uint64_t)month + 1, 2), "-");
    to = async_text(digits(to, (uint64_t)days + 1, 2), "T");
    to = async_text(digits(to, (uint64_t)rest / 3600, 2), ":");
    to = async_text(digits(to, (uint64_t)rest / 60 % 60, 2), ":");
    return async_text(digits(to, (uint64_t)rest % 60, 2), "Z");
}
