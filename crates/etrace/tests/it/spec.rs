//! Examples of the specifications, each parsed, emitted and printed.

use tracewright_etrace::packet::{
    self, Address, BranchCount, BranchMap, Context, Malformed, Packet, PayloadBytes, QualStatus, Start,
    Support, Trap,
};
use tracewright_etrace::stream::{Config, Content, Encapsulation, Message, Parser};
use tracewright_etrace::{Options, Params, SupportLayout, data};
use tracewright_testkit::etrace::read;

/// Returns the encoder of the worked examples: contexts of 32 bits, causes of 5, addresses with all their
/// bits.
fn example() -> Params {
    Params { iaddress_lsb: 0, nocontext: false, ..Params::default() }
}

fn full() -> Options {
    Options { full_address: true, ..Options::default() }
}

#[track_caller]
fn check(bytes: &[u8], packet: Packet, words: &str, params: &Params, options: &Options) {
    assert_eq!(packet::parse(bytes, params, options), Ok(packet));
    let mut payload = PayloadBytes::default();
    packet::emit(&packet, params, &mut payload).unwrap();
    assert_eq!(payload[..], *bytes);
    assert_eq!(format!("{} {}", packet.name(), packet.details(options)), words);
}

/// Checks a packet of the worked examples.
#[track_caller]
fn check_example(bytes: &[u8], packet: Packet, words: &str) {
    check(bytes, packet, words, &example(), &full());
}

fn at(value: u64) -> Address {
    Address { value, ..Address::default() }
}

fn map(letters: &str) -> BranchMap {
    let mut map = BranchMap::default();
    letters.bytes().for_each(|letter| map.push(letter == b'T'));
    map
}

const MACHINE: Context = Context { privilege: 3, time: 0, context: 0 };

mod instruction_trace {
    use super::*;

    #[test]
    fn format_1() {
        let packet = Packet::Branches(map("T"), Some(at(0x8000_0104)));
        check_example(&[0x05, 0x04, 0x01, 0, 0x80, 0], packet, "Branches T, 0x80000104");
    }

    #[test]
    fn format_2() {
        let packet = Packet::Address(at(0x8000_010c));
        check_example(&[0x32, 0x04, 0, 0, 0x02], packet, "Address 0x8000010c");
    }

    /// The text has `73 00 00 00 00 6c 00 00 10` for 0x800001b0, which is another address.
    #[test]
    fn format_3_start() {
        let packet = |address| Packet::Start(Start { taken: false, context: MACHINE, address });
        let right = [0x73, 0, 0, 0, 0, 0xd8, 0, 0, 0x40];
        check_example(&right, packet(0x8000_01b0), "Start 0x800001b0, M");
        let printed = [0x73, 0, 0, 0, 0, 0x6c, 0, 0, 0x10];
        check_example(&printed, packet(0x2000_00d8), "Start 0x200000d8, M");
    }

    #[test]
    fn format_3_trap() {
        let trap = Trap { context: MACHINE, ecause: 2, tval: Some(0), ..Trap::default() };
        let exception = Packet::Trap(Trap { address: Some(0x8000_0222), ..trap });
        let bytes = [0x77, 0, 0, 0, 0, 0x81, 0x88, 0, 0, 0x20];
        check_example(&bytes, exception, "Exception cause 2, tval 0x0, at 0x80000222, M");
        let trap = Trap { context: MACHINE, ecause: 7, interrupt: true, thaddr: true, ..Trap::default() };
        let interrupt = Packet::Trap(Trap { address: Some(0x8000_01b0), ..trap });
        let bytes = [0x77, 0, 0, 0, 0x80, 0x33, 0x6c, 0, 0, 0x20];
        check_example(&bytes, interrupt, "Interrupt cause 7, handler 0x800001b0, M");
    }

    /// With implicit exceptions, the handler's address is left out.
    #[test]
    fn format_3_trap_without_address() {
        let options = Options { implicit_exception: true, ..full() };
        let trap = Trap { context: MACHINE, ecause: 5, thaddr: true, tval: Some(0x10), ..Trap::default() };
        let params = Params { nocontext: true, ..example() };
        let words = "Exception cause 5, tval 0x10, handler not sent, M";
        check(&[0xf7, 0x22, 0x04], Packet::Trap(trap), words, &params, &options);
    }

    #[test]
    fn format_3_context() {
        let context = Context { privilege: 0, time: 0, context: 0x1234 };
        check_example(&[0x0b, 0x8d, 0x04], Packet::Context(context), "Context U, context 0x1234");
    }

    #[test]
    fn format_0() {
        let params = Params { bpred_size: 7, cache_size: 7, ..example() };
        let options = Options { branch_prediction: true, jump_target_cache: true, ..Options::default() };
        let count = BranchCount { count: 42, failed: true, address: None };
        let words = "Branch Count 42 foretold, then one that was not";
        check(&[0x58], Packet::BranchCount(count), words, &params, &options);
        let target = Packet::JumpTarget { index: 0x72, branches: map("TN"), returns: None };
        check(&[0x94, 0x0b, 0x01], target, "Jump Target TN, cache entry 114", &params, &options);
    }

    /// A flag differs from the bit before it, so it depends on the sign of that.
    #[test]
    fn flags() {
        let params =
            Params { iaddress_width: 16, iaddress_lsb: 1, call_counter_size: 3, ..Params::default() };
        let options = Options::default();
        let address =
            |value, notify, updiscon, returns| Packet::Address(Address { value, notify, updiscon, returns });
        // Bits 2 to 16 are the address, 17 notify, 18 updiscon, 19 irreport, 20 to 22 irdepth.
        check(&[0x22], address(0x10, false, false, None), "Address +0x10", &params, &options);
        let minus = address(0u64.wrapping_sub(0x10), false, false, None);
        check(&[0xe2], minus, "Address -0x10", &params, &options);
        let notify = address(0x10, true, false, None);
        check(&[0x22, 0, 0xfe], notify, "Address +0x10, notify", &params, &options);
        let updiscon = address(0x10, false, true, None);
        check(&[0x22, 0, 0xfc], updiscon, "Address +0x10, updiscon", &params, &options);
        let both = address(0x10, true, true, None);
        check(&[0x22, 0, 0x02], both, "Address +0x10, notify, updiscon", &params, &options);
        let returns = address(0x10, false, false, Some(5));
        check(&[0x22, 0, 0xd8], returns, "Address +0x10, returns 5", &params, &options);
    }

    /// The reference model sends `irdepth` as ones, whatever `irreport` is. It can be read and written.
    #[test]
    fn irdepth_of_the_reference_model() {
        let params =
            Params { iaddress_width: 16, iaddress_lsb: 1, call_counter_size: 3, ..Params::default() };
        let packet = Packet::Address(at(0x10));
        let bytes = [0x22, 0, 0xf0];
        assert_eq!(packet::parse(&bytes, &params, &Options::default()), Ok(packet));
        assert!(!packet::is_canonical(&bytes, &packet, &params));
        let ones = Params { irdepth_ones: true, ..params.clone() };
        check(&bytes, packet, "Address +0x10", &ones, &Options::default());
        // Neither all ones nor repeated.
        let error = packet::parse(&[0x22, 0, 0x10], &params, &Options::default());
        assert_eq!(error, Err(Malformed::Field("irdepth")));
    }
}

mod support {
    use super::*;

    fn on(ioptions: Options) -> Support {
        Support { ienable: true, ioptions, ..Support::default() }
    }

    #[test]
    fn reference() {
        check_example(&[0x1f, 0x04], Packet::Support(on(full())), "Support on, full_address");
        let ended = Support { qual_status: QualStatus::EndedRep, ..Support::default() };
        check_example(&[0x4f], Packet::Support(ended), "Support off, ended, reported");
        let data = data::Options { no_data: true, ..data::Options::default() };
        let data = Support { denable: true, doptions: data, ..on(Options::default()) };
        let words = "Support on; data on, no_data";
        check_example(&[0x1f, 0x20, 0x01], Packet::Support(data), words);
    }

    /// Support packet that `rv_tracer` sends when it starts.
    #[test]
    fn pulp() {
        let params = Params { support: SupportLayout::Pulp, address_bytes: true, ..example() };
        let options = Options::default();
        check(&[0x0f, 0x40], Packet::Support(Support::default()), "Support off", &params, &options);
    }

    #[test]
    fn standard() {
        let params = Params {
            support: SupportLayout::Standard,
            iret_ext: true,
            notime: false,
            time_width: 48,
            f0s_width: 1,
            return_stack_size: 3,
            bpred_size: 6,
            cache_size: 5,
            ..example()
        };
        let options = Options { sijump: true, implicit_return: true, ..Options::default() };
        let packet = Packet::Support(on(options));
        let words = "Support on, implicit_return, sijump";
        let bytes = [0x1f, 0x06, 0xd7, 0xc0, 0x05];
        check(&bytes, packet, words, &params, &options);
        let other = Params { return_stack_size: 4, ..params };
        let error = packet::parse(&bytes, &other, &options);
        assert_eq!(error, Err(Malformed::Params("return_stack_size")));
    }
}

mod malformed {
    use super::*;

    #[track_caller]
    fn fails(bytes: &[u8], why: Malformed, options: &Options) {
        let params = Params { bpred_size: 7, cache_size: 7, f0s_width: 2, nocontext: true, ..example() };
        assert_eq!(packet::parse(bytes, &params, options), Err(why));
    }

    #[test]
    fn what_no_encoder_sends() {
        let both = Options { branch_prediction: true, jump_target_cache: true, ..Options::default() };
        fails(&[], Malformed::Length, &both);
        fails(&[0x00], Malformed::Format, &Options::default());
        fails(&[0x08], Malformed::Field("subformat"), &both);
        fails(&[0x04], Malformed::Format, &Options { jump_target_cache: false, ..both });
        fails(&[0, 0, 0, 0, 0x10, 0], Malformed::Field("branch_fmt"), &both);
        fails(&[0x53, 0], Malformed::Field("privilege"), &both);
        fails(&[0x3f, 0], Malformed::Field("encoder_mode"), &both);
        // Formats 2 and 1 with more bytes than they have bits for.
        fails(&[0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0], Malformed::Length, &both);
        fails(&[0x01, 0, 0, 0, 0, 0], Malformed::Length, &both);
    }
}

mod encapsulation {
    use super::*;

    fn config(encapsulation: Encapsulation) -> Config {
        Config { params: example(), encapsulation, options: full(), ..Config::default() }
    }

    fn messages(config: Config, bytes: &[u8]) -> Vec<Message> {
        read(Parser::new(config), [bytes]).into_iter().map(|(.., message)| message).collect()
    }

    /// A source of 6 bits, and a type of 2 bits whose meaning the application defines.
    #[test]
    fn source_and_type() {
        let standard = Encapsulation::Standard { source_bits: 6, timestamp_bytes: 0, type_bits: 2 };
        let instruction = Content::Instruction(Packet::Address(at(0x8000_010c)));
        for (byte, content) in [(0x81, Content::Other { kind: 2 }), (0x01, instruction)] {
            let messages = messages(config(standard), &[0x06, byte, 0x32, 0x04, 0, 0, 0x02]);
            assert_eq!(messages, [Message { source: 1, flow: 0, timestamp: None, content }]);
        }
    }

    /// The header's length excludes whole bytes of the source and the timestamp.
    #[test]
    fn timestamps() {
        let standard = Encapsulation::Standard { source_bits: 8, timestamp_bytes: 2, type_bits: 0 };
        let bytes = [0xc5, 0x07, 0x34, 0x12, 0x32, 0x04, 0, 0, 0x02, 0x00, 0x20, 0x80];
        let content = Content::Instruction(Packet::Address(at(0x8000_010c)));
        let null = |flow, content| Message { source: 0, flow, timestamp: None, content };
        let expected = [
            Message { source: 7, flow: 2, timestamp: Some(0x1234), content },
            null(0, Content::Idle),
            null(1, Content::Idle),
            null(0, Content::Alignment),
        ];
        assert_eq!(messages(config(standard), &bytes), expected);
    }

    #[test]
    fn smi() {
        let content = Content::Instruction(Packet::Address(at(0x8000_010c)));
        let messages = messages(config(Encapsulation::Smi), &[0x45, 0x32, 0x04, 0, 0, 0x02]);
        assert_eq!(messages, [Message { source: 0, flow: 0, timestamp: None, content }]);
    }

    #[test]
    fn widths() {
        let check = |source_bits, timestamp_bytes, type_bits| {
            config(Encapsulation::Standard { source_bits, timestamp_bytes, type_bits }).check()
        };
        assert_eq!(check(16, 8, 8), Ok(()));
        assert_eq!(check(17, 0, 0).unwrap_err().to_string(), "source_bits: 17 is more than 16");
        assert_eq!(check(0, 9, 0).unwrap_err().name, "timestamp_bytes");
        assert_eq!(check(0, 0, 9).unwrap_err().name, "type_bits");
    }

    #[test]
    fn an_end_within_a_message() {
        let messages = messages(config(Encapsulation::Smi), &[0x45, 0x32, 0x04]);
        assert_eq!(messages[0].content, Content::Incomplete);
    }
}
