use super::{NAME, check, check_by_others, texts, told};
use tracewright_profile::Bucket;

use crate::Histogram;

/// The bucket of powers of two whose longest is this power.
fn bucket(power: u32, count: u64, cycles: u64) -> Bucket {
    let to = 1u64 << power;
    Bucket { from: if power == 0 { 1 } else { to / 2 + 1 }, to, count, cycles }
}

fn picture(name: &str, subtitle: &str, buckets: &[Bucket]) -> String {
    let svg =
        Histogram { title: "How long stalls are", subtitle, thing: "stall", unit: "cycles", buckets }.svg();
    check(name, &svg);
    svg
}

/// Heights of the bars of a class, the square of the legend not among them.
fn heights(svg: &str, class: &str) -> Vec<f64> {
    let tags = super::parse(svg).unwrap();
    let bars = tags.iter().filter(|tag| tag.name == "rect" && tag.get("class") == Some(class));
    bars.skip(1).map(|tag| tag.number("height")).collect()
}

/// As the hart's model `rocket_like` gives them for `programs/bin/misses.elf`.
const MISSES: &[(u32, u64, u64)] = &[
    (0, 74, 74),
    (1, 14, 28),
    (2, 214, 703),
    (3, 4_146, 24_876),
    (4, 69, 910),
    (5, 50_720, 964_475),
    (6, 12, 742),
];

#[test]
fn bars_are_parts_of_all() {
    let buckets: Vec<_> = MISSES.iter().map(|&(power, count, cycles)| bucket(power, count, cycles)).collect();
    let svg = picture("histogram", "misses.elf, rocket_like", &buckets);
    let tags = check("histogram", &svg);
    let all = texts(&tags);
    assert!(
        all.contains(&"part of all 55 249 stalls") && all.contains(&"part of their 991 808 cycles"),
        "{all:?}"
    );
    for name in ["1", "2", "3–4", "17–32", "33–64", "50 720", "964 475", "80 %"] {
        assert!(all.contains(&name), "{name} {all:?}");
    }
    // All heights together are 100 %, which is 260 high, but for those that are made a pixel high.
    for class in ["busy", "stalled"] {
        let heights = heights(&svg, class);
        assert_eq!(heights.len(), MISSES.len());
        let sum: f64 = heights.iter().filter(|&&height| height > 1.0).sum();
        assert!((258.0..=260.0).contains(&sum), "{class} {sum}");
    }
    assert_eq!(
        told(&tags)[5],
        "17 to 32 cycles\n50 720 stalls, 91.8 % of all\n964 475 cycles, 97.2 % of all"
    );
    check_by_others(&svg);
}

#[test]
fn any_number_of_buckets_fits() {
    let one = picture("histogram-1", "one bucket", &[bucket(6, 12, 768)]);
    assert_eq!((heights(&one, "busy"), heights(&one, "stalled")), (vec![260.0], vec![260.0]));
    let none = picture("histogram-0", "none", &[]);
    assert!(none.contains(">no stalls<") && heights(&none, "busy").is_empty());
    let buckets: Vec<_> =
        (0..40).map(|i| bucket(i, (1 << 40 >> i) + 3, (1 << i.max(4)) + (1 << 39 >> i) * 3)).collect();
    let many = picture("histogram-40", "forty buckets", &buckets);
    assert_eq!(heights(&many, "busy").len(), 40);
    // Nothing but zeros, and only one of two numbers.
    let zeros = picture("histogram-zeros", "only zeros", &[bucket(0, 0, 0), bucket(1, 0, 0)]);
    assert!(heights(&zeros, "busy").is_empty());
    let half = picture("histogram-half", "one without cycles", &[bucket(0, 5, 0), bucket(1, 0, 7)]);
    assert_eq!((heights(&half, "busy").len(), heights(&half, "stalled").len()), (1, 1));
}

#[test]
fn large_numbers_and_left_out_lengths_are_shown() {
    let large = 1 << 60;
    let mut buckets: Vec<_> = (50..=60).map(|i| bucket(i, large, large + i as u64)).collect();
    buckets.insert(0, bucket(3, 1, large));
    buckets.push(Bucket { from: (1 << 63) + 1, to: u64::MAX, count: u64::MAX, cycles: u64::MAX });
    let svg = picture("histogram-large", "up to the largest number", &buckets);
    let tags = check("histogram-large", &svg);
    let all = texts(&tags);
    assert_eq!(all.iter().filter(|&&text| text == "…").count(), 2);
    assert!(all.contains(&"over 8 Ei") && all.contains(&"512 Pi–1 Ei"), "{all:?}");
    assert!(all.contains(&"part of all 31 128 880 624 384 868 352 stalls"), "{all:?}");
    check_by_others(&svg);
}

#[test]
fn headings_are_escaped_and_cut() {
    let title = NAME.repeat(30);
    let svg = Histogram {
        title: &title,
        subtitle: NAME,
        thing: "stall",
        unit: "cycles",
        buckets: &[bucket(0, 1, 1)],
    }
    .svg();
    let tags = check("histogram-names", &svg);
    assert!(texts(&tags)[0].contains('…') && texts(&tags)[1].starts_with("a<'b'>::operator<<&\""));
    assert!(tags[1].text.len() > 500, "the whole of it is told");
    check_by_others(&svg);
}
