//! The pages that are measured, and what is asked for.

/// A page, of apps/pages and of peers/express.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// A fixed page.
    Hello,
    /// A number in the visitor's session, one more each time.
    Counter,
    /// 20 of 10,000 documents, in the order of their keys.
    Notes,
    /// A form that changes one document and makes two.
    Orders,
    /// Two balances and a record of the transfer.
    Transfer,
}

/// Accounts, notes and kinds of goods.
pub const KEYS: u64 = 10_000;

impl Page {
    /// Every one, in the order of the table.
    pub const ALL: [Self; 5] =
        [Self::Hello, Self::Counter, Self::Notes, Self::Orders, Self::Transfer];

    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hello => "hello",
            Self::Counter => "counter with session",
            Self::Notes => "page of 20 documents",
            Self::Orders => "form post with 3 writes",
            Self::Transfer => "transfer",
        }
    }

    /// Its path, in which `{key}` may stand.
    pub fn path(self) -> &'static str {
        match self {
            Self::Hello => "/hello",
            Self::Counter => "/counter",
            Self::Notes => "/notes?from={key}",
            Self::Orders => "/orders",
            Self::Transfer => "/transfer",
        }
    }

    /// The form that is posted; none: it is a GET.
    pub fn form(self) -> Option<&'static str> {
        match self {
            Self::Orders => Some("item={key}&quantity=1&note=To+be+left+at+the+door+{nonce}"),
            Self::Transfer => Some("from={key}&to={other}&amount=1"),
            Self::Hello | Self::Counter | Self::Notes => None,
        }
    }

    /// The flags of `sarsen bench` for so many users.
    pub fn flags(self, users: usize) -> Vec<String> {
        let mut flags = vec!["-c".to_owned(), users.to_string()];
        if self.path().contains('{') || self.form().is_some() {
            flags.extend(["--keys".to_owned(), KEYS.to_string()]);
        }
        if let Some(form) = self.form() {
            let words = ["--method", "POST", "--header", FORM_FIELD, "--body", form];
            flags.extend(words.map(str::to_owned));
        }
        flags
    }
}

/// The media type of a form.
pub const FORM: &str = "application/x-www-form-urlencoded";

const FORM_FIELD: &str = "Content-Type: application/x-www-form-urlencoded";

/// One line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// What is asked for.
    pub page: Page,
    /// By how many at the same time.
    pub users: usize,
    /// How many gems, or processes of Node, answer.
    pub gems: usize,
}

impl Row {
    /// Every one that `gems` answer.
    pub fn of(gems: usize) -> impl Iterator<Item = Self> {
        let users = [10, 100].into_iter();
        users.flat_map(move |users| Page::ALL.map(|page| Self { page, users, gems }))
    }

    /// What `--only` looks into.
    pub fn name(self) -> String {
        let Self { page, users, gems } = self;
        format!("{}, {users} users, {gems} gems", page.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_say_what_is_sent() {
        assert_eq!(Page::Hello.flags(10), ["-c", "10"]);
        let flags = Page::Transfer.flags(100).join(" ");
        assert!(flags.starts_with("-c 100 --keys 10000 --method POST --header "), "{flags}");
        assert_eq!(Row::of(2).count(), 10);
    }
}
