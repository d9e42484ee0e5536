//! Boot ROM: a few instructions that jump to the program, and a description of the machine.

/// Reset address.
pub(super) const START: u64 = 0x1000;
/// Size in bytes.
pub(super) const SIZE: u64 = 0x1000;

/// Bytes of its code.
pub(super) const CODE: usize = 20;

/// Returns the bytes at [`START`].
pub(super) fn rom(is_rv32: bool, entry: u64, memory: u64, pmp_regions: u8) -> Vec<u8> {
    let load = if is_rv32 { 0x0182_a283 } else { 0x0182_b283 };
    // auipc t0, 0; addi a1, t0, 32; csrr a0, mhartid; ld t0, 24(t0); jr t0
    let code: [u32; 6] = [0x0000_0297, 0x0202_8593, 0xf140_2573, load, 0x0002_8067, 0];
    let mut bytes: Vec<u8> = code.into_iter().flat_map(u32::to_le_bytes).collect();
    bytes.extend(entry.to_le_bytes());
    bytes.extend(device_tree(is_rv32, memory, pmp_regions));
    bytes
}

fn device_tree(is_rv32: bool, memory: u64, pmp_regions: u8) -> Vec<u8> {
    let mut tree = Tree::default();
    let (isa, mmu) = if is_rv32 { ("rv32imafdc", "riscv,sv32") } else { ("rv64imafdc", "riscv,sv57") };
    tree.node("", |tree| {
        tree.cells("#address-cells", &[2]);
        tree.cells("#size-cells", &[2]);
        tree.text("compatible", &["ucbbar,spike-bare-dev"]);
        tree.text("model", &["ucbbar,spike-bare"]);
        tree.node("chosen", |tree| {
            tree.text("stdout-path", &["/soc/ns16550@10000000"]);
            tree.text("bootargs", &["console=ttyS0 earlycon"]);
        });
        tree.node("cpus", |tree| {
            tree.cells("#address-cells", &[1]);
            tree.cells("#size-cells", &[0]);
            tree.cells("timebase-frequency", &[10_000_000]);
            tree.node("cpu@0", |tree| {
                tree.text("device_type", &["cpu"]);
                tree.cells("reg", &[0]);
                tree.text("status", &["okay"]);
                tree.text("compatible", &["riscv"]);
                tree.text("riscv,isa", &[isa]);
                tree.text("mmu-type", &[mmu]);
                tree.cells("riscv,pmpregions", &[pmp_regions.into()]);
                tree.cells("riscv,pmpgranularity", &[4]);
                tree.cells("clock-frequency", &[1_000_000_000]);
                tree.node("interrupt-controller", |tree| {
                    tree.cells("#address-cells", &[2]);
                    tree.cells("#interrupt-cells", &[1]);
                    tree.cells("interrupt-controller", &[]);
                    tree.text("compatible", &["riscv,cpu-intc"]);
                    tree.cells("phandle", &[1]);
                });
            });
        });
        tree.node("memory@80000000", |tree| {
            tree.text("device_type", &["memory"]);
            tree.cells("reg", &[0, 0x8000_0000, (memory >> 32) as u32, memory as u32]);
        });
        tree.node("soc", |tree| {
            tree.cells("#address-cells", &[2]);
            tree.cells("#size-cells", &[2]);
            tree.text("compatible", &["ucbbar,spike-bare-soc", "simple-bus"]);
            tree.cells("ranges", &[]);
            tree.node("clint@2000000", |tree| {
                tree.text("compatible", &["riscv,clint0"]);
                tree.cells("interrupts-extended", &[1, 3, 1, 7]);
                tree.cells("reg", &[0, 0x0200_0000, 0, 0xc_0000]);
            });
            tree.node("plic@c000000", |tree| {
                tree.text("compatible", &["riscv,plic0"]);
                tree.cells("#address-cells", &[2]);
                tree.cells("interrupts-extended", &[1, 11, 1, 9]);
                tree.cells("reg", &[0, 0x0c00_0000, 0, 0x0100_0000]);
                tree.cells("riscv,ndev", &[31]);
                tree.cells("riscv,max-priority", &[15]);
                tree.cells("#interrupt-cells", &[1]);
                tree.cells("interrupt-controller", &[]);
                tree.cells("phandle", &[2]);
            });
            tree.node("ns16550@10000000", |tree| {
                tree.text("compatible", &["ns16550a"]);
                tree.cells("clock-frequency", &[10_000_000]);
                tree.cells("interrupt-parent", &[2]);
                tree.cells("interrupts", &[1]);
                tree.cells("reg", &[0, 0x1000_0000, 0, 0x100]);
                tree.cells("reg-shift", &[0]);
                tree.cells("reg-io-width", &[1]);
            });
        });
        tree.node("htif", |tree| tree.text("compatible", &["ucb,htif0"]));
    });
    tree.finish()
}

/// A device tree under construction.
#[derive(Default)]
struct Tree {
    structure: Vec<u8>,
    names: Vec<u8>,
}

const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const END: u32 = 9;

impl Tree {
    fn node(&mut self, name: &str, inside: impl FnOnce(&mut Self)) {
        self.word(BEGIN_NODE);
        self.structure.extend(name.bytes().chain([0]));
        self.align();
        inside(self);
        self.word(END_NODE);
    }

    fn cells(&mut self, name: &str, cells: &[u32]) {
        self.property(name, &cells.iter().flat_map(|cell| cell.to_be_bytes()).collect::<Vec<_>>());
    }

    fn text(&mut self, name: &str, texts: &[&str]) {
        self.property(name, &texts.iter().flat_map(|text| text.bytes().chain([0])).collect::<Vec<_>>());
    }

    fn property(&mut self, name: &str, value: &[u8]) {
        let name: Vec<u8> = name.bytes().chain([0]).collect();
        let known = self.names.windows(name.len()).position(|window| window == name);
        let at = known.unwrap_or_else(|| {
            self.names.extend(&name);
            self.names.len() - name.len()
        });
        self.word(PROPERTY);
        self.word(value.len() as u32);
        self.word(at as u32);
        self.structure.extend(value);
        self.align();
    }

    fn word(&mut self, word: u32) {
        self.structure.extend(word.to_be_bytes());
    }

    fn align(&mut self) {
        while !self.structure.len().is_multiple_of(4) {
            self.structure.push(0);
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.word(END);
        let header = 40;
        let reserved = [0; 16];
        let structure_at = header + reserved.len();
        let names_at = structure_at + self.structure.len();
        let total = names_at + self.names.len();
        let (names, structure) = (self.names.len(), self.structure.len());
        let words = [0xd00d_feed, total, structure_at, names_at, header, 17, 16, 0, names, structure];
        let mut bytes: Vec<u8> = words.into_iter().flat_map(|word| (word as u32).to_be_bytes()).collect();
        bytes.extend(reserved);
        bytes.extend(self.structure);
        bytes.extend(self.names);
        bytes
    }
}
