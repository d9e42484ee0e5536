use tracewright_core::{Block, Context, Ended, Flow};

use crate::registers::{Registers, field};
use crate::{CoreProfile, Params};

/// The options that the registers enable.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) branch_broadcast: bool,
    pub(super) return_stack: bool,
    pub(super) cycle_counts: bool,
    pub(super) timestamps: bool,
    pub(super) timestamp_markers: bool,
    pub(super) max_spec: u32,
    pub(super) cycle_counts_commit: bool,
    pub(super) ete: bool,
    pub(super) m_profile: bool,
    /// ETE: Transaction Start is a P0 element.
    pub(super) transactions_are_p0: bool,
    context_ids: bool,
    vmids: bool,
    waits_are_p0: bool,
}

impl Config {
    pub(super) fn new(registers: &Registers, params: &Params) -> Self {
        let on = |bit| field(registers.trcconfigr, bit, bit) == 1;
        let newer = params.is_ete() || params.version() >= (4, 3);
        Self {
            branch_broadcast: on(3),
            return_stack: on(12),
            cycle_counts: on(4),
            timestamps: on(11),
            timestamp_markers: on(11) && field(registers.trcidr0, 23, 23) == 1,
            max_spec: params.max_spec,
            cycle_counts_commit: params.cycle_counts_commit,
            ete: params.is_ete(),
            m_profile: params.profile() == CoreProfile::M,
            transactions_are_p0: field(registers.trcidr0, 30, 30) == 0,
            context_ids: on(6) && params.context_id_bytes != 0,
            vmids: on(7) && params.vmid_bytes != 0,
            waits_are_p0: newer && field(registers.trcidr2, 31, 31) == 1,
        }
    }

    /// Returns the atom of a block, if it ends in a P0 instruction.
    #[inline]
    pub(super) fn atom(&self, block: &Block) -> Option<bool> {
        let p0 = match block.class.flow {
            Flow::Next => false,
            Flow::Direct | Flow::Indirect | Flow::Pair | Flow::Isb => true,
            Flow::Wait => self.waits_are_p0,
            Flow::TransactionStart => self.ete,
        };
        (p0 && block.ended != Ended::Cut).then_some(block.ended != Ended::NotTaken)
    }

    /// Returns the part of a context that is traced.
    pub(super) fn traced(&self, context: &Context) -> Context {
        Context {
            vmid: context.vmid.filter(|_| self.vmids),
            context_id: context.context_id.filter(|_| self.context_ids),
            ..*context
        }
    }
}
