//! Properties of any program on any processor.

use tracewright_core::Ended;
use tracewright_hart::Trap;
use tracewright_hart::timing::Config;
use tracewright_testkit::Rng;

use super::program::*;

/// Returns any configuration: a preset, some of its lines replaced by other valid ones.
fn any_config(rng: &mut Rng) -> Config {
    let names: Vec<_> = Config::preset_names().collect();
    let mut config = Config::preset(rng.pick::<&str>(&names)).unwrap();
    for _ in 0..rng.below(12) {
        let text = config.to_text();
        let lines: Vec<&str> =
            text.lines().filter(|line| line.contains(" = ") && !line.starts_with('#')).collect();
        let name = rng.pick(&lines).split(' ').next().unwrap();
        let values =
            [rng.below(5).to_string(), (1 << rng.below(8)).to_string(), "static".into(), "complete".into()];
        let value = rng.pick(&values);
        let edited: Vec<String> = lines
            .iter()
            .map(|line| {
                if line.split(' ').next() == Some(name) {
                    format!("{name} = {value}")
                } else {
                    (*line).into()
                }
            })
            .collect();
        config = Config::parse(&edited.join("\n")).unwrap_or(config);
    }
    config
}

fn any_instruction(rng: &mut Rng) -> u32 {
    let [rd, rs1, rs2] = [(); 3].map(|()| rng.below(32) as u32);
    match rng.below(12) {
        0 => mul(rd, rs1, rs2),
        1 => div(rd, rs1, rs2),
        2 | 3 => ld(rd, rs1),
        4 => sd(rs2, rs1),
        5 => fadd_d(rd, rs1, rs2),
        6 => amoadd(rd, rs1, rs2),
        7 if rng.one_in(8) => csr(rd),
        8 => rng.next_u64() as u32 & 0xffff & !2,
        9 => rng.next_u64() as u32,
        _ => addi(rd, rs1),
    }
}

#[test]
fn cycles_never_go_back_and_never_hold_more_than_the_width() {
    let mut rng = Rng::new(9);
    for _ in 0..300 {
        let config = any_config(&mut rng);
        let mut run = Run::new(&config);
        let code = rng.sized(20);
        for _ in 0..60 {
            let mut bits: Vec<u32> = (0..1 + rng.below(20)).map(|_| any_instruction(&mut rng)).collect();
            let addresses: Vec<u64> = bits.iter().map(|_| rng.sized(40)).collect();
            let ended = *rng.pick(&[Ended::Taken, Ended::NotTaken, Ended::Cut]);
            if ended != Ended::Cut {
                let link = *rng.pick(&[0, 1, 5, 6]);
                let branches =
                    [bne_back(), beq_forward(), jal(link), jalr(link, 1), jalr(link, 5), 0x3020_0073];
                bits.push(*rng.pick(&branches));
            }
            run.accessing(code + rng.below(50) * 2, &bits, &addresses, ended);
            if rng.one_in(10) {
                let pc = rng.sized(20);
                run.model.trap(&Trap { pc, cause: 0, interrupt: false, value: 0, next: pc, served: true });
            }
        }
        assert!(run.cycles.is_sorted());
        let width = config.retire_width as usize;
        assert!(run.cycles.iter().zip(run.cycles.iter().skip(width)).all(|(a, b)| a < b), "{config:?}");
        // Issue is not faster than its width, nor slower than the longest latencies.
        let stats = run.stats();
        assert!(stats.cycles * u64::from(config.issue_width) >= stats.instructions);
        assert!(stats.cpi() < 30_000.0);
        assert!(stats.busy <= stats.cycles.min(stats.instructions));
    }
}

#[test]
fn the_same_blocks_give_the_same_cycles_however_cut() {
    let mut rng = Rng::new(10);
    for _ in 0..50 {
        let config = any_config(&mut rng);
        let bits: Vec<u32> = (0..40).map(|_| addi(rng.below(32) as u32, rng.below(32) as u32)).collect();
        let mut whole = Run::new(&config);
        whole.block(0x100, &bits, Ended::Cut);
        let mut parts = Run::new(&config);
        let at = 1 + rng.below(39) as usize;
        parts.block(0x100, &bits[..at], Ended::Cut);
        parts.block(0x100 + 4 * at as u64, &bits[at..], Ended::Cut);
        assert_eq!(whole.cycles, parts.cycles);
        assert_eq!(whole.stats(), parts.stats());
    }
}
