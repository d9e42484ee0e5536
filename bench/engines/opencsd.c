/*
 * Benchmark engine: OpenCSD (Debian's libopencsd-dev, 1.3.3) through its C API.
 *
 *   cc -O2 -Wall -Wextra -Werror -o opencsd opencsd.c -lopencsd_c_api -lopencsd
 *   opencsd MODE FILE [--repeat N] [--digest] [--fsync | --hsync] [--source SPEC]... [--image FILE,ADDRESS]...
 *     SPEC = ID,PROTO,TRCCONFIGR,TRCIDR0,TRCIDR1,TRCIDR2,TRCIDR8[,TRCDEVARCH]
 *            PROTO is etm4 or ete, everything else hexadecimal (0x is optional)
 *     or ID,PROTO,ETMCR,ETMIDR,ETMCCER, where PROTO is ptm, etm3 or stm, which ignores the registers. All sources have one of the two forms.
 *
 * Modes
 *   frames     16-byte CoreSight frames taken apart, no packets. A sink that adds up lengths hangs on every
 *              trace ID 0x01-0x6f: the time is the deformatter's unpacking and one call for each run of bytes
 *              it hands out (a run never crosses a frame, so it has at most 15). --source is ignored.
 *   formatted  the same frames, with an ETMv4/ETE packet processor on each --source.
 *   source     FILE is one source's own bytes: no frames, exactly one --source.
 *   decode     frames as in formatted, decoded to elements with the program given by --image FILE,ADDRESS (raw bytes;
 *              held in memory).
 *
 * FILE is read into memory, then fed N times as one trace whose indices run on. `ns` is the time of feeding
 * alone, end of trace included. Frames are taken as memory-aligned (ETB, ETR) unless --fsync (TPIU with full
 * syncs) or --hsync (full and half syncs) is given. The library's trace index has 32 bits; that bounds N.
 *
 * One line of JSON comes out:
 *   {"engine","version","mode","bytes" (fed),"ns","packets","kinds":{NAME:count},"ids":{ID:bytes},"digest"}
 * `kinds` is empty in `frames`, `ids` in the other modes; `digest` is there with --digest only. The packet sink
 * sees I_NOT_SYNC once until synchronised; listings show one for every 8 bytes skipped.
 *
 * Digest (of a second, untimed pass): each source has a 64-bit FNV-1a (offset basis 0xcbf29ce484222325, prime
 * 0x100000001b3); the digest is the XOR over all sources that hashed anything. In `frames` a source hashes its
 * bytes. Otherwise it hashes nine bytes for each packet of these classes, in trace order: the class, then a
 * little-endian u64. All other packets hash nothing.
 *   1  I_ATOM_F1..F6   atom count << 32 | atoms, the oldest in bit 0, E = 1. Not the atoms inside mispredict
 *                      and cancel packets.
 *   2  I_ADDR_*, I_SRC_ADDR_* and I_SCR_ADDR_L_32IS0: the address, with the bits that the packet leaves out
 *                      taken from the last address. A 32-bit form leaves out none unless the context is known
 *                      to be AArch64; the context that comes in the same packet is not yet known. Trace Info
 *                      sets the last address to 0. Addresses inside Q packets are not hashed, but are "last" too.
 *   3  I_TIMESTAMP     the timestamp, bits left out likewise taken from the last one, but 0 in the first after
 *                      a Trace Info. Not the cycle count in the same packet.
 *   4  I_CCNT_F1..F3   the cycle count with the threshold added; 0 where the packet says "unknown".
 *   5  I_EXCEPT        the exception number, 10 bits. Not I_PE_RESET, I_TRANS_FAIL.
 * PTM and ETMv3 have the same classes, of which a packet may have several, in this order: 2 for the address of a branch, an
 * I-Sync or a waypoint update, 5 for a branch's exception, 1 for atoms, 3 for a timestamp, and 4 for a count of cycles in a
 * packet of a PTM, or in an ETMv3's packet that is nothing but a count.
 * STM has class 3, after the others of its packet, and
 *   6  D4..D64, TRIG, FREQ, MERR, GERR, VERSION: the value, with bit 63 flipped if it is marked.
 *   7  M8, C8, C16: the current master << 16 | channel.
 *
 * In `decode`, `kinds` has the ranges, the instructions in them and the exceptions. A source hashes for each range
 * start, end, and number of instructions << 1 | whether the last one was executed; for each exception the number and
 * the return address; each a little-endian u64. `profile` is the sum over all ranges of the FNV-1a of a range's three
 * words: the same for every order.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <opencsd/c_api/opencsd_c_api.h>
#include <opencsd/stm/trc_pkt_types_stm.h>

#define FNV_BASIS 0xcbf29ce484222325u
#define FNV_PRIME 0x100000001b3u
#define MAX_ID 0x6f /* trace IDs go from 0x01 to here; the others are reserved */
#define KINDS 0x800 /* a power of two above every ocsd_etmv4_i_pkt_type */

enum { NONE, ATOM, ADDR, TIME, CYCLES, EXCEPTION, VALUE, CHANNEL }; /* what the digest makes of a packet */

struct kind {
    const char *name;
    uint8_t class;
};
#define ETM(name, class) [ETM4_PKT_I_##name] = { "I_" #name, class }
#define ETE(name, class) [ETE_PKT_I_##name] = { "I_" #name, class }

/* Names are trc_pkt_lister's, its "SCR" included. */
static const struct kind kinds[KINDS] = {
    [ETM4_PKT_I_NOTSYNC] = { "I_NOT_SYNC", NONE },
    ETM(INCOMPLETE_EOT, NONE), ETM(NO_ERR_TYPE, NONE), ETM(BAD_SEQUENCE, NONE), ETM(BAD_TRACEMODE, NONE),
    ETM(RESERVED, NONE), ETM(RESERVED_CFG, NONE), ETM(EXTENSION, NONE),
    ETM(ASYNC, NONE), ETM(DISCARD, NONE), ETM(OVERFLOW, NONE), ETM(TRACE_INFO, NONE), ETM(TRACE_ON, NONE),
    ETM(TIMESTAMP, TIME), ETE(TS_MARKER, NONE), ETM(FUNC_RET, NONE), ETM(EXCEPT, EXCEPTION),
    ETM(EXCEPT_RTN, NONE), ETE(PE_RESET, NONE),
    ETE(COMMIT_WIN_MV, NONE), ETE(TRANS_ST, NONE), ETE(TRANS_COMMIT, NONE), ETE(TRANS_FAIL, NONE),
    ETM(CCNT_F1, CYCLES), ETM(CCNT_F2, CYCLES), ETM(CCNT_F3, CYCLES),
    ETM(NUM_DS_MKR, NONE), ETM(UNNUM_DS_MKR, NONE),
    ETM(COMMIT, NONE), ETM(CANCEL_F1, NONE), ETM(CANCEL_F1_MISPRED, NONE), ETM(MISPREDICT, NONE),
    ETM(CANCEL_F2, NONE), ETM(CANCEL_F3, NONE),
    ETM(COND_I_F1, NONE), ETM(COND_I_F2, NONE), ETM(COND_I_F3, NONE), ETM(COND_FLUSH, NONE),
    ETM(COND_RES_F1, NONE), ETM(COND_RES_F2, NONE), ETM(COND_RES_F3, NONE), ETM(COND_RES_F4, NONE),
    ETM(IGNORE, NONE), ETM(EVENT, NONE), ETM(CTXT, NONE), ETM(Q, NONE),
    ETM(ADDR_CTXT_L_32IS0, ADDR), ETM(ADDR_CTXT_L_32IS1, ADDR),
    ETM(ADDR_CTXT_L_64IS0, ADDR), ETM(ADDR_CTXT_L_64IS1, ADDR),
    ETM(ADDR_MATCH, ADDR), ETM(ADDR_S_IS0, ADDR), ETM(ADDR_S_IS1, ADDR),
    ETM(ADDR_L_32IS0, ADDR), ETM(ADDR_L_32IS1, ADDR), ETM(ADDR_L_64IS0, ADDR), ETM(ADDR_L_64IS1, ADDR),
    ETE(SRC_ADDR_MATCH, ADDR), ETE(SRC_ADDR_S_IS0, ADDR), ETE(SRC_ADDR_S_IS1, ADDR),
    [ETE_PKT_I_SRC_ADDR_L_32IS0] = { "I_SCR_ADDR_L_32IS0", ADDR }, ETE(SRC_ADDR_L_32IS1, ADDR),
    ETE(SRC_ADDR_L_64IS0, ADDR), ETE(SRC_ADDR_L_64IS1, ADDR),
    ETM(ATOM_F1, ATOM), ETM(ATOM_F2, ATOM), ETM(ATOM_F3, ATOM), ETM(ATOM_F4, ATOM), ETM(ATOM_F5, ATOM),
    ETM(ATOM_F6, ATOM),
};

#define PTM(type, name) [PTM_PKT_##type] = { name, NONE }
#define ETM3(type, name) [ETM3_PKT_##type] = { name, NONE }

static const struct kind ptm_kinds[KINDS] = {
    PTM(NOTSYNC, "I_NOT_SYNC"), PTM(INCOMPLETE_EOT, "INCOMPLETE_EOT"), PTM(BRANCH_ADDRESS, "BRANCH_ADDRESS"),
    PTM(A_SYNC, "ASYNC"), PTM(I_SYNC, "ISYNC"), PTM(TRIGGER, "TRIGGER"), PTM(WPOINT_UPDATE, "WP_UPDATE"),
    PTM(IGNORE, "IGNORE"), PTM(CONTEXT_ID, "CTXTID"), PTM(VMID, "VMID"), PTM(ATOM, "ATOM"),
    PTM(TIMESTAMP, "TIMESTAMP"), PTM(EXCEPTION_RET, "ERET"), PTM(BAD_SEQUENCE, "BAD_SEQUENCE"),
    PTM(RESERVED, "RESERVED"),
};

static const struct kind etm3_kinds[KINDS] = {
    ETM3(NOTSYNC, "I_NOT_SYNC"), ETM3(INCOMPLETE_EOT, "INCOMPLETE_EOT."), ETM3(BRANCH_ADDRESS, "BRANCH_ADDRESS"),
    ETM3(A_SYNC, "A_SYNC"), ETM3(CYCLE_COUNT, "CYCLE_COUNT"), ETM3(I_SYNC, "I_SYNC"),
    ETM3(I_SYNC_CYCLE, "I_SYNC_CYCLE"), ETM3(TRIGGER, "TRIGGER"), ETM3(P_HDR, "P_HDR"),
    ETM3(STORE_FAIL, "STORE_FAIL"), ETM3(OOO_DATA, "OOO_DATA"), ETM3(OOO_ADDR_PLC, "OOO_ADDR_PLC"),
    ETM3(NORM_DATA, "NORM_DATA"), ETM3(DATA_SUPPRESSED, "DATA_SUPPRESSED"), ETM3(VAL_NOT_TRACED, "VAL_NOT_TRACED"),
    ETM3(IGNORE, "IGNORE"), ETM3(CONTEXT_ID, "CONTEXT_ID"), ETM3(VMID, "VMID"),
    ETM3(EXCEPTION_ENTRY, "EXCEPTION_ENTRY"), ETM3(EXCEPTION_EXIT, "EXCEPTION_EXIT"), ETM3(TIMESTAMP, "TIMESTAMP"),
    ETM3(BAD_SEQUENCE, "BAD_SEQUENCE"), ETM3(BAD_TRACEMODE, "BAD_TRACEMODE"), ETM3(RESERVED, "I_RESERVED"),
};

#define STM(name) [STM_PKT_##name] = { #name, NONE }
static const struct kind stm_kinds[KINDS] = {
    STM(NOTSYNC), STM(INCOMPLETE_EOT), STM(ASYNC), STM(VERSION), STM(FREQ), STM(NULL), STM(TRIG), STM(GERR), STM(MERR),
    STM(M8), STM(C8), STM(C16), STM(FLAG), STM(D4), STM(D8), STM(D16), STM(D32), STM(D64), STM(BAD_SEQUENCE),
    STM(RESERVED),
};

enum mode { FRAMES, FORMATTED, SOURCE, DECODE };
static const char *const mode_names[] = { "frames", "formatted", "source", "decode" };

/* A protocol: its name in SPEC, the library's decoder, and what its packets are. */
struct protocol {
    const char *name, *decoder;
    const struct kind *kinds;
    FnDefPktDataIn hash;
};

struct source {
    union {
        ocsd_etmv4_cfg etm4;
        ocsd_ptm_cfg ptm;
        ocsd_etmv3_cfg etm3;
        ocsd_stm_cfg stm;
    } config;
    const struct protocol *protocol;
    uint8_t id;
    uint64_t bytes; /* in `frames` only */
    uint64_t hash;
};
static struct source sources[MAX_ID];
static size_t source_count;
static uint64_t counts[KINDS];
static bool hashing; /* this pass makes the digest */
static uint64_t ranges, instructions, exceptions, profile;

struct image {
    uint8_t *bytes;
    uint32_t size;
    uint64_t address;
};
static struct image images[256];
static size_t image_count;

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("opencsd: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    exit(1);
}

static void check(ocsd_err_t err, const char *what)
{
    char text[256] = "";
    if (err == OCSD_OK)
        return;
    ocsd_err_str(err, text, sizeof text);
    die("cannot %s: %s", what, text);
}

static void hash_byte(struct source *source, uint8_t byte)
{
    source->hash = (source->hash ^ byte) * FNV_PRIME;
}

static void hash_value(struct source *source, uint8_t class, uint64_t value)
{
    hash_byte(source, class);
    for (int shift = 0; shift < 64; shift += 8)
        hash_byte(source, (uint8_t)(value >> shift));
}

/* ---- packets ---- */

static ocsd_datapath_resp_t count_packet(const void *context, const ocsd_datapath_op_t op,
                                         const ocsd_trc_index_t index, const void *packet)
{
    (void)context, (void)index;
    if (op == OCSD_OP_DATA)
        counts[*(const unsigned *)packet & (KINDS - 1)]++; /* every kind of packet begins with its type */
    return OCSD_RESP_CONT;
}

static ocsd_datapath_resp_t hash_packet(const void *context, const ocsd_datapath_op_t op,
                                        const ocsd_trc_index_t index, const void *packet)
{
    const ocsd_etmv4_i_pkt *p = packet;
    uint8_t class = op == OCSD_OP_DATA ? kinds[p->type & (KINDS - 1)].class : NONE;
    uint64_t value = 0;

    (void)index;
    switch (class) {
    case NONE:
        return OCSD_RESP_CONT;
    case ATOM:
        value = (uint64_t)p->atom.num << 32 | (p->atom.En_bits & ((UINT64_C(1) << p->atom.num) - 1));
        break;
    case ADDR:
        value = p->v_addr.val;
        break;
    case TIME:
        value = p->ts.timestamp;
        break;
    case CYCLES:
        value = p->cycle_count;
        break;
    case EXCEPTION:
        value = p->exception_info.exceptionType;
        break;
    }
    hash_value((struct source *)context, class, value);
    return OCSD_RESP_CONT;
}

static uint64_t atoms_of(const ocsd_pkt_atom *atom)
{
    return (uint64_t)atom->num << 32 | (atom->En_bits & ((UINT64_C(1) << atom->num) - 1));
}

static ocsd_datapath_resp_t hash_ptm(const void *context, const ocsd_datapath_op_t op, const ocsd_trc_index_t index,
                                     const void *packet)
{
    struct source *source = (struct source *)context;
    const ocsd_ptm_pkt *p = packet;

    (void)index;
    if (op != OCSD_OP_DATA)
        return OCSD_RESP_CONT;
    if (p->type == PTM_PKT_BRANCH_ADDRESS || p->type == PTM_PKT_I_SYNC || p->type == PTM_PKT_WPOINT_UPDATE)
        hash_value(source, ADDR, p->addr.val);
    if (p->type == PTM_PKT_BRANCH_ADDRESS && p->exception.bits.present)
        hash_value(source, EXCEPTION, p->exception.number);
    if (p->type == PTM_PKT_ATOM)
        hash_value(source, ATOM, atoms_of(&p->atom));
    if (p->type == PTM_PKT_TIMESTAMP)
        hash_value(source, TIME, p->timestamp);
    if (p->cc_valid)
        hash_value(source, CYCLES, p->cycle_count);
    return OCSD_RESP_CONT;
}

static ocsd_datapath_resp_t hash_etm3(const void *context, const ocsd_datapath_op_t op, const ocsd_trc_index_t index,
                                      const void *packet)
{
    struct source *source = (struct source *)context;
    const ocsd_etmv3_pkt *p = packet;

    (void)index;
    if (op != OCSD_OP_DATA)
        return OCSD_RESP_CONT;
    if (p->type == ETM3_PKT_BRANCH_ADDRESS || p->type == ETM3_PKT_I_SYNC || p->type == ETM3_PKT_I_SYNC_CYCLE)
        hash_value(source, ADDR, p->addr.val);
    if (p->type == ETM3_PKT_BRANCH_ADDRESS && p->exception.bits.present)
        hash_value(source, EXCEPTION, p->exception.number);
    if (p->type == ETM3_PKT_P_HDR)
        hash_value(source, ATOM, atoms_of(&p->atom));
    if (p->type == ETM3_PKT_TIMESTAMP)
        hash_value(source, TIME, p->timestamp);
    if (p->type == ETM3_PKT_CYCLE_COUNT)
        hash_value(source, CYCLES, p->cycle_count);
    return OCSD_RESP_CONT;
}

static ocsd_datapath_resp_t hash_stm(const void *context, const ocsd_datapath_op_t op, const ocsd_trc_index_t index,
                                     const void *packet)
{
    struct source *source = (struct source *)context;
    const ocsd_stm_pkt *p = packet;
    (void)index;
    if (op != OCSD_OP_DATA)
        return OCSD_RESP_CONT;
    uint64_t marked = p->pkt_has_marker ? UINT64_C(1) << 63 : 0;
    switch (p->type) {
    case STM_PKT_D4:
        hash_value(source, VALUE, (p->payload.D8 & 0xf) ^ marked);
        break;
    case STM_PKT_D8: case STM_PKT_TRIG: case STM_PKT_MERR: case STM_PKT_GERR: case STM_PKT_VERSION:
        hash_value(source, VALUE, p->payload.D8 ^ marked);
        break;
    case STM_PKT_D16:
        hash_value(source, VALUE, p->payload.D16 ^ marked);
        break;
    case STM_PKT_D32: case STM_PKT_FREQ:
        hash_value(source, VALUE, p->payload.D32 ^ marked);
        break;
    case STM_PKT_D64:
        hash_value(source, VALUE, p->payload.D64 ^ marked);
        break;
    case STM_PKT_M8: case STM_PKT_C8: case STM_PKT_C16:
        hash_value(source, CHANNEL, (uint64_t)p->master << 16 | p->channel);
        break;
    default:
        break;
    }
    if (p->pkt_has_ts)
        hash_value(source, TIME, p->timestamp);
    return OCSD_RESP_CONT;
}

/* 1.3.3 makes an ETE packet processor, but see add_source(). */
static const struct protocol protocols[] = {
    { "etm4", OCSD_BUILTIN_DCD_ETMV4I, kinds, (FnDefPktDataIn)(void *)hash_packet },
    { "ete", OCSD_BUILTIN_DCD_ETMV4I, kinds, (FnDefPktDataIn)(void *)hash_packet },
    { "ptm", OCSD_BUILTIN_DCD_PTM, ptm_kinds, (FnDefPktDataIn)(void *)hash_ptm },
    { "etm3", OCSD_BUILTIN_DCD_ETMV3, etm3_kinds, (FnDefPktDataIn)(void *)hash_etm3 },
    { "stm", OCSD_BUILTIN_DCD_STM, stm_kinds, (FnDefPktDataIn)(void *)hash_stm },
};

static void attach_packets(dcd_tree_handle_t tree, struct source *source)
{
    FnDefPktDataIn callback = hashing ? source->protocol->hash : (FnDefPktDataIn)(void *)count_packet;
    unsigned char id;
    check(ocsd_dt_create_decoder(tree, source->protocol->decoder, OCSD_CREATE_FLG_PACKET_PROC, &source->config, &id),
          "create packet processor");
    check(ocsd_dt_attach_packet_callback(tree, id, OCSD_C_API_CB_PKT_SINK, (void *)callback, source),
          "attach packet callback");
}

/* ---- elements ---- */

static void hash_word(struct source *source, uint64_t value)
{
    for (int shift = 0; shift < 64; shift += 8)
        hash_byte(source, (uint8_t)(value >> shift));
}

static struct source *source_of(uint8_t id)
{
    for (size_t i = 0; i < source_count; i++)
        if (sources[i].id == id)
            return &sources[i];
    die("an element of unknown ID %02x", id);
}

/* Whether a range's last instruction ran. Instructions that fail their condition and are no branches count as if they had: only an
 * ETMv3 tells them. */
static bool is_executed(const ocsd_generic_trace_elem *element)
{
    return element->last_instr_exec || element->last_i_type == OCSD_INSTR_OTHER;
}

static ocsd_datapath_resp_t take_element(const void *context, const ocsd_trc_index_t index, const uint8_t id,
                                         const ocsd_generic_trace_elem *element)
{
    (void)context, (void)index;
    if (element->elem_type == OCSD_GEN_TRC_ELEM_INSTR_RANGE) {
        ranges++;
        instructions += element->num_instr_range;
        if (hashing) {
            struct source *source = source_of(id);
            hash_word(source, element->st_addr);
            hash_word(source, element->en_addr);
            hash_word(source, (uint64_t)element->num_instr_range << 1 | is_executed(element));
            struct source range = { .hash = FNV_BASIS };
            hash_word(&range, element->st_addr);
            hash_word(&range, element->en_addr);
            hash_word(&range, (uint64_t)element->num_instr_range << 1 | is_executed(element));
            profile += range.hash;
        }
    } else if (element->elem_type == OCSD_GEN_TRC_ELEM_EXCEPTION) {
        exceptions++;
        if (hashing) {
            struct source *source = source_of(id);
            hash_word(source, element->exception_number);
            hash_word(source, element->en_addr);
        }
    }
    return OCSD_RESP_CONT;
}

static void prepare_decode(dcd_tree_handle_t tree)
{
    for (size_t i = 0; i < source_count; i++) {
        unsigned char id;
        check(ocsd_dt_create_decoder(tree, sources[i].protocol->decoder, OCSD_CREATE_FLG_FULL_DECODER,
                                     &sources[i].config, &id), "create decoder");
    }
    for (size_t i = 0; i < image_count; i++)
        check(ocsd_dt_add_buffer_mem_acc(tree, images[i].address, OCSD_MEM_SPACE_ANY, images[i].bytes,
                                         images[i].size), "add image");
    check(ocsd_dt_set_gen_elem_outfn(tree, take_element, NULL), "attach element callback");
}

/* ---- frames: byte sinks, which the C API takes as custom decoders ---- */

#define BYTE_SINK "BYTE_SINK"

static ocsd_datapath_resp_t take_bytes(const void *handle, const ocsd_datapath_op_t op, const ocsd_trc_index_t index,
                                       const uint32_t size, const uint8_t *data, uint32_t *used)
{
    struct source *source = (struct source *)handle;
    (void)index;
    if (op == OCSD_OP_DATA) {
        source->bytes += size;
        for (uint32_t i = 0; hashing && i < size; i++)
            hash_byte(source, data[i]);
        *used = size;
    }
    return OCSD_RESP_CONT;
}

static void ignore_monitors(const void *handle, const int flags)
{
    (void)handle, (void)flags;
}

static ocsd_err_t sink_id(const void *config, unsigned char *id)
{
    *id = ((const struct source *)config)->id;
    return OCSD_OK;
}

static ocsd_err_t create_sink(const int flags, const void *config, const ocsd_extern_dcd_cb_fns *library,
                              ocsd_extern_dcd_inst_t *sink)
{
    static char name[] = BYTE_SINK;
    (void)flags, (void)library;
    sink->fn_data_in = take_bytes;
    sink->fn_update_pkt_mon = ignore_monitors;
    sink->decoder_handle = (void *)config;
    sink->p_decoder_name = name;
    return sink_id(config, &sink->cs_id);
}

static ocsd_err_t destroy_sink(const void *handle)
{
    (void)handle;
    return OCSD_OK;
}

static void prepare_sinks(void)
{
    static ocsd_extern_dcd_fact_t factory = {
        .createDecoder = create_sink, .destroyDecoder = destroy_sink, .csidFromConfig = sink_id,
    };
    check(ocsd_register_custom_decoder(BYTE_SINK, &factory), "register byte sink");
    for (source_count = 0; source_count < MAX_ID; source_count++)
        sources[source_count] = (struct source){ .id = (uint8_t)(source_count + 1) };
}

/* ---- one pass over the trace ---- */

/* Sends one operation, and flushes for as long as something downstream asks to wait. */
static void push(dcd_tree_handle_t tree, ocsd_datapath_op_t op, ocsd_trc_index_t index, uint32_t size,
                 const uint8_t *data, uint32_t *used)
{
    ocsd_datapath_resp_t response = ocsd_dt_process_data(tree, op, index, size, data, used);
    while (OCSD_DATA_RESP_IS_WAIT(response))
        response = ocsd_dt_process_data(tree, OCSD_OP_FLUSH, 0, 0, NULL, NULL);
    if (OCSD_DATA_RESP_IS_FATAL(response)) {
        char text[512] = "";
        uint8_t id;
        ocsd_get_last_err(&index, &id, text, sizeof text);
        die("datapath response %d: %s", (int)response, text);
    }
}

/* A block may be as long as the index reaches, so the whole buffer goes in at once. Returns nanoseconds. */
static int64_t feed(dcd_tree_handle_t tree, const uint8_t *data, uint32_t size, unsigned long repeat)
{
    struct timespec start, stop;
    ocsd_trc_index_t index = 0;

    clock_gettime(CLOCK_MONOTONIC, &start);
    while (repeat--) {
        for (uint32_t done = 0, used; done < size; done += used, index += used) {
            used = 0;
            push(tree, OCSD_OP_DATA, index, size - done, data + done, &used);
            if (used == 0)
                die("no progress at index %" OCSD_TRC_IDX_STR, index);
        }
    }
    push(tree, OCSD_OP_EOT, 0, 0, NULL, NULL);
    clock_gettime(CLOCK_MONOTONIC, &stop);
    return (int64_t)(stop.tv_sec - start.tv_sec) * 1000000000 + (stop.tv_nsec - start.tv_nsec);
}

static int64_t pass(enum mode mode, uint32_t syncs, const uint8_t *data, uint32_t size, unsigned long repeat)
{
    bool single = mode == SOURCE;
    dcd_tree_handle_t tree = ocsd_create_dcd_tree(single ? OCSD_TRC_SRC_SINGLE : OCSD_TRC_SRC_FRAME_FORMATTED,
                                                  single ? 0 : syncs);
    if (tree == C_API_INVALID_TREE_HANDLE)
        die("cannot create the decode tree");
    for (size_t i = 0; i < source_count; i++) {
        unsigned char id;
        sources[i].hash = FNV_BASIS;
        if (mode == DECODE)
            continue;
        if (mode != FRAMES)
            attach_packets(tree, &sources[i]);
        else
            check(ocsd_dt_create_decoder(tree, BYTE_SINK, OCSD_CREATE_FLG_PACKET_PROC, &sources[i], &id),
                  "create byte sink");
    }
    if (mode == DECODE)
        prepare_decode(tree);
    int64_t ns = feed(tree, data, size, repeat);
    ocsd_destroy_dcd_tree(tree);
    return ns;
}

/* ---- command line, input, output ---- */

/*
 * 1.3.3 makes an ETE packet processor but refuses to attach a callback to it from C (OCSD_ERR_NO_PROTOCOL). It is
 * the ETMv4 one all the same: the same class, told by the architecture version that it reads ETE. So an ETE source
 * is set up as ETMv4 whose TRCIDR1 carries the version from TRCDEVARCH (ARCHVER, REVISION), as the library does
 * inside. Architecture and profile matter to the packet processor for M-class only; A-class is assumed.
 */
static void add_source(const char *spec)
{
    struct source source = { 0 };
    ocsd_etmv4_cfg c = { .arch_ver = ARCH_V8, .core_prof = profile_CortexA };
    unsigned devarch = 0x47705a13;
    char name[5] = "";
    int end = 0;

    sscanf(spec, "%x,%4[a-z0-9],%x,%x,%x%n,%x,%x%n,%x%n", &c.reg_traceidr, name, &c.reg_configr, &c.reg_idr0,
           &c.reg_idr1, &end, &c.reg_idr2, &c.reg_idr8, &end, &devarch, &end);
    if (end == 0 || spec[end] != '\0' || c.reg_traceidr > MAX_ID || source_count == MAX_ID)
        die("bad --source '%s'", spec);
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
        if (strcmp(name, protocols[i].name) == 0)
            source.protocol = &protocols[i];
    if (!source.protocol)
        die("unknown protocol in --source '%s'", spec);
    source.id = (uint8_t)c.reg_traceidr;
    if (source.protocol->kinds == kinds) {
        if (strcmp(name, "ete") == 0)
            c.reg_idr1 = (c.reg_idr1 & ~0xff0u) | (devarch >> 12 & 0xf) << 8 | (devarch >> 16 & 0xf) << 4;
        source.config.etm4 = c;
    } else if (source.protocol->kinds == ptm_kinds) {
        source.config.ptm = (ocsd_ptm_cfg){ .reg_ctrl = c.reg_configr, .reg_idr = c.reg_idr0, .reg_ccer = c.reg_idr1,
                                            .reg_trc_id = source.id, .arch_ver = ARCH_V7,
                                            .core_prof = profile_CortexA };
    } else if (source.protocol->kinds == stm_kinds) {
        source.config.stm = (ocsd_stm_cfg){ .reg_tcsr = (uint32_t)source.id << 16 };
    } else {
        source.config.etm3 = (ocsd_etmv3_cfg){ .reg_ctrl = c.reg_configr, .reg_idr = c.reg_idr0,
                                               .reg_ccer = c.reg_idr1, .reg_trc_id = source.id, .arch_ver = ARCH_V7,
                                               .core_prof = profile_CortexA };
    }
    sources[source_count++] = source;
}

static uint8_t *read_file(const char *path, uint32_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        die("cannot open %s", path);
    long length = ftell(file);
    if (length <= 0 || (unsigned long)length > UINT32_MAX)
        die("%s: empty, or too long for a 32-bit index", path);
    /* The deformatter compares words with the sync patterns and may look past a short tail. */
    uint8_t *data = calloc((size_t)length + 16, 1);
    rewind(file);
    if (!data || fread(data, 1, (size_t)length, file) != (size_t)length)
        die("cannot read %s", path);
    fclose(file);
    *size = (uint32_t)length;
    return data;
}

static void add_image(const char *spec)
{
    char path[4096];
    const char *comma = strrchr(spec, ',');
    if (!comma || (size_t)(comma - spec) >= sizeof path || image_count == 256)
        die("bad --image '%s'", spec);
    memcpy(path, spec, (size_t)(comma - spec));
    path[comma - spec] = '\0';
    struct image *image = &images[image_count++];
    image->bytes = read_file(path, &image->size);
    image->address = strtoull(comma + 1, NULL, 16);
}

static void print_count(const char *name, uint64_t count, bool *first)
{
    if (count)
        printf("%s\"%s\":%" PRIu64, *first ? "" : ",", name, count);
    *first = *first && !count;
}

static void print_answer(void)
{
    const struct kind *names = sources[0].protocol ? sources[0].protocol->kinds : kinds;
    uint64_t packets = 0;
    bool first = true;

    for (size_t i = 0; i < KINDS; i++)
        packets += counts[i];
    printf("\"packets\":%" PRIu64 ",\"kinds\":{", packets);
    print_count("ranges", ranges, &first);
    print_count("instructions", instructions, &first);
    print_count("exceptions", exceptions, &first);
    for (size_t i = 0; i < KINDS; i++)
        print_count(names[i].name ? names[i].name : "I_UNKNOWN", counts[i], &first);
    printf("},\"ids\":{");
    first = true;
    for (size_t i = 0; i < source_count; i++) {
        char id[8];
        snprintf(id, sizeof id, "0x%02x", sources[i].id);
        print_count(id, sources[i].bytes, &first);
    }
    printf("}");
}

int main(int argc, char **argv)
{
    uint32_t syncs = OCSD_DFRMTR_FRAME_MEM_ALIGN, size = 0;
    unsigned long repeat = 1;
    bool digest = false;
    int mode = FRAMES;

    while (argc > 2 && mode <= DECODE && strcmp(argv[1], mode_names[mode]) != 0)
        mode++;
    if (argc <= 2 || mode > DECODE)
        die("usage: opencsd frames|formatted|source|decode FILE [--repeat N] [--digest] [--fsync|--hsync]\n"
            "  [--source ID,etm4|ete,TRCCONFIGR,TRCIDR0,TRCIDR1,TRCIDR2,TRCIDR8[,TRCDEVARCH]]...\n"
            "  [--source ID,ptm|etm3,ETMCR,ETMIDR,ETMCCER]...");
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "--digest") == 0)
            digest = true;
        else if (strcmp(argv[i], "--fsync") == 0)
            syncs = OCSD_DFRMTR_HAS_FSYNCS;
        else if (strcmp(argv[i], "--hsync") == 0)
            syncs = OCSD_DFRMTR_HAS_FSYNCS | OCSD_DFRMTR_HAS_HSYNCS;
        else if (strcmp(argv[i], "--repeat") == 0 && i + 1 < argc)
            repeat = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--source") == 0 && i + 1 < argc)
            add_source(argv[++i]);
        else if (strcmp(argv[i], "--image") == 0 && i + 1 < argc)
            add_image(argv[++i]);
        else
            die("unknown or incomplete option '%s'", argv[i]);
    }
    if (mode == FRAMES)
        prepare_sinks();
    else if (source_count == 0 || (mode == SOURCE && source_count != 1))
        die("%s needs %s --source", mode_names[mode], mode == SOURCE ? "exactly one" : "at least one");
    uint8_t *data = read_file(argv[2], &size);
    if (repeat == 0 || repeat > UINT32_MAX / size)
        die("--repeat must be 1 to %" PRIu32 " for this file", UINT32_MAX / size);

    ocsd_def_errlog_init(OCSD_ERR_SEV_ERROR, 0); /* keep the last error, print none: printing would be timed */
    int64_t ns = pass(mode, syncs, data, size, repeat);

    printf("{\"engine\":\"opencsd\",\"version\":\"%s\",\"mode\":\"%s\",\"bytes\":%" PRIu64 ",\"ns\":%" PRId64 ",",
           ocsd_get_version_str(), mode_names[mode], (uint64_t)size * repeat, ns);
    print_answer();
    if (digest) {
        uint64_t total = 0;
        hashing = true;
        pass(mode, syncs, data, size, repeat);
        for (size_t i = 0; i < source_count; i++)
            total ^= sources[i].hash == FNV_BASIS ? 0 : sources[i].hash;
        printf(",\"digest\":\"%016" PRIx64 "\"", total);
        if (mode == DECODE)
            printf(",\"profile\":\"%016" PRIx64 "\"", profile);
    }
    printf("}\n");
    free(data);
    return 0; /* without ocsd_deregister_decoders: 1.3.3 frees its decoders twice there */
}
