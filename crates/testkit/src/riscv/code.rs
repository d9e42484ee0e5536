//! Code without addresses.

use super::asm;

/// An instruction, or a double word of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub bits: u64,
    pub len: u8,
    /// Mnemonic; empty for data.
    pub name: &'static str,
}

/// Target of an address.
#[derive(Clone, Copy, Debug)]
pub(super) enum Symbol {
    Function(usize),
    /// Offset from the base register.
    Data(i32),
    /// An item of this code.
    Item(usize),
}

/// Dependence of an item on addresses.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fixup {
    /// `jal`.
    Jump(Symbol),
    /// `auipc` and the I-type instruction after it, to this many bytes after the symbol.
    Pair(Symbol, i32),
    /// `lui` and the I-type instruction after it.
    Absolute(Symbol),
    /// A double word with the address.
    Address(Symbol),
}

/// Consecutive instructions, with what must be patched when addresses are known.
#[derive(Clone, Debug, Default)]
pub(super) struct Code {
    pub items: Vec<Item>,
    pub fixups: Vec<(usize, Fixup)>,
    pub bytes: i32,
    /// Maximum number of instructions that run from its start to its end, including called functions.
    pub cost: u64,
}

impl Code {
    pub fn push(&mut self, name: &'static str, bits: u32) {
        let len = if bits & 3 == 3 { 4 } else { 2 };
        debug_assert!(len == 4 || bits < 1 << 16, "{name}");
        self.items.push(Item { bits: bits.into(), len, name });
        self.bytes += i32::from(len);
        self.cost += 1;
    }

    pub fn push_fixed(&mut self, name: &'static str, bits: u32, fixup: Fixup) {
        self.fixups.push((self.items.len(), fixup));
        self.push(name, bits);
    }

    /// Appends a double word with an address. It is no instruction and must be jumped over.
    pub fn address(&mut self, symbol: Symbol) {
        self.fixups.push((self.items.len(), Fixup::Address(symbol)));
        self.items.push(Item { bits: 0, len: 8, name: "" });
        self.bytes += 8;
    }

    /// Appends two bytes that are no instruction and must be jumped over.
    pub fn illegal(&mut self) {
        self.items.push(Item { bits: 0, len: 2, name: "" });
        self.bytes += 2;
    }

    pub fn append(&mut self, other: &Code) {
        let first = self.items.len();
        self.fixups.extend(other.fixups.iter().map(|&(item, mut fixup)| {
            use Fixup::{Absolute, Address, Jump, Pair};
            let (Jump(symbol) | Pair(symbol, _) | Absolute(symbol) | Address(symbol)) = &mut fixup;
            if let Symbol::Item(item) = symbol {
                *item += first;
            }
            (item + first, fixup)
        }));
        self.items.extend_from_slice(&other.items);
        self.bytes += other.bytes;
        self.cost += other.cost;
    }

    /// Patches the code for its address. `address_of` returns the addresses of everything but its own items.
    pub fn place(&mut self, start: u64, address_of: impl Fn(Symbol) -> u64) {
        let addresses: Vec<u64> = self
            .items
            .iter()
            .scan(start, |at, item| {
                let address = *at;
                *at += u64::from(item.len);
                Some(address)
            })
            .collect();
        let address_of = |symbol| match symbol {
            Symbol::Item(item) => addresses[item],
            other => address_of(other),
        };
        for &(item, fixup) in &self.fixups {
            let distance = |symbol| address_of(symbol).wrapping_sub(addresses[item]) as i64;
            match fixup {
                Fixup::Jump(symbol) => {
                    self.items[item].bits |= u64::from(asm::j(0, narrow(distance(symbol))));
                }
                Fixup::Pair(symbol, more) => pair(&mut self.items, item, narrow(distance(symbol)) + more),
                Fixup::Absolute(symbol) => pair(&mut self.items, item, narrow(address_of(symbol) as i64)),
                Fixup::Address(symbol) => self.items[item].bits = address_of(symbol),
            }
        }
    }
}

/// Writes the upper part into one item, and the lower, which is signed, into the next.
fn pair(items: &mut [Item], item: usize, value: i32) {
    items[item].bits |= u64::from(asm::u(0, 0, value.wrapping_add(0x800)));
    items[item + 1].bits |= u64::from(asm::i(0, 0, 0, 0, value));
}

fn narrow(value: i64) -> i32 {
    i32::try_from(value).expect("code and data are within 2 GiB of each other")
}
