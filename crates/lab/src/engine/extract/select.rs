//! The elements of a page that a CSS selector means (Selectors Level 4 §3), in the page's order.

use super::tree::{Content, Tree};
use crate::plan::{Chain, Combinator, Match, Selector, Test};

/// The elements, by their places in the tree.
pub(crate) fn select<'a>(
    tree: &'a Tree,
    selector: &'a Selector,
) -> impl Iterator<Item = usize> + 'a {
    tree.walk(0).filter(move |place| {
        is_element(tree, *place)
            && selector.alternatives.iter().any(|chain| fits_chain(tree, *place, chain))
    })
}

/// The value of an element's attribute.
pub(crate) fn attribute<'a>(tree: &'a Tree, place: usize, name: &str) -> Option<&'a str> {
    match &tree.node(place).content {
        Content::Element(_, attributes) => {
            let found = attributes.iter().find(|attribute| &*attribute.name.local == name);
            found.map(|attribute| &*attribute.value)
        }
        Content::Other | Content::Text(_) => None,
    }
}

fn fits_chain(tree: &Tree, place: usize, chain: &Chain) -> bool {
    fits(tree, place, &chain.last) && fits_before(tree, place, &chain.before)
}

fn fits_before(tree: &Tree, place: usize, before: &[(Combinator, Vec<Test>)]) -> bool {
    let Some(((combinator, tests), rest)) = before.split_first() else { return true };
    let is_it = |other: usize| fits(tree, other, tests) && fits_before(tree, other, rest);
    match combinator {
        Combinator::Child => parent(tree, place).is_some_and(is_it),
        Combinator::Descendant => {
            std::iter::successors(parent(tree, place), |place| parent(tree, *place)).any(is_it)
        }
        Combinator::Next => siblings(tree, place).0.last().copied().is_some_and(is_it),
        Combinator::Subsequent => siblings(tree, place).0.into_iter().any(is_it),
    }
}

fn is_element(tree: &Tree, place: usize) -> bool {
    matches!(tree.node(place).content, Content::Element(..))
}

/// The element around another.
fn parent(tree: &Tree, place: usize) -> Option<usize> {
    tree.node(place).parent.filter(|parent| is_element(tree, *parent))
}

/// The elements before one, and how many come after it, in the same element.
fn siblings(tree: &Tree, place: usize) -> (Vec<usize>, usize) {
    let Some(parent) = tree.node(place).parent else { return (Vec::new(), 0) };
    let children = &tree.node(parent).children;
    let elements: Vec<usize> =
        children.iter().copied().filter(|child| is_element(tree, *child)).collect();
    let at = elements.iter().position(|child| *child == place).unwrap_or(0);
    (elements[..at].to_vec(), elements.len() - at - 1)
}

fn fits(tree: &Tree, place: usize, tests: &[Test]) -> bool {
    tests.iter().all(|test| holds(tree, place, test))
}

fn holds(tree: &Tree, place: usize, test: &Test) -> bool {
    let attribute = |name: &str| attribute(tree, place, name);
    let has_word = |value: &str, word: &str| value.split_ascii_whitespace().any(|w| w == word);
    match test {
        Test::Type(wanted) => match &tree.node(place).content {
            Content::Element(name, _) => str::eq_ignore_ascii_case(&name.local, wanted),
            Content::Other | Content::Text(_) => false,
        },
        Test::Id(id) => attribute("id") == Some(id),
        Test::Class(class) => attribute("class").is_some_and(|value| has_word(value, class)),
        Test::Attribute(name, wanted) => attribute(name).is_some_and(|value| match wanted {
            Match::Any => true,
            Match::Is(text) => value == text,
            Match::HasWord(word) => has_word(value, word),
            Match::Begins(text) => value
                .strip_prefix(text.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-')),
            // An empty text is in none (Selectors Level 4 §6.2).
            Match::StartsWith(text) => !text.is_empty() && value.starts_with(text.as_str()),
            Match::EndsWith(text) => !text.is_empty() && value.ends_with(text.as_str()),
            Match::Contains(text) => !text.is_empty() && value.contains(text.as_str()),
        }),
        Test::Nth { a, b, from_last } => {
            let (before, after) = siblings(tree, place);
            let number = 1 + if *from_last { after } else { before.len() };
            let distance = number as i64 - i64::from(*b);
            match i64::from(*a) {
                0 => distance == 0,
                a => distance % a == 0 && distance / a >= 0,
            }
        }
        Test::Not(tests) => !fits(tree, place, tests),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &[u8] = b"<!DOCTYPE html><body id=top><table><tr><td>cell</table>
        <ul class='list big' lang=en-GB>
        <li id=a class=x>one<li id=b class='x y'>two<!-- no --> <b>bold</b><li id=c>three</ul>
        <p id=d data-kind=\"a b\">p<i id=e>i</i></p><p id=f><b id=g><i id=h>deep</i></b></p>";

    fn ids(selector: &str) -> String {
        let (tree, selector) = (Tree::new(PAGE), Selector::new(selector, None).unwrap());
        let ids = select(&tree, &selector).map(|p| attribute(&tree, p, "id").unwrap_or("-"));
        ids.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn elements_fit_as_in_browsers() {
        let cases = [
            ("li", "a b c"),
            ("LI.x", "a b"),
            (".y.x", "b"),
            ("#b", "b"),
            ("p#d, li#a", "a d"),
            ("[id=c]", "c"),
            ("[lang|=en]", "-"),
            ("[lang|=e]", ""),
            ("[data-kind~=b]", "d"),
            ("[data-kind^='a b']", "d"),
            ("li[class$=y]", "b"),
            ("li[class*=x]", "a b"),
            ("[class*='']", ""),
            ("li:first-child", "a"),
            ("li:last-child", "c"),
            ("li:nth-child(2)", "b"),
            ("li:nth-child(odd)", "a c"),
            ("li:nth-child(-n+2)", "a b"),
            ("li:not(.x)", "c"),
            ("li:not(:last-child)", "a b"),
            ("p i", "e h"),
            ("p > i", "e"),
            ("body i", "e h"),
            ("p b > i", "h"),
            ("ul + p", "d"),
            ("ul ~ p", "d f"),
            ("li + li", "b c"),
            ("#a ~ li.y", "b"),
            ("body > ul > li", "a b c"),
            ("li p", ""),
            // The parser puts a tbody around rows.
            ("table > tr", ""),
            ("table > tbody > tr > td", "-"),
            ("html > body", "top"),
            ("p > *", "e g"),
        ];
        for (selector, expected) in cases {
            assert_eq!(ids(selector), expected, "{selector}");
        }
    }

    #[test]
    fn texts_are_those_of_the_whole_element() {
        let tree = Tree::new(PAGE);
        let text = |selector| {
            let selector = Selector::new(selector, None).unwrap();
            select(&tree, &selector).next().map(|place| tree.text(place))
        };
        assert_eq!(text("#b").as_deref(), Some("two bold"));
        assert_eq!(text("#h").as_deref(), Some("deep"));
        assert_eq!(text("#none"), None);
    }

    #[test]
    fn broken_pages_are_trees_as_well() {
        for page in [
            "",
            "<",
            "<p><table><p>x</table>",
            "</p></b>",
            "<a><p></a></p>",
            "<b><i></b></i>x",
            "<template><p>x</template>",
            "<select><option>a<option>b",
            "<svg><p>x</svg>",
            "<table>text<tr>more<td>x</table>",
            "<html a=1><html a=2 b=3>",
            "<frameset><p>",
        ] {
            let tree = Tree::new(page.as_bytes());
            let count = tree.walk(0).count();
            assert!(count > 1, "{page}: {count}");
        }
        let deep = "<b>".repeat(20_000);
        assert!(Tree::new(deep.as_bytes()).walk(0).count() > 1);
    }
}
