use super::{NAME, Tag, check, check_by_others, texts, told};
use crate::{Bin, Lane, Lanes};

const WIDTH: u64 = 3000;

/// A lane of bins by number.
fn lane(name: &str, bins: usize, bin: impl Fn(usize) -> (u64, u64)) -> Lane {
    let bins = (0..bins).map(bin).map(|(busy, stalled)| Bin { busy, stalled });
    Lane { name: name.into(), bins: bins.collect() }
}

fn lanes(lanes: Vec<Lane>, end: u64, unknown: Vec<u64>) -> Lanes {
    let (title, subtitle) = ("Functions along the run".into(), "an example".into());
    Lanes { title, subtitle, start: 0, end, bin_width: WIDTH, lanes, unknown }
}

/// A run of some loops, one after another in each of twelve rounds.
fn example() -> Vec<Lane> {
    let phase = |from: usize, to: usize, busy: u64| {
        move |i: usize| {
            let at = i.saturating_sub(30) % 62;
            if i >= 30 && (from..to).contains(&at) { (busy, WIDTH - busy) } else { (0, 0) }
        }
    };
    let mix = |part: u64| move |i: usize| (part * (i as u64 % 7) / 6, (i as u64 * 31 % 90) * part / 600);
    vec![
        lane("link_ring", 30, |_| (2200, 800)),
        lane("walk_short_list", 774, phase(33, 40, 2830)),
        lane("walk_scattered_list", 774, phase(0, 33, 620)),
        lane("sum_in_order", 774, phase(40, 50, 2870)),
        lane("stir_registers", 774, phase(50, 61, 3000)),
        lane(
            "std::__detail::_Map_base<unsigned long, std::pair<unsigned long const, Entry>>::at",
            774,
            mix(900),
        ),
        lane("mix", 774, mix(200)),
        lane("print_decimal", 774, |i| if i > 771 { (500, 400) } else { (0, 0) }),
        lane("print_string", 774, |i| if i > 772 { (500, 300) } else { (0, 0) }),
        lane("memcpy", 774, |i| (u64::from(i % 100 == 3) * 70, 0)),
        lane("never_called", 774, |_| (0, 0)),
    ]
}

/// How much of the plot is covered by a colour, each square by its strength, as its path says.
fn areas(tags: &[Tag], class: &str) -> Vec<(f64, f64)> {
    let paths = tags.iter().filter(|tag| tag.name == "path" && tag.get("class") == Some(class));
    paths
        .map(|tag| {
            let squares = tag.get("d").unwrap().split('z').filter(|square| !square.is_empty());
            let area = |square: &str| {
                let numbers: Vec<f64> =
                    square.split(['M', ' ', 'h', 'v', 'H']).filter_map(|n| n.parse().ok()).collect();
                assert_eq!(numbers.len(), 5, "{square}");
                numbers[2] * numbers[3]
            };
            (tag.number("fill-opacity"), squares.map(area).sum())
        })
        .collect()
}

#[test]
fn lanes_are_in_the_order_of_their_cycles() {
    let svg = lanes(example(), 774 * WIDTH - 400, vec![]).svg(20);
    let tags = check("lanes", &svg);
    let all = texts(&tags);
    let at = |name: &str| {
        all.iter().position(|text| text.starts_with(name)).unwrap_or_else(|| panic!("{name} {all:?}"))
    };
    assert!(at("walk_scattered_list") < at("stir_registers") && at("stir_registers") < at("link_ring"));
    assert!(!all.contains(&"never_called") && !all.contains(&"(trace was lost)"));
    // 12 times 33 bins.
    assert_eq!(all[at("walk_scattered_list") + 1], "1 188 000");
    assert_eq!(all[at("walk_scattered_list") + 3], "79.3 %");
    let long = all.iter().find(|text| text.starts_with("std::")).unwrap();
    assert!(long.contains('…') && long.ends_with("::at"), "{long}");
    assert!(
        told(&tags).iter().any(|text| text.starts_with("std::__detail::_Map_base<unsigned long, std::pair<"))
    );
    for tick in ["0", "0.5 M", "1.0 M", "2.0 M"] {
        assert!(all.contains(&tick), "{all:?}");
    }
    check_by_others(&svg);
}

#[test]
fn functions_beyond_the_most_are_one_lane() {
    let all = example();
    let sum: u64 = all.iter().map(Lane::total).map(|total| total.busy + total.stalled).sum();
    for most in [0, 1, 3, 8, 9, 10, usize::MAX] {
        let svg = lanes(example(), 774 * WIDTH, vec![]).svg(most);
        let tags = check("lanes-most", &svg);
        let totals = told(&tags);
        let totals: Vec<_> = totals.iter().filter_map(|text| text.split_once(" cycles: ")).collect();
        // Each lane tells it at both sides; none takes the room of a lane for one function alone.
        assert_eq!(totals.len() / 2, if most >= 9 { 10 } else { most + 1 }, "{most}");
        let cycles = totals.iter().map(|text| text.0.rsplit('\n').next().unwrap().replace(' ', ""));
        assert_eq!(cycles.map(|cycles| cycles.parse::<u64>().unwrap()).sum::<u64>(), 2 * sum, "{most}");
        let others = format!("{} others", 10 - most.min(10));
        assert_eq!(texts(&tags).contains(&others.as_str()), most < 9, "{most}");
    }
}

#[test]
fn strength_is_the_part_of_the_time_and_height_the_part_stalled() {
    // Bins of 3000 in 800 pixels: two of them, each 400 wide, in a lane that is 20 high.
    let half = lane("half", 2, |i| if i == 0 { (1000, 2000) } else { (150, 150) });
    let tags = check("lanes-two", &lanes(vec![half], 2 * WIDTH, vec![]).svg(5));
    let close = |found: &[(f64, f64)], expected: &[(f64, f64)]| {
        let same =
            |((a, b), (c, d)): (&(f64, f64), &(f64, f64))| (a - c).abs() < 0.005 && (b - d).abs() < 51.0;
        assert!(
            found.len() == expected.len() && found.iter().zip(expected).all(same),
            "{found:?} {expected:?}"
        );
    };
    close(&areas(&tags, "busy"), &[(0.21, 4000.0), (1.0, 8000.0 / 3.0)]);
    close(&areas(&tags, "stalled"), &[(0.21, 4000.0), (1.0, 16000.0 / 3.0)]);
    // A last bin that the end cuts short is full with less.
    let short = lane("short", 2, |i| if i == 0 { (3000, 0) } else { (0, 1000) });
    let tags = check("lanes-short", &lanes(vec![short], WIDTH + 1000, vec![]).svg(5));
    close(&areas(&tags, "busy"), &[(1.0, 12000.0)]);
    close(&areas(&tags, "stalled"), &[(1.0, 4000.0)]);
}

#[test]
fn lost_time_is_hatched() {
    let mut all = example();
    let mut unknown = vec![0; 774];
    unknown[200..320].fill(WIDTH);
    unknown[500..640].iter_mut().step_by(5).for_each(|cycles| *cycles = 700);
    for lane in &mut all {
        lane.bins
            .iter_mut()
            .zip(&unknown)
            .filter(|(_, lost)| **lost > 0)
            .for_each(|(bin, _)| *bin = Bin::default());
    }
    let svg = lanes(all, 774 * WIDTH, unknown).svg(4);
    let tags = check("lanes-lost", &svg);
    let hatched: Vec<_> = tags.iter().filter(|tag| tag.get("fill") == Some("url(#unknown)")).collect();
    // In the legend, and over all lanes; a lane of its own has the small ones, too, weaker.
    assert_eq!(hatched.len(), 2);
    assert!((hatched[1].number("width") - 120.0 / 774.0 * 800.0).abs() < 1.0, "{hatched:?}");
    let lost = areas(&tags, "lost");
    assert_eq!(lost.len(), 2);
    assert!((lost[0].0 - 0.384).abs() < 0.01 && (28.0 * 20.0..=56.0 * 20.0).contains(&lost[0].1), "{lost:?}");
    assert!(lost[1].0 == 1.0 && (lost[1].1 - hatched[1].number("width") * 20.0).abs() < 0.1, "{lost:?}");
    assert!(texts(&tags).contains(&"379 600"));
    // With it, all parts are the whole.
    let percents = texts(&tags).into_iter().filter_map(|text| text.strip_suffix(" %")?.parse().ok());
    let percents: Vec<f64> = percents.collect();
    let of_all: f64 = percents.chunks(2).map(|pair| pair[0]).sum();
    assert!((of_all - 100.0).abs() < 0.4, "{percents:?}");
    check_by_others(&svg);
}

#[test]
fn nothing_and_nonsense_are_drawn() {
    assert!(texts(&check("lanes-none", &lanes(vec![], 0, vec![]).svg(10))).contains(&"no cycles"));
    // More bins than pixels; bins behind the end; an end before the start; no width; the largest numbers.
    let many = |bins| lane(NAME, bins, |i| (i as u64 % 3, 1));
    check("lanes-many", &lanes(vec![many(100_000)], 100_000 * WIDTH, vec![1; 100_000]).svg(10));
    let huge = lane(&"x".repeat(1 << 20), 800, |_| (1, 1));
    assert!(
        lanes(vec![huge], 800 * WIDTH, vec![]).svg(10).len() < 3 << 20,
        "a long name is not told at every place"
    );
    check("lanes-behind", &lanes(vec![many(1000)], 10 * WIDTH, vec![5; 3000]).svg(10));
    let largest = || lane(NAME, 900, |_| (u64::MAX, u64::MAX));
    for (start, end, bin_width) in [
        (10, 5, 1),
        (0, 100, 0),
        (0, u64::MAX, 1),
        (0, u64::MAX, u64::MAX),
        (u64::MAX - 5, u64::MAX, 2),
        (0, 1 << 60, 1 << 51),
    ] {
        let lanes =
            Lanes { start, end, bin_width, ..lanes(vec![many(900), largest()], 0, vec![u64::MAX; 900]) };
        let svg = lanes.svg(1);
        check("lanes-large", &svg);
        check_by_others(&svg);
    }
}
