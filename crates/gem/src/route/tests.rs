//! The order in which entries take requests, and that the trie finds what a walk over all of them
//! would find.

use super::*;

const FINAL: bool = true;

fn entry(kind: Kind, pattern: &str) -> Entry {
    Entry { kind, pattern: Pattern::parse(pattern).unwrap() }
}

fn route(method: &str, pattern: &str) -> Entry {
    let methods = Methods::named(method).unwrap();
    entry(Kind::Route { methods, is_final: FINAL }, pattern)
}

fn passing(method: &str, pattern: &str) -> Entry {
    let methods = Methods::named(method).unwrap();
    entry(Kind::Route { methods, is_final: !FINAL }, pattern)
}

fn middleware(pattern: &str) -> Entry {
    entry(Kind::Middleware, pattern)
}

fn many(steps: &[u32]) -> Steps {
    Steps::Many(steps.into())
}

fn found(entries: &[Entry], method: &str, path: &str) -> Found {
    Routes::new(entries.to_vec()).find(method, path).unwrap()
}

#[test]
fn the_first_match_wins() {
    let entries = [route("GET", "/n/new"), route("GET", "/n/:id"), route("GET", "/n/late")];
    let steps = |path| found(&entries, "GET", path).steps;
    assert_eq!(steps("/n/new"), Steps::One(0));
    assert_eq!(steps("/n/other"), Steps::One(1));
    assert_eq!(steps("/n/late"), Steps::One(1), "registered after the one that takes all");
    assert_eq!(steps("/m"), Steps::None);
}

#[test]
fn methods() {
    let entries = [route("GET", "/a"), route("POST", "/a"), route("POST", "/p")];
    let found = |method, path| found(&entries, method, path);
    assert_eq!(found("HEAD", "/a").steps, Steps::One(0));
    assert_eq!(found("POST", "/a").steps, Steps::One(1));
    let allow = |method, path| match found(method, path).ending {
        Ending::OtherMethods(methods) => methods.allow(),
        other => panic!("{other:?}"),
    };
    assert_eq!(allow("PUT", "/a"), "GET, HEAD, POST, OPTIONS");
    assert_eq!(allow("GET", "/p"), "POST, OPTIONS");
    assert_eq!(allow("get", "/a"), "GET, HEAD, POST, OPTIONS");
    let post = Methods::named("POST").unwrap();
    assert_eq!(found("OPTIONS", "/p").ending, Ending::Options(post));
}

#[test]
fn middleware_stands_before_what_is_registered_after_it() {
    let entries = [
        route("GET", "/early"),
        middleware("/*"),
        middleware("/admin/*"),
        route("GET", "/admin"),
        route("GET", "/:page"),
        middleware("/*"),
    ];
    let steps = |path| found(&entries, "GET", path).steps;
    assert_eq!(steps("/early"), Steps::One(0));
    assert_eq!(steps("/admin"), many(&[1, 2, 3]));
    assert_eq!(steps("/other"), many(&[1, 4]));
    assert_eq!(steps("/no/such"), many(&[1, 5]));
    assert_eq!(steps("/admin/no/such"), many(&[1, 2, 5]));
    assert_eq!(steps("/administrator"), many(&[1, 4]), "a prefix ends with a segment");
}

#[test]
fn a_route_that_may_pass_on_is_followed_by_the_next() {
    let entries = [passing("GET", "/a"), route("GET", "/:x"), entry(Kind::NotFound, "/*")];
    assert_eq!(found(&entries, "GET", "/a").steps, many(&[0, 1]));
    let alone = [passing("GET", "/a")];
    assert_eq!(found(&alone, "GET", "/a").steps, many(&[0]));
    let lost = [passing("GET", "/a"), entry(Kind::NotFound, "/*")];
    assert_eq!(found(&lost, "GET", "/a").steps, many(&[0, 1]));
}

#[test]
fn what_nobody_takes_and_what_fails() {
    let entries = [
        entry(Kind::NotFound, "/*"),
        entry(Kind::OnError, "/*"),
        entry(Kind::NotFound, "/admin/*"),
        entry(Kind::OnError, "/admin/*"),
        route("GET", "/a"),
        route("GET", "/admin/a"),
    ];
    let found = |path| found(&entries, "GET", path);
    assert_eq!((found("/b").steps, found("/b").on_error), (Steps::One(0), Some(1)));
    assert_eq!((found("/admin/b").steps, found("/admin/b").on_error), (Steps::One(2), Some(3)));
    assert_eq!((found("/a").steps, found("/a").on_error), (Steps::One(4), Some(1)));
    assert_eq!(found("/admin/a").on_error, Some(3));
}

#[test]
fn values_of_the_route_and_names_of_middleware() {
    let entries =
        [middleware("/users/:user/*"), middleware("/:a/:b/*"), route("GET", "/users/:b/:note")];
    let params = found(&entries, "GET", "/users/7/x%20y").params;
    let params: Vec<(&str, &str)> = params.iter().map(|(n, v)| (&**n, v.as_str())).collect();
    assert_eq!(params, [("b", "7"), ("note", "x y"), ("user", "7"), ("a", "users")]);
}

#[test]
fn a_slash_at_the_end() {
    let entries = [route("GET", "/a"), route("GET", "/b/"), route("POST", "/p"), route("GET", "/")];
    let ending = |method, path| found(&entries, method, path).ending;
    assert_eq!(ending("GET", "/a/"), Ending::Slash("/a".to_owned()));
    assert_eq!(ending("HEAD", "/b"), Ending::Slash("/b/".to_owned()));
    assert_eq!(ending("GET", "/p/"), Ending::NotFound);
    assert_eq!(ending("POST", "/p/"), Ending::NotFound);
    assert_eq!(ending("GET", "//a/"), Ending::NotFound);
    let entries = [route("GET", "/:x/:y")];
    assert_eq!(found(&entries, "GET", "//evil.example/").ending, Ending::NotFound);
}

#[test]
fn a_path_that_cannot_be_decoded_is_an_error() {
    let routes = Routes::new(vec![route("GET", "/n/:id")]);
    for path in ["/n/%", "/n/a/%zz", "/%"] {
        assert_eq!(routes.find("GET", path), Err(DecodeError::Percent), "{path}");
    }
}

#[test]
fn thousands_of_routes_are_found_without_a_walk() {
    let mut entries = Vec::new();
    for i in 0..1_000 {
        entries.push(route("GET", &format!("/section{}/page{i}/:id", i % 10)));
    }
    let routes = Routes::new(entries);
    for i in 0..1_000 {
        let found = routes.find("GET", &format!("/section{}/page{i}/x", i % 10)).unwrap();
        assert_eq!(found.steps, Steps::One(i));
    }
    assert_eq!(routes.find("GET", "/section0/page1/x").unwrap().steps, Steps::None);
}

/// Small numbers from a seed (xorshift; Marsaglia 2003).
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides) as usize
    }

    fn path(&mut self, segments: &[&str]) -> String {
        let count = 1 + self.throw(4);
        (0..count).map(|_| format!("/{}", segments[self.throw(segments.len() as u64)])).collect()
    }
}

#[test]
fn the_trie_finds_what_a_walk_finds() {
    let written = ["a", "b", "", ":x", ":y{[0-9]+}", ":z{a|c}", "*", ":x?", ":r{.+}", ":s{.*}"];
    let asked = ["a", "b", "c", "", "7", "%61", "a%2Fb"];
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    for _ in 0..300 {
        let patterns: Vec<Pattern> = std::iter::from_fn(|| Some(dice.path(&written)))
            .filter_map(|text| Pattern::parse(&text).ok())
            .take(12)
            .collect();
        let mut trie = Trie::default();
        for (number, pattern) in (0..).zip(&patterns) {
            trie.insert(pattern, number);
        }
        for _ in 0..40 {
            let path = dice.path(&asked);
            let mut found = Vec::new();
            trie.collect(path.strip_prefix('/'), &mut found).unwrap();
            found.sort_unstable();
            let walked: Vec<u32> = (0..)
                .zip(&patterns)
                .filter(|(_, pattern)| pattern.read(&path).unwrap().is_some())
                .map(|(number, _)| number)
                .collect();
            assert_eq!(found, walked, "{path} in {patterns:?}");
        }
    }
}
