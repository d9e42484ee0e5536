// The hot loop's work.
#include "pays.h"

unsigned apply_scaled(struct state *state, unsigned value)
{
    return value * 3 + (state->last >> 2);
}

unsigned apply_saturating(struct state *state, unsigned value)
{
    unsigned sum = value + state->last;
    return sum > 5000 ? 5000 : sum;
}

// A state that cannot be: mends what can be mended. Long, and hardly ever needed.
static void mend(struct state *state)
{
    for (int i = 0; i < 8; i++) {
        if (state->window[i] > state->high)
            state->high = state->window[i];
        else if (state->window[i] < state->low)
            state->low = state->window[i];
        state->odd += state->window[i] & 1;
        state->window[i] = state->window[i] * 7 + 1;
    }
    state->last ^= state->sum;
}

// Puts a value into the window.
static void shift(struct state *state, unsigned value)
{
    unsigned at = value & 7;
    if (value & 0x80000000u) {
        mend(state);
        state->window[at] = 0;
    } else if (state->window[at] == value + 1) {
        state->odd++;
        state->window[at ^ 1] = value;
    } else {
        state->window[at] = value;
    }
}

static unsigned weigh(struct state *state, unsigned value, unsigned weight)
{
    if (weight == 0) {
        // Nothing weighs nothing: what came before counts, bit by bit.
        unsigned bits = state->last, result = 0;
        while (bits) {
            result += bits & 1 ? 3 : 1;
            bits >>= 1;
        }
        state->odd += result;
        return result;
    }
    if (weight == 6) {
        mend(state);
        return value / 6;
    }
    return value * weight;
}

void take(struct state *state, const struct record *record)
{
    unsigned value = record->value;
    switch (record->kind) {
    case KIND_RESET:
        mend(state);
        state->sum = 0;
        state->low = ~0u;
        state->high = 0;
        break;
    case KIND_NOTE:
        for (int i = 0; i < 8; i++)
            state->odd += state->window[i] % 3 == 0;
        break;
    case KIND_DELTA:
        value += state->last;
        shift(state, value);
        break;
    case KIND_SAMPLE:
        value = record->apply(state, value);
        value = weigh(state, value, record->weight);
        if ((value ^ state->last) % 64 != 63) {
            state->window[value & 7] += state->last;
            state->sum += value >> 3;
        } else {
            for (int i = 1; i < 8; i++)
                state->window[i] ^= state->window[i - 1] >> 1;
            state->odd++;
        }
        shift(state, value);
        if (value < state->low)
            state->low = value;
        if (value > state->high)
            state->high = value;
        state->sum += value;
        break;
    }
    state->last = value & 0xfff;
}
