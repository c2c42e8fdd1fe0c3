//! What is made: the same bytes each time, of the sizes and kinds that were asked for.

use super::*;

fn made(entries: &Entries, kind: MadeKind, which: Which) -> Vec<u8> {
    let mut out = Vec::new();
    entries.make(kind, which, &mut out);
    out
}

fn which(number: u64) -> Which {
    Which { seed: 1, worker: 3, number }
}

/// Every kind of content, with everything that an entry may have.
fn rich() -> Entries {
    Entries {
        bytes: Size::LogNormal { median: 2000.0, sigma: 0.8, max: 100_000 },
        content_weights: [1.0; 5],
        categories_max: 3,
        summary_share: 0.3,
        ..Entries::default()
    }
}

#[test]
fn the_same_entry_is_the_same_bytes_and_another_is_not() {
    let entries = rich();
    for kind in [MadeKind::Entry, MadeKind::Media] {
        let first = made(&entries, kind, which(7));
        assert_eq!(made(&entries, kind, which(7)), first);
        assert_ne!(made(&entries, kind, which(8)), first);
        assert_ne!(made(&entries, kind, Which { worker: 4, ..which(7) }), first);
        assert_ne!(made(&entries, kind, Which { seed: 2, ..which(7) }), first);
    }
    // What was made by one version has to be found by the next: these bytes never change.
    let known = String::from_utf8(made(&Entries::default(), MadeKind::Entry, which(7))).unwrap();
    assert_eq!(known, include_str!("known.xml"));
}

#[test]
fn sizes_are_those_that_were_asked_for() {
    let sizes = |entries: &Entries| -> Vec<f64> {
        (0..2000).map(|n| made(entries, MadeKind::Entry, which(n)).len() as f64).collect()
    };
    let all = sizes(&Entries::default());
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let deviation =
        (all.iter().map(|size| (size - mean).powi(2)).sum::<f64>() / all.len() as f64).sqrt();
    // Words are not cut, so they are a little longer than what was drawn.
    assert!((615.0..635.0).contains(&mean), "{mean}");
    assert!((50.0..70.0).contains(&deviation), "{deviation}");
    let mut all = sizes(&Entries { content_weights: [1.0, 1.0, 1.0, 0.0, 0.0], ..rich() });
    all.sort_by(f64::total_cmp);
    assert!((1_850.0..2_250.0).contains(&all[1000]), "{}", all[1000]);
    let media = Entries { media_bytes: Size::Uniform(100, 103), ..Entries::default() };
    for number in 0..100 {
        let bytes = made(&media, MadeKind::Media, which(number));
        assert!((100..=103).contains(&bytes.len()), "{}", bytes.len());
        let head = match made(&media, MadeKind::Type, which(number)).as_slice() {
            b"image/jpeg" => &b"\xFF\xD8\xFF\xE0\x00\x10JFIF\0"[..],
            b"image/png" => b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR",
            b"image/gif" => b"GIF89a",
            other => panic!("{other:?}"),
        };
        assert!(bytes.starts_with(head), "{number}");
    }
}

#[test]
fn a_seed_s_mix_has_its_shares() {
    let entries = Entries { content_weights: [40.0, 40.0, 20.0, 0.0, 0.0], ..Entries::default() };
    let mut counts = [0; 5];
    for number in 0..5000 {
        let entry = String::from_utf8(made(&entries, MadeKind::Entry, which(number))).unwrap();
        for (count, kind) in counts.iter_mut().zip(ContentKind::ALL) {
            *count += usize::from(entry.contains(&format!("<content type=\"{}\"", kind.name())));
        }
        // Each fiftieth is in other scripts, and says which it is like the others.
        assert_eq!(!entry.is_ascii() && number % 50 == 49, number % 50 == 49, "{entry}");
        assert!(entry.contains(&format!("worker=\"3\" seq=\"{number}\"/>")), "{entry}");
    }
    let near = |count: usize, expected: usize| count.abs_diff(expected) < 150;
    assert!(near(counts[0], 2000) && near(counts[1], 2000) && near(counts[2], 1000), "{counts:?}");
    let whole = String::from_utf8(made(&entries, MadeKind::Entry, which(8))).unwrap();
    let inside = String::from_utf8(made(&entries, MadeKind::Inside, which(8))).unwrap();
    let id = whole.find("<id>").unwrap()..whole.find("<updated>").unwrap();
    let again = whole.replacen(&whole[id], "", 1);
    let (before, after) = again.split_once(&inside).unwrap();
    assert!(before.ends_with("Atom\">\n") && after == "</entry>\n", "{before}|{after}");
    assert_eq!(made(&entries, MadeKind::Slug, which(8)), b"w3s8");
}
