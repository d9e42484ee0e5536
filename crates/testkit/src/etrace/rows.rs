//! Rows of the tables of the reference flow and the old C codec.

use std::collections::HashMap;

use tracewright_etrace::packet::{
    Address, BranchCount, BranchMap, Context, Packet, QualStatus, Start, Support, Trap,
};
use tracewright_etrace::{Options, Params};

/// Fields of a row by name, without absent ones (`_`).
struct Row<'a>(HashMap<&'a str, &'a str>);

impl<'a> Row<'a> {
    fn all(csv: &'a str) -> impl Iterator<Item = Self> {
        let mut lines = csv.lines();
        let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        lines.map(move |line| {
            let fields = names.iter().copied().zip(line.split(','));
            Self(fields.filter(|(_, field)| *field != "_").collect())
        })
    }

    fn hex(&self, name: &str) -> Option<u64> {
        self.0.get(name).map(|field| u64::from_str_radix(field, 16).unwrap())
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).map(|field| field.parse().unwrap_or_else(|_| panic!("{name} {field}")))
    }

    fn flag(&self, name: &str) -> bool {
        self.number(name).unwrap() != 0
    }
}

/// Parses the packets of a reference flow's `te_inst.csv`. Its flags are the bits that were sent; a flag is asserted
/// where it differs from the bit before.
pub fn te_inst(csv: &str, params: &Params) -> Vec<Packet> {
    let mut options = Options::default();
    let mut packets = Vec::new();
    for row in Row::all(csv) {
        let packet = packet(&row, params, &options);
        if let Packet::Support(support) = &packet {
            options = support.ioptions;
        }
        packets.push(packet);
    }
    packets
}

/// Parses the packets of the C codec's `packets.csv`; `None` for support packets, which it does not describe. Addresses
/// are present even if none was sent. There are no contexts: the programs run in machine mode.
pub fn c_codec(csv: &str, params: &Params) -> Vec<Option<Packet>> {
    let signed = |row: &Row<'_>| Address {
        value: row.hex("address").unwrap() << params.iaddress_lsb,
        notify: false,
        updiscon: row.flag("updiscon"),
        returns: row.flag("irfail").then(|| row.number("irdepth").unwrap() as u32),
    };
    let packet = |row: Row<'_>| {
        let branches = row.number("branches").unwrap() as u8;
        let map = row.hex("branch_map").unwrap() as u32;
        let format = (row.number("format").unwrap(), row.0["subformat"]);
        Some(match format {
            (3, "3") => return None,
            (3, "0") => Packet::Start(Start {
                taken: !row.flag("branch"),
                context: Context { privilege: 3, ..Context::default() },
                address: signed(&row).value,
            }),
            (2, _) => Packet::Address(signed(&row)),
            (1, _) if branches == 0 => Packet::Branches(BranchMap::new(map, 31), None),
            (1, _) => Packet::Branches(BranchMap::new(map, branches), Some(signed(&row))),
            (0, "0") => {
                let fmt = row.number("branch_fmt").unwrap();
                let count = row.number("correct_predictions").unwrap();
                let address = (fmt != 0).then(|| signed(&row));
                Packet::BranchCount(BranchCount { count, failed: fmt != 2, address })
            }
            (0, "1") => Packet::JumpTarget {
                index: row.number("jtc_index").unwrap() as u32,
                branches: BranchMap::new(map, branches),
                returns: signed(&row).returns,
            },
            other => panic!("{other:?}"),
        })
    };
    Row::all(csv).map(packet).collect()
}

fn packet(row: &Row<'_>, params: &Params, options: &Options) -> Packet {
    match (row.number("format").unwrap(), row.number("subformat")) {
        (3, Some(0)) => Packet::Start(Start {
            taken: !row.flag("branch"),
            context: context(row),
            address: row.hex("address").unwrap() << params.iaddress_lsb,
        }),
        (3, Some(1)) => Packet::Trap(Trap {
            taken: !row.flag("branch"),
            context: context(row),
            ecause: row.number("ecause").unwrap(),
            interrupt: row.flag("interrupt"),
            thaddr: row.flag("thaddr"),
            address: row.hex("address").map(|address| address << params.iaddress_lsb),
            tval: row.hex("tval"),
        }),
        (3, Some(2)) => Packet::Context(context(row)),
        (3, Some(3)) => Packet::Support(support(row)),
        (2, None) => Packet::Address(address(row, params, options).unwrap()),
        (1, None) => {
            let address = address(row, params, options);
            let map = row.number("branch_map").unwrap() as u32;
            let branches = row.number("branches").unwrap() as u8;
            let branches = if address.is_none() { 31 } else { branches };
            Packet::Branches(BranchMap::new(map, branches), address)
        }
        (0, Some(0)) => Packet::BranchCount(BranchCount {
            count: 31 + row.number("branch_count").unwrap(),
            failed: row.number("branch_fmt").unwrap() != 2,
            address: address(row, params, options),
        }),
        other => panic!("{other:?}"),
    }
}

fn context(row: &Row<'_>) -> Context {
    Context {
        privilege: row.number("privilege").unwrap() as u8,
        time: row.number("time").unwrap_or_default(),
        context: row.number("context").unwrap_or_default(),
    }
}

fn support(row: &Row<'_>) -> Support {
    let bits = row.number("ioptions").unwrap();
    let bit = |at: u32| bits >> at & 1 != 0;
    let qual_status =
        [QualStatus::NoChange, QualStatus::EndedRep, QualStatus::TraceLost, QualStatus::EndedNtr]
            [row.number("qual_status").unwrap() as usize];
    Support {
        ienable: row.flag("ienable"),
        encoder_mode: row.number("encoder_mode").unwrap() as u8,
        qual_status,
        ioptions: Options {
            implicit_return: bit(0),
            implicit_exception: bit(1),
            full_address: bit(2),
            jump_target_cache: bit(3),
            branch_prediction: bit(4),
            sijump: false,
        },
        denable: row.number("denable").is_some_and(|value| value != 0),
        dloss: row.number("dloss").is_some_and(|value| value != 0),
        ..Support::default()
    }
}

fn address(row: &Row<'_>, params: &Params, options: &Options) -> Option<Address> {
    let sent = row.hex("address")?;
    let width = params.address_bits();
    let msb = sent >> (width - 1) & 1 != 0;
    let (notify, updiscon) = (row.flag("notify"), row.flag("updiscon"));
    let irreport = row.flag("irreport");
    let value = if options.full_address || !msb { sent } else { sent | u64::MAX << 1 << (width - 1) };
    Some(Address {
        value: value << params.iaddress_lsb,
        notify: notify != msb,
        updiscon: updiscon != notify,
        returns: (irreport != updiscon).then(|| row.number("irdepth").unwrap() as u32),
    })
}
