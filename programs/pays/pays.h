// What the parts of this program share.
enum { RECORDS = 4096 };
enum kind { KIND_RESET, KIND_NOTE, KIND_DELTA, KIND_SAMPLE };

struct state {
    unsigned sum, low, high, odd, last, window[8];
};

struct record {
    enum kind kind;
    unsigned value, weight;
    unsigned (*apply)(struct state *, unsigned);
};

void take(struct state *state, const struct record *record);
unsigned apply_scaled(struct state *state, unsigned value);
unsigned apply_saturating(struct state *state, unsigned value);
