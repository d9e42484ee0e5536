//! Decoder as in the specification's pseudo-code: one instruction at a time, slow and obvious. It trusts the
//! trace and takes the first of several possible paths.

use std::collections::VecDeque;

use tracewright_core::{Flow, Isa, MemorySpace, Role};
use tracewright_etrace::packet::{Address, BranchMap, Packet, QualStatus};
use tracewright_etrace::{JumpTargets, Options, Params, Predictor};
use tracewright_image::Image;
use tracewright_isa::riscv::{self, Instruction, Op, Xlen};

/// Most steps.
const MOST_STEPS: u32 = 5_000_000;

pub struct Twin<'i> {
    image: &'i Image,
    isa: Isa,
    params: Params,
    options: Options,
    keeps_predictor: bool,
    pc: u64,
    last_pc: u64,
    address: u64,
    /// Outcomes of the next branches.
    branches: VecDeque<bool>,
    /// Number of further branches that follow the predictor.
    foretold: u64,
    /// Whether the branch after those was mispredicted.
    fails: bool,
    stop_at_last_branch: bool,
    /// Address of a report that may mean a later occurrence, and its depth of calls.
    inferred: Option<(u64, Option<u32>)>,
    is_start: bool,
    privilege: u8,
    calls: Vec<u64>,
    predictor: Predictor,
    targets: JumpTargets,
    /// Addresses of the instructions that ran, including ECALL and EBREAK.
    ran: Vec<u64>,
}

/// Position that a packet reports.
#[derive(Clone, Copy)]
struct Report {
    address: u64,
    notify: bool,
    updiscon: bool,
    returns: Option<u32>,
    /// Privilege (format 3).
    privilege: Option<u8>,
}

impl<'i> Twin<'i> {
    fn new(params: &Params, options: Options, keeps_predictor: bool, image: &'i Image, isa: Isa) -> Self {
        Self {
            image,
            isa,
            params: params.clone(),
            options,
            keeps_predictor,
            pc: 0,
            last_pc: 0,
            address: 0,
            branches: VecDeque::new(),
            foretold: 0,
            fails: false,
            stop_at_last_branch: false,
            inferred: None,
            is_start: true,
            privilege: 0,
            calls: Vec::new(),
            predictor: Predictor::new(params),
            targets: JumpTargets::new(params),
            ran: Vec::new(),
        }
    }

    /// Returns the addresses of the retired instructions; fails if the program cannot have run so.
    pub fn follow(
        packets: &[Packet],
        params: &Params,
        keeps_predictor: bool,
        image: &'i Image,
        isa: Isa,
    ) -> Result<Vec<u64>, String> {
        let mut twin = Self::new(params, Options::default(), keeps_predictor, image, isa);
        for (i, packet) in packets.iter().enumerate() {
            twin.packet(packet).map_err(|why| format!("packet {i} {packet}: {why}"))?;
        }
        // Some instructions raise a trap and never retire.
        let retires = |address: &u64| {
            twin.instruction(*address).is_ok_and(|found| !matches!(found.op, Op::Ecall | Op::Ebreak))
        };
        Ok(twin.ran.iter().copied().filter(retires).collect())
    }

    /// Handles a packet; fails if the program cannot have run so.
    fn packet(&mut self, packet: &Packet) -> Result<(), String> {
        match *packet {
            Packet::Support(support) => {
                self.options = support.ioptions;
                if support.qual_status == QualStatus::EndedNtr {
                    self.run_on()?;
                }
                self.is_start |= support.qual_status != QualStatus::NoChange;
                Ok(())
            }
            Packet::Context(_) => Ok(()),
            Packet::Trap(trap) => {
                self.is_start = true;
                if !trap.thaddr {
                    // A start packet gives the handler.
                    return Ok(());
                }
                let address = trap.address.ok_or("no handler")?;
                self.sync(address, trap.taken, trap.context.privilege)
            }
            Packet::Start(start) => self.sync(start.address, start.taken, start.context.privilege),
            Packet::Address(sent) => self.report(BranchMap::default(), &sent),
            Packet::Branches(map, Some(sent)) => self.report(map, &sent),
            Packet::Branches(map, None) => {
                self.run_on()?;
                self.stop_at_last_branch = true;
                self.add(map);
                self.follow_to(None)
            }
            Packet::JumpTarget { index, branches, returns } => {
                self.run_on()?;
                self.address = self.targets.get(index as usize).ok_or("no such target")?;
                self.arrive(branches, &Address { returns, ..Address::default() })
            }
            Packet::BranchCount(count) => {
                self.run_on()?;
                self.foretold = count.count;
                self.fails = count.failed;
                let Some(sent) = count.address else {
                    self.stop_at_last_branch = true;
                    return self.follow_to(None);
                };
                self.receive(&sent);
                self.arrive(BranchMap::default(), &sent)
            }
        }
    }

    fn sync(&mut self, address: u64, taken: bool, privilege: u8) -> Result<(), String> {
        self.inferred = None;
        self.address = address;
        if self.is_start {
            self.branches.clear();
        }
        if is_branch(&self.instruction(address)?) {
            self.branches.push_back(taken);
        }
        if self.is_start {
            (self.pc, self.last_pc) = (address, address);
            self.ran.push(address);
        } else {
            let privilege = Some(privilege);
            self.follow_to(Some(Report {
                address,
                notify: false,
                updiscon: false,
                returns: None,
                privilege,
            }))?;
        }
        self.calls.clear();
        self.targets.reset();
        if !self.keeps_predictor {
            self.predictor.reset();
        }
        (self.privilege, self.is_start) = (privilege, false);
        Ok(())
    }

    fn receive(&mut self, sent: &Address) {
        let base = if self.options.full_address { 0 } else { self.address };
        self.address = self.params.address(base.wrapping_add(sent.value));
    }

    fn report(&mut self, map: BranchMap, sent: &Address) -> Result<(), String> {
        self.run_on()?;
        self.receive(sent);
        self.arrive(map, sent)
    }

    /// Arrives at the received address.
    fn arrive(&mut self, map: BranchMap, sent: &Address) -> Result<(), String> {
        let &Address { notify, updiscon, returns, .. } = sent;
        let address = self.address;
        self.stop_at_last_branch = is_branch(&self.instruction(address)?);
        self.add(map);
        self.follow_to(Some(Report { address, notify, updiscon, returns, privilege: None }))
    }

    fn add(&mut self, map: BranchMap) {
        self.branches.extend((0..map.count()).map(|i| map.bits() >> i & 1 == 0));
    }

    /// Runs on to the target of a jump that the last report meant.
    fn run_on(&mut self) -> Result<(), String> {
        if let Some((address, returns)) = self.inferred.take() {
            for _ in 0..MOST_STEPS {
                if self.step(address, returns)? {
                    return Ok(());
                }
            }
            return Err("no second occurrence".into());
        }
        Ok(())
    }

    fn left(&self) -> u64 {
        self.branches.len() as u64 + self.foretold + u64::from(self.fails)
    }

    fn follow_to(&mut self, report: Option<Report>) -> Result<(), String> {
        for _ in 0..MOST_STEPS {
            let address = report.map_or(self.address, |report| report.address);
            let is_target = self.step(address, report.and_then(|report| report.returns))?;
            let at_branch = is_branch(&self.instruction(self.pc)?);
            let is_format_3 = report.is_some_and(|report| report.privilege.is_some());
            if !is_format_3 && self.stop_at_last_branch && at_branch && self.left() == 1 {
                self.stop_at_last_branch = false;
                self.pend();
                return Ok(());
            }
            let is_done = self.left() == u64::from(at_branch);
            if is_target {
                self.pend();
                return if is_done { Ok(()) } else { Err("branches are left".into()) };
            }
            let Some(report) = report else { continue };
            if self.pc != address || !is_done {
                continue;
            }
            let last = self.instruction(self.last_pc)?;
            if let Some(privilege) = report.privilege {
                if privilege == self.privilege || last.class().role == Role::ExceptionReturn {
                    return Ok(());
                }
                continue;
            }
            let fits = report.returns.is_none_or(|depth| depth as usize == self.calls.len());
            if report.notify && fits {
                self.pend();
                return Ok(());
            }
            if !report.updiscon && fits {
                self.pend();
                self.inferred = Some((address, report.returns));
                return Ok(());
            }
        }
        Err(format!("never came to {:#x}", self.address))
    }

    /// Settles the outcome of the branch here, if the predictor has to be asked.
    fn pend(&mut self) {
        if self.left() == 1 && self.branches.is_empty() {
            let foretells = self.predictor.foretells(self.pc);
            self.branches.push_back(foretells != self.fails);
            (self.foretold, self.fails) = (0, false);
        }
    }

    /// Runs the next instruction. Returns whether it is the target of an uninferable jump.
    fn step(&mut self, address: u64, returns: Option<u32>) -> Result<bool, String> {
        let instruction = self.instruction(self.pc)?;
        let class = instruction.class();
        let (this, after) = (self.pc, self.pc.wrapping_add(instruction.len.into()));
        let paired = match self.instruction(self.last_pc) {
            Ok(last) if self.options.sijump && self.last_pc.wrapping_add(last.len.into()) == this => {
                riscv::sequentially_inferable(&last, self.last_pc, &instruction)
            }
            _ => None,
        };
        let is_return = class.role == Role::Return && class.flow == Flow::Indirect;
        let is_implicit = self.options.implicit_return
            && is_return
            && !self.calls.is_empty()
            && returns.is_none_or(|depth| depth as usize != self.calls.len());
        let mut is_target = false;
        self.pc = match class.flow {
            Flow::Direct if class.conditional => match self.outcome(this)? {
                true => instruction.target(this),
                false => after,
            },
            Flow::Direct => instruction.target(this),
            Flow::Indirect if paired.is_some() => paired.unwrap_or_default(),
            Flow::Indirect if is_implicit => self.calls.pop().unwrap_or_default(),
            Flow::Indirect => {
                is_target = true;
                if self.options.jump_target_cache {
                    self.targets.insert(address);
                }
                address
            }
            _ => after,
        };
        self.pc = self.params.address(if self.isa == Isa::Rv32 { self.pc & 0xffff_ffff } else { self.pc });
        if self.options.implicit_return && class.role == Role::Call {
            self.calls.push(after);
        }
        self.last_pc = this;
        self.ran.push(self.pc);
        Ok(is_target)
    }

    fn outcome(&mut self, branch: u64) -> Result<bool, String> {
        let taken = match self.branches.pop_front() {
            Some(taken) => taken,
            None if self.foretold > 0 => {
                self.foretold -= 1;
                self.predictor.foretells(branch)
            }
            None => return Err(format!("nothing is said of the branch at {branch:#x}")),
        };
        if self.options.branch_prediction {
            self.predictor.update(branch, taken);
        }
        Ok(taken)
    }

    fn instruction(&self, address: u64) -> Result<Instruction, String> {
        let mut bytes = [0; 4];
        if self.image.read_into(address, MemorySpace::ANY, &mut bytes) < 2 {
            return Err(format!("no code at {address:#x}"));
        }
        let xlen = if self.isa == Isa::Rv32 { Xlen::Rv32 } else { Xlen::Rv64 };
        Ok(riscv::decode(xlen, u32::from_le_bytes(bytes)))
    }
}

fn is_branch(instruction: &Instruction) -> bool {
    instruction.class().conditional
}
