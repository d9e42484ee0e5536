// State machines that are driven by indirect calls: a table of handlers, and states that are functions.
// Both read a generated text and must agree. Argument: the length of the text.
#include "runtime/runtime.h"

enum { MOST = 1 << 20 };
static u8 text[MOST];

typedef struct {
    long words, numbers, comments, strings;
    u32 order; // In which order they came.
} totals;

static void word_ends(totals *t)
{
    t->words++;
    t->order = t->order * 5 + 1;
}

static void number_ends(totals *t)
{
    t->numbers++;
    t->order = t->order * 5 + 2;
}

static void comment_ends(totals *t)
{
    t->comments++;
    t->order = t->order * 5 + 3;
}

static void string_ends(totals *t)
{
    t->strings++;
    t->order = t->order * 5 + 4;
}

static void nothing(totals *t)
{
    (void)t;
}

// First machine: a table says for each state and class of letter what to do and where to go.
enum state { BETWEEN, WORD, NUMBER, COMMENT, STRING, STATES };
enum class { LETTER, DIGIT, SPACE, LINE, HASH, QUOTE, CLASSES };
static const struct {
    void (*act)(totals *);
    enum state next;
} table[STATES][CLASSES] = {
    [BETWEEN] = {{nothing, WORD}, {nothing, NUMBER}, {nothing, BETWEEN}, {nothing, BETWEEN}, {nothing, COMMENT}, {nothing, STRING}},
    [WORD] = {{nothing, WORD}, {nothing, WORD}, {word_ends, BETWEEN}, {word_ends, BETWEEN}, {word_ends, COMMENT}, {word_ends, STRING}},
    [NUMBER] = {{number_ends, WORD},
                {nothing, NUMBER},
                {number_ends, BETWEEN},
                {number_ends, BETWEEN},
                {number_ends, COMMENT},
                {number_ends, STRING}},
    [COMMENT] = {{nothing, COMMENT}, {nothing, COMMENT}, {nothing, COMMENT}, {comment_ends, BETWEEN}, {nothing, COMMENT}, {nothing, COMMENT}},
    [STRING] = {{nothing, STRING}, {nothing, STRING}, {nothing, STRING}, {nothing, STRING}, {nothing, STRING}, {string_ends, BETWEEN}},
};

static enum class classes[256];

static totals by_table(long length)
{
    totals t = {0, 0, 0, 0, 0};
    enum state state = BETWEEN;
    for (long i = 0; i < length; i++) {
        enum class class = classes[text[i]];
        table[state][class].act(&t);
        state = table[state][class].next;
    }
    return t;
}

// Second machine: a state is a function that says which function comes next.
typedef struct step {
    struct step (*take)(totals *t, u8 c);
} step;
static step between(totals *t, u8 c), in_word(totals *t, u8 c), in_number(totals *t, u8 c), in_comment(totals *t, u8 c),
    in_string(totals *t, u8 c);

static step between(totals *t, u8 c)
{
    (void)t;
    switch (c) {
    case '"': return (step){in_string};
    case '#': return (step){in_comment};
    case ' ':
    case '\n': return (step){between};
    default: return c >= '0' && c <= '9' ? (step){in_number} : (step){in_word};
    }
}

static step in_word(totals *t, u8 c)
{
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
        return (step){in_word};
    word_ends(t);
    return between(t, c);
}

static step in_number(totals *t, u8 c)
{
    if (c >= '0' && c <= '9')
        return (step){in_number};
    number_ends(t);
    return between(t, c);
}

static step in_comment(totals *t, u8 c)
{
    if (c != '\n')
        return (step){in_comment};
    comment_ends(t);
    return (step){between};
}

static step in_string(totals *t, u8 c)
{
    if (c != '"')
        return (step){in_string};
    string_ends(t);
    return (step){between};
}

static totals by_functions(long length)
{
    totals t = {0, 0, 0, 0, 0};
    step now = {between};
    for (long i = 0; i < length; i++)
        now = now.take(&t, text[i]);
    return t;
}

int main(int argc, char **argv)
{
    long length = argc > 1 ? parse_decimal(argv[1]) : 200000;
    if (length < 1 || length > MOST)
        return 2;
    for (int i = 0; i < 256; i++)
        classes[i] = i == '"' ? QUOTE : i == '#' ? HASH : i == '\n' ? LINE : i == ' ' ? SPACE : i >= '0' && i <= '9' ? DIGIT : LETTER;
    u64 random = 6;
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789          \n\n\n#\"\"abcdefghijk 1234567890";
    for (long i = 0; i < length; i++)
        text[i] = (u8)letters[(next_random(&random) >> 33) % (sizeof letters - 1)];
    totals t = by_table(length), f = by_functions(length);
    if (t.words != f.words || t.numbers != f.numbers || t.comments != f.comments || t.strings != f.strings || t.order != f.order)
        return 1;
    print_string("words ");
    print_decimal(t.words);
    print_string(", numbers ");
    print_decimal(t.numbers);
    print_string(", comments ");
    print_decimal(t.comments);
    print_string(", strings ");
    print_decimal(t.strings);
    print_string("\n");
    print_checksum("machine", mix(CHECKSUM_START, t.order));
    return 0;
}
