//! The methods of requests, as sets.

/// The methods that an application can answer, in the order in which an Allow field lists them.
/// What else HTTP has, the faces refuse.
const NAMES: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

const GET: Methods = Methods(1);
const HEAD: Methods = Methods(1 << 1);
const OPTIONS: Methods = Methods(1 << 6);

/// A set of methods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Methods(u8);

impl Methods {
    /// The set of one; `None` if no application can answer it.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let place = NAMES.iter().position(|known| *known == name)?;
        Some(Self(1 << place))
    }

    /// Which routes take a request: those for its method, and to HEAD those for GET.
    pub(crate) fn taking(method: &str) -> Option<Self> {
        let named = Self::named(method)?;
        Some(if named == HEAD { HEAD.and(GET) } else { named })
    }

    /// All of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether a method is in both.
    pub(crate) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The value of an Allow field for a path that has routes for these. HEAD is answered from GET,
    /// and OPTIONS by Sarsen where no route does.
    pub(crate) fn allow(self) -> String {
        let more = if self.meets(GET) { HEAD.and(OPTIONS) } else { OPTIONS };
        let all = self.and(more);
        let is_in = |place: &usize| all.meets(Self(1 << place));
        let names: Vec<&str> = (0..NAMES.len()).filter(is_in).map(|place| NAMES[place]).collect();
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets() {
        let get = Methods::named("GET").unwrap();
        let post = Methods::named("POST").unwrap();
        assert!(Methods::taking("HEAD").unwrap().meets(get));
        assert!(!Methods::taking("GET").unwrap().meets(HEAD));
        assert!(!Methods::taking("POST").unwrap().meets(get));
        assert_eq!(Methods::named("get"), None);
        assert_eq!(get.allow(), "GET, HEAD, OPTIONS");
        assert_eq!(get.and(post).allow(), "GET, HEAD, POST, OPTIONS");
        assert_eq!(post.allow(), "POST, OPTIONS");
    }
}
