/* What a program tells the simulated processor that it runs on (benchmarks/instructions.py). */

#include <valgrind/callgrind.h>

void begin(void)
{
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
}

void end(void)
{
    CALLGRIND_STOP_INSTRUMENTATION;
}

/* Write down what was executed since the last time, under a name. */
void passed(const char *name)
{
    CALLGRIND_DUMP_STATS_AT(name);
}
