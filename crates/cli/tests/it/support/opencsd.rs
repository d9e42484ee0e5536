//! OpenCSD 1.8.0's listings of real chips' captures, by name.

use std::path::Path;
use std::process::Command;

use tracewright_testkit::{captures_for, skip};

/// Listings of packets and elements, both: of ETMv4, of ETMv4 and 265 MB long, and of ETE.
pub const ETM4: &str = "juno_r1_1 juno-uname-002 juno-ret-stck a57_single_step armv8_1m_branches";
pub const LARGEST: &str = "bugfix-exact-match";
pub const ETE: &str = "001-ack_test ete_ip ete_ip_src_addr_N ete_mem ete_spec_1 ete_spec_3 ete-ite-instr \
    ete-ite-instr_multi_sess ete-wfet event_test feat_cmpbr infrastructure maxspec0_commopt1 pauth_lr \
    pauth_lr_multi_sess q_elem q_elem_multi_sess s_9001 s_9001_multi_sess src_addr src_addr_src_addr_N \
    texit-poe2 tme_simple tme_test trace_file_cid_vmid ts_bit64_set ts_marker";
/// Listings of packets alone, and those with checks that OpenCSD can be asked to make; see DIFFERENCES.md.
pub const PACKETS: &str = "a55-test-tpiu init-short-addr";
pub const CHECKED: &str = "juno_r1_1_badopcode juno_r1_1_badopcode_flag juno_r1_1_rangelimit";
/// Listings of other protocols.
const OTHER: &str = "Snowball TC2 itm_only_csformat stm-issue-27 stm_only stm_only-2 tc2-ptm-rstk-t32";

/// The capture of a listing, and the options by which we read the same buffers.
pub fn capture(listing: &str) -> (&str, &'static [&'static str]) {
    let cut = ["_multi_sess", "_src_addr_N", "_badopcode", "_badopcode_flag", "_rangelimit"];
    let capture = cut.iter().find_map(|suffix| listing.strip_suffix(suffix)).unwrap_or(listing);
    (capture, if listing.ends_with("_multi_sess") { &["--buffer", "all"] } else { &[] })
}

/// Calls `check` with the folder of captures and each of the listings, until it says that `xz` is not here.
pub fn each(test: &str, listings: &str, check: impl Fn(&Path, &str) -> Option<()>) {
    let Some(coresight) = captures_for(test, "coresight") else { return };
    for listing in listings.split_whitespace() {
        if check(&coresight, listing).is_none() {
            return skip(test, "no xz program");
        }
    }
}

/// The command that unpacks a listing.
pub fn unpack(coresight: &Path, listing: &str) -> Command {
    let mut command = Command::new("xz");
    command.arg("-dc").arg(coresight.join(format!("listings/{listing}.ppl.xz")));
    command
}

/// Each listing is among those that are compared, or else of another kind.
pub fn assert_none_is_forgotten(compared: &[&str], other: &[&str]) {
    let Some(listings) = captures_for("no_listing_is_forgotten", "coresight/listings") else { return };
    let has = |lists: &[&str], name: &str| {
        lists.iter().flat_map(|list| list.split_whitespace()).any(|of| of == name)
    };
    for entry in listings.read_dir().unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let name = file.strip_suffix(".ppl.xz").unwrap();
        let is_other = has(&[other, &[OTHER]].concat(), name);
        assert!(is_other != has(compared, name), "{name} is not compared");
    }
}
