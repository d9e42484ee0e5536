use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use tracewright_core::TraceId;
use tracewright_frames::{Framer, Options};

use crate::Scratch;

/// A trace of one source for the lister: the trace unit, and the program that it traced.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Type of the trace unit, as snapshots name it, such as `ETM3.5`.
    pub device: &'a str,
    /// Registers of the trace unit, with the trace ID among them.
    pub registers: &'a [(&'a str, u32)],
    /// Trace ID.
    pub id: u8,
    /// Type of the core, such as `Cortex-A7`. `None` for trace units that trace no core.
    pub core: Option<&'a str>,
    /// Memory of the core: address and bytes.
    pub memory: &'a [(u64, &'a [u8])],
    /// The trace, without frames.
    pub bytes: &'a [u8],
}

impl Source<'_> {
    /// Returns what `trc_pkt_lister` lists, with these options besides. Writes a snapshot for it.
    pub fn list(&self, options: &[&str]) -> String {
        let folder = Scratch::new("lister");
        let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).unwrap();
        let mut frames = Vec::new();
        let mut framer = Framer::new(Options::default());
        framer.push(TraceId::new(self.id).unwrap(), self.bytes, &mut frames).unwrap();
        framer.flush(&mut frames);
        write("trace.bin", &frames);
        let mut snapshot = "[snapshot]\nversion=1.0\n[device_list]\ndevice0=source.ini\n".to_owned();
        let mut trace = "[trace_buffers]\nbuffers=buffer0\n[buffer0]\nname=ETB_0\nfile=trace.bin\n\
                         format=coresight\n[source_buffers]\nSOURCE_0=ETB_0\n"
            .to_owned();
        if let Some(core) = self.core {
            snapshot += "device1=core.ini\n";
            trace += "[core_trace_sources]\ncpu_0=SOURCE_0\n";
            let mut of_core = format!("[device]\nname=cpu_0\nclass=core\ntype={core}\n");
            for (index, (address, bytes)) in self.memory.iter().enumerate() {
                let file = format!("memory{index}.bin");
                // The lister reads four bytes for each instruction.
                write(&file, &[bytes, &[0; 4][..]].concat());
                write!(of_core, "[dump{index}]\nfile={file}\naddress={address:#x}\n").unwrap();
            }
            write("core.ini", of_core.as_bytes());
        }
        snapshot += "[trace]\nmetadata=trace.ini\n";
        let mut of_source =
            format!("[device]\nname=SOURCE_0\nclass=trace_source\ntype={}\n[regs]\n", self.device);
        for (name, value) in self.registers {
            writeln!(of_source, "{name}={value:#x}").unwrap();
        }
        write("source.ini", of_source.as_bytes());
        write("snapshot.ini", snapshot.as_bytes());
        write("trace.ini", trace.as_bytes());
        let listing = folder.join("listing.ppl");
        let ran = Command::new("trc_pkt_lister")
            .args(["-ss_dir", folder.path().to_str().unwrap(), "-logfilename", &listing])
            .args(options)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8_lossy(&fs::read(&listing).unwrap()).into_owned()
    }
}
