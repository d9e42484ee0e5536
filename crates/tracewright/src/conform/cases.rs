//! The cases of the RISC-V protocols: what each switches on, so that together they reach every packet and every option.

/// What a case needs besides options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    /// Nothing.
    Nothing,
    /// The program for RV32.
    Rv32,
    /// Trace control: only a part is traced.
    When(&'static str),
    /// A port of so many bits a cycle with a buffer of so many bits, which drops packets.
    Port(u32, u64),
    /// A notification is requested at every eighth block.
    Notify,
    /// The context changes at every sixteenth block.
    Contexts,
    /// Messages are lost.
    Loss,
}

impl Extra {
    /// Returns what an encoder must be told besides options.
    pub fn words(self) -> Option<String> {
        Some(match self {
            Nothing | Rv32 => return None,
            When(when) => format!("what is traced: {when}"),
            Port(rate, bits) => {
                format!("the port takes {rate} bit a cycle from a buffer of {bits} bits, and drops packets")
            }
            Notify => "the inputs of the encoder are in this folder, with notifications".into(),
            Contexts => "the inputs of the encoder are in this folder, with other contexts".into(),
            Loss => format!(
                "messages are lost before block {} (the first is 0), and tracing goes on at block {}",
                LOST.0, LOST.1
            ),
        })
    }
}

/// Blocks between which messages are lost: the first that is not traced, and the first that is traced again.
pub const LOST: (u64, u64) = (300, 400);

use Extra::{Contexts, Loss, Nothing, Notify, Port, Rv32, When};

/// What a case is.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Its name, and that of its folder.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Options of the encoder, after those of all cases.
    pub options: &'static [&'static str],
    /// What else it needs.
    pub extra: Extra,
}

const fn case(name: &'static str, about: &'static str, options: &'static [&'static str]) -> Spec {
    Spec { name, about, options, extra: Nothing }
}

const fn with(
    extra: Extra,
    name: &'static str,
    about: &'static str,
    options: &'static [&'static str],
) -> Spec {
    Spec { name, about, options, extra }
}

/// Options of E-Trace that all cases have, unless they say otherwise: nothing is on, and no synchronisation is due.
pub const ETRACE_BASE: &[&str] =
    &["implicit_return=off", "branch_prediction=off", "jump_target_cache=off", "sijump=off", "resync_max=15"];

/// Cases of E-Trace.
pub const ETRACE: &[Spec] = &[
    case("plain", "no option is on", &[]),
    with(Rv32, "plain32", "no option is on, RV32", &[]),
    case(
        "all",
        "all options are on, with regular synchronisation",
        &[
            "implicit_return=on",
            "branch_prediction=on",
            "jump_target_cache=on",
            "sijump=on",
            "implicit_exception=on",
            "resync_mode=packets",
            "resync_max=2",
        ],
    ),
    with(
        Rv32,
        "all32",
        "all options are on, RV32",
        &[
            "implicit_return=on",
            "branch_prediction=on",
            "jump_target_cache=on",
            "sijump=on",
            "implicit_exception=on",
            "resync_mode=packets",
            "resync_max=2",
        ],
    ),
    case("full-address", "addresses are sent whole", &["full_address=on"]),
    case(
        "full-address-all",
        "addresses are sent whole, with counts and indices",
        &["full_address=on", "branch_prediction=on", "jump_target_cache=on"],
    ),
    case("return-stack", "returns by a stack of addresses", &["implicit_return=on", "call_counter_size=0"]),
    case("return-counter", "returns by a counter of calls", &["implicit_return=on", "return_stack_size=0"]),
    case(
        "irdepth",
        "irdepth in place of irets",
        &["implicit_return=on", "iret_ext=0", "return_stack_size=2"],
    ),
    case(
        "irdepth-ones",
        "irdepth is all ones while not reported",
        &["implicit_return=on", "iret_ext=0", "irdepth_ones=1", "support=reference"],
    ),
    case("implicit-exception", "handlers are not sent", &["implicit_exception=on"]),
    case(
        "prediction",
        "branches are counted; a predictor of 8 entries",
        &["branch_prediction=on", "bpred_size=3"],
    ),
    case(
        "cache",
        "indices of a cache of 4 targets, without a predictor",
        &["jump_target_cache=on", "cache_size=2", "bpred_size=0", "f0s_width=0"],
    ),
    case(
        "cache-large",
        "indices of a cache of 128 targets, where addresses may be shorter",
        &["jump_target_cache=on"],
    ),
    case("sijump", "jumps whose target the instruction before gives", &["sijump=on"]),
    case(
        "no-tables",
        "an encoder without tables",
        &["bpred_size=0", "cache_size=0", "return_stack_size=0", "call_counter_size=0", "sijump_p=0"],
    ),
    case("sync-off", "never synchronises again", &["resync_mode=off"]),
    case("sync-packets", "synchronises after 16 packets", &["resync_mode=packets", "resync_max=0"]),
    case("sync-cycles", "synchronises after 64 cycles", &["resync_mode=cycles", "resync_max=2"]),
    case("sync-half-words", "synchronises after 128 half-words", &["resync_mode=half_words", "resync_max=3"]),
    with(
        Contexts,
        "contexts-imprecise",
        "changes of context when convenient, without traps",
        &["ctype=imprecise"],
    ),
    with(Contexts, "contexts-precise", "changes of context, without traps", &[]),
    case("context-imprecise", "changes of context when convenient", &["ctype=imprecise"]),
    case("context-discontinuity", "changes of context like an exception", &["ctype=discontinuity"]),
    case("context-unreported", "changes of context are not told", &["ctype=unreported"]),
    case("no-context", "packets have no context", &["nocontext=1"]),
    case(
        "time",
        "packets that synchronise have a time",
        &["notime=0", "resync_mode=packets", "resync_max=1"],
    ),
    case("time-short", "a time of 16 bits", &["notime=0", "time_width=16"]),
    case(
        "widths",
        "other widths of fields",
        &["context_width=16", "privilege_width=4", "ecause_width=16", "f0s_width=2", "iaddress_width=40"],
    ),
    case("lsb", "addresses with their lowest bit", &["iaddress_lsb=0"]),
    case("itype3", "types of three bits at the encoder's input", &["itype_width=3"]),
    case("shallow", "every packet empties the branch map", &["shallow=on"]),
    case(
        "sources",
        "several sources, with timestamps and types in the encapsulation",
        &["source_bits=8", "id=5", "timestamp_bytes=2", "type_bits=1"],
    ),
    case("align", "an alignment sequence after 32 packets", &["align=32"]),
    case("smi", "Siemens' messages", &["encapsulation=smi"]),
    case(
        "pulp",
        "records and support packets of PULP's rv_tracer",
        &[
            "encapsulation=pulp",
            "support=pulp",
            "address_bytes=1",
            "iret_ext=0",
            "return_stack_size=0",
            "call_counter_size=0",
        ],
    ),
    case("support-reference", "support packets of the reference model", &["support=reference"]),
    case("reference", "what the reference model writes", &["model=reference"]),
    case("version-2", "the standard, version 2.0, without drafts", &["version=2.0"]),
    with(When("start at pattern; stop at accesses"), "part", "tracing begins and ends", &[]),
    with(Port(1, 1024), "lost", "a port that is too slow: packets are lost", &[]),
    with(Notify, "notify", "notifications are requested", &[]),
    case("data", "data trace", &["data=address,value"]),
    with(Rv32, "data32", "data trace of RV32", &["data=address,value"]),
    case(
        "data-whole",
        "data trace, addresses and values whole",
        &["data=address,value", "full_daddress=on", "full_data=on"],
    ),
    case("data-address", "data trace without values", &["data=address", "csr_diff_width=0"]),
    case("data-value", "data trace without addresses", &["data=value", "no_address=on"]),
    case("data-no-value", "data trace without values, by its option", &["data=address", "no_data=on"]),
    case(
        "data-xor",
        "data values by XOR",
        &["data=address,value", "data_compression=xor", "data_diff_width=1"],
    ),
    case(
        "data-difference",
        "data values by difference",
        &["data=address,value", "data_compression=difference"],
    ),
    case("data-split", "split loads", &["data=address,value", "split_loads=1", "lrid_width=2"]),
    case(
        "data-narrow",
        "loads and stores only, in narrow fields",
        &["data=address,value", "dtype_width=1", "daddress_width=40", "data_width=32", "csr_width=64"],
    ),
    case("data-draft", "data packets of the draft 2.0.5", &["data=address,value", "mmacas_ext=1"]),
    case(
        "data-reference",
        "data packets of the reference model",
        &["data=address,value", "data_dialect=reference"],
    ),
];

/// Options of N-Trace that all cases have, unless they say otherwise.
pub const NTRACE_BASE: &[&str] = &[
    "implicit_return=off",
    "sequential_jump=0",
    "extend_addr_msb=0",
    "repeated_history=off",
    "resync_max=15",
    "context=off",
];

/// Cases of N-Trace.
pub const NTRACE: &[Spec] = &[
    case("plain", "branch history, no option is on", &[]),
    with(Rv32, "plain32", "branch history, RV32", &[]),
    case("branch", "a message for each taken branch", &["mode=branch"]),
    with(Rv32, "branch32", "a message for each taken branch, RV32", &["mode=branch"]),
    case("branch-repeat", "branch messages that repeat are counted", &["mode=branch", "repeated_branch=on"]),
    case(
        "branch-sync",
        "branch messages with regular synchronisation",
        &["mode=branch", "resync_mode=packets", "resync_max=0"],
    ),
    case(
        "all",
        "all options are on",
        &[
            "implicit_return=stack",
            "sequential_jump=1",
            "extend_addr_msb=1",
            "repeated_history=on",
            "context=on",
            "resync_mode=packets",
            "resync_max=1",
            "timestamps=all",
        ],
    ),
    with(
        Rv32,
        "all32",
        "all options are on, RV32",
        &[
            "implicit_return=stack",
            "sequential_jump=1",
            "extend_addr_msb=1",
            "repeated_history=on",
            "context=on",
            "resync_mode=packets",
            "resync_max=1",
            "timestamps=all",
        ],
    ),
    case("return-stack", "returns by a stack of 4 addresses", &["implicit_return=stack", "calls=4"]),
    case("return-low", "returns by the low bits of a stack of addresses", &["implicit_return=low"]),
    case("sequential", "jumps whose target the instruction before gives", &["sequential_jump=1"]),
    case("all-jumps", "direct jumps are reported", &["all_jumps=1"]),
    case("branch-all-jumps", "direct jumps are reported, in branch mode", &["all_jumps=1", "mode=branch"]),
    case("extend", "identical top bits of addresses are dropped", &["extend_addr_msb=1"]),
    case("sources", "the source's number in each message", &["src_bits=5", "id=17"]),
    case("repeat", "histories that repeat are counted", &["repeated_history=on"]),
    case("short-history", "histories of 5 branches", &["history_branches=5"]),
    case("short-counter", "a counter of 6 bits", &["icnt_bits=6"]),
    case("sync-off", "never synchronises again", &["resync_mode=off"]),
    case("sync-packets", "synchronises after 16 messages", &["resync_mode=packets", "resync_max=0"]),
    case("sync-cycles", "synchronises after 64 cycles", &["resync_mode=cycles", "resync_max=2"]),
    case("sync-half-words", "synchronises after 128 half-words", &["resync_mode=half_words", "resync_max=3"]),
    case("context", "privilege and contexts are told", &["context=on"]),
    case("traps", "exceptions and interrupts are both traps", &["trap_kinds=off"]),
    case("time-all", "each message has a time", &["timestamps=all"]),
    case(
        "time-syncs",
        "messages that synchronise have a time, of 16 bits",
        &["timestamps=syncs", "ts_width=16", "resync_mode=packets", "resync_max=0"],
    ),
    case(
        "sifive",
        "messages of SiFive's hardware before 1.0",
        &["dialect=sifive", "context=on", "timestamps=all"],
    ),
    case("version-1", "the standard, version 1.0", &["version=1.0"]),
    with(When("start at pattern; stop at accesses"), "part", "tracing begins and ends", &[]),
    with(Loss, "lost", "messages are lost", &[]),
];

/// Returns why no case reaches a packet.
pub fn unreached(protocol: &str, kind: &str) -> &'static str {
    match (protocol, kind) {
        ("ntrace", "Idle") | (_, "Ignore") => "padding, which an encoder need not send",
        ("etrace", "Other type") => "a payload that is neither te_inst nor te_data",
        ("ntrace", "DataAcquisition" | "AuxAccessWrite" | "InCircuitTrace" | "InCircuitTraceSync") => {
            "SiFive's: software or events write it, which the kit has not"
        }
        ("ntrace", "Other") => "a vendor's message",
        (_, "Extension") => "the first byte of others",
        (_, "Function Return") => "of Armv8-M",
        (_, "Address 64 IS1" | "Address+Context 64 IS1") => "T32 has addresses of 32 bits",
        (_, kind) if kind.starts_with("Conditional") => {
            "conditional instructions: the reference does not trace them"
        }
        (_, kind) if kind.starts_with("Data Sync") => "of data trace, which the reference has not",
        (_, kind) if kind.starts_with("Source") || kind.starts_with("Transaction") => "of ETE",
        (_, "Instrumentation" | "PE Reset" | "Timestamp Marker") => "of ETE",
        _ => "",
    }
}
