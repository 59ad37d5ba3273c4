/* Numbers with units: pl_unit_parse() reads them by the table units[], pl_unit_text() prints the
 * shortest text that reads back as the same number. */
#include "cluster/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SCALES = 12 };

// clang-format off
static const struct {
    const char *about;
    struct { const char *name; double factor, divisor; } scale[MOST_SCALES]; /* largest first;
                                                "": the base unit; the divisor 0 stands for 1 */
} units[PL_N_UNITS] = {
    [PL_UNIT_SHARE] = { "a share such as 0.7", { { "", 1 }, { "%", 1, 100 } } },
    [PL_UNIT_COUNT] = { "a number such as 128", { { "", 1 } } },
    [PL_UNIT_BYTES] = { "a size such as 16 GiB",
        { { "TiB", 0x1p40 }, { "TB", 1e12 }, { "GiB", 0x1p30 }, { "GB", 1e9 }, { "MiB", 0x1p20 },
          { "MB", 1e6 }, { "KiB", 0x1p10 }, { "KB", 1e3 }, { "B", 1 }, { "", 1 } } },
    [PL_UNIT_RATE] = { "a bandwidth such as 25 Gbit/s or 150 GB/s",
        { { "TB/s", 1e12 }, { "Tbit/s", 125e9 }, { "GB/s", 1e9 }, { "Gbit/s", 125e6 },
          { "MB/s", 1e6 }, { "Mbit/s", 125e3 }, { "KB/s", 1e3 }, { "B/s", 1 }, { "", 1 } } },
    [PL_UNIT_FLOPS] = { "flops per second such as 15.7 TFLOP/s",
        { { "PFLOP/s", 1e15 }, { "TFLOP/s", 1e12 }, { "GFLOP/s", 1e9 }, { "MFLOP/s", 1e6 },
          { "FLOP/s", 1 }, { "", 1 } } },
    [PL_UNIT_SECONDS] = { "a time such as 5 us",
        { { "s", 1 }, { "ms", 1, 1e3 }, { "us", 1, 1e6 }, { "ns", 1, 1e9 }, { "", 1 } } },
};
// clang-format on

const char *pl_unit_about(pl_unit unit)
{
    return units[unit].about;
}

/* In long double, and small units as divisors: 15.7 TFLOP/s is the double 15.7e12, 5 us is 5e-6. */
static double scaled(long double x, pl_unit u, int i)
{
    double d = units[u].scale[i].divisor;
    return (double)(x * units[u].scale[i].factor / (d > 0 ? d : 1));
}

bool pl_unit_parse(const char *text, pl_unit unit, double *value)
{
    size_t digits = strspn(text, "+-.0123456789"); /* not "nan", "inf", " 1"; then not "0x10" */
    char *end;
    long double v = strtold(text, &end);
    if (!digits || end == text || text[digits] == 'x' || text[digits] == 'X') return false;
    end += *end == ' ' && end[1];
    for (int i = 0; units[unit].scale[i].name; i++) {
        if (strcmp(end, units[unit].scale[i].name)) continue;
        *value = scaled(v, unit, i);
        return isfinite(*value);
    }
    return false;
}

/* The shortest number that with this unit gives the value; false when 17 digits do not. */
static bool print_in(char *out, size_t room, pl_unit unit, int i, double value)
{
    const char *name = units[unit].scale[i].name;
    for (int digits = 1; digits <= 17; digits++) {
        char number[40];
        double back;
        snprintf(number, sizeof number, "%.*g", digits, value / scaled(1, unit, i));
        double x = strtod(number, NULL);
        if (x >= 1 && x < 1e6 && strchr(number, 'e')) /* 1e+02: no digits after the point */
            snprintf(number, sizeof number, "%.0f", x);
        snprintf(out, room, "%s%s%s", number, *name ? " " : "", name);
        if (pl_unit_parse(out, unit, &back) && back == value) return true;
    }
    return false;
}

const char *pl_unit_text(pl_arena *arena, pl_unit unit, double value)
{
    char best[64] = "", text[64];
    bool large = false; /* is the number of the best at least 1 */
    for (int i = 0; units[unit].scale[i].name; i++) {
        const char *name = units[unit].scale[i].name;
        const bool is_large = value >= scaled(1, unit, i);
        if ((!*name && *best) || !strcmp(name, "%")) continue; /* a unit says more than none */
        if (!print_in(text, sizeof text, unit, i, value)) continue;
        if (*best && (is_large < large || (is_large == large && strlen(text) >= strlen(best))))
            continue;
        memcpy(best, text, sizeof best);
        large = is_large;
    }
    PL_ASSERT(*best); /* with factor 1, 17 digits always do */
    return pl_arena_text(arena, best);
}
