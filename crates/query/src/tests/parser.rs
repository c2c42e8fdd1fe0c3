//! Tests of the grammar: what is taken, what it means, and where a mistake is.

use super::*;
use crate::limits::FILTER_BYTES_MAX;

/// The filter in full parentheses.
fn shown(filter: &Filter) -> String {
    let joined = |all: &[Filter], word: &str| {
        let all: Vec<String> = all.iter().map(shown).collect();
        format!("({})", all.join(word))
    };
    match filter {
        Filter::All(all) => joined(all, " AND "),
        Filter::Any(any) => joined(any, " OR "),
        Filter::Not(filter) => format!("NOT {}", shown(filter)),
        Filter::Is(Condition { field: Field::Member(path), test }) => {
            format!("{} {test:?}", path.pointer())
        }
        Filter::Is(Condition { field: Field::Meta(meta), test }) => {
            format!("@{} {test:?}", format!("{meta:?}").to_lowercase())
        }
    }
}

fn read(text: &str) -> String {
    parse(text).map(|filter| shown(&filter)).unwrap_or_else(|mistake| panic!("{text}: {mistake}"))
}

/// What `a` is compared with.
fn operand(text: &str) -> IndexValue {
    match parse(&format!("a = {text}")) {
        Ok(Filter::Is(Condition { test: Test::Equal(Operand::Value(value)), .. })) => value,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn aip160_or_binds_tighter_than_and() {
    let read = |text: &str| {
        let values = ["= 1", "= 2", "= 3", "= 4"];
        let shown = read(text);
        let short = |shown: String, value: &str| {
            shown.replace(&format!(" Equal(Value(Number({}.0)))", &value[2..]), "")
        };
        values.into_iter().fold(shown, short)
    };
    for (text, expected) in [
        ("a = 1", "/a"),
        ("a = 1 AND b = 2 OR c = 3", "(/a AND (/b OR /c))"),
        ("a = 1 OR b = 2 AND c = 3", "((/a OR /b) AND /c)"),
        ("(a = 1 AND b = 2) OR c = 3", "((/a AND /b) OR /c)"),
        ("a = 1 b = 2 AND c = 3 d = 4", "(/a AND /b AND /c AND /d)"),
        ("a = 1 b = 2 OR c = 3", "(/a AND (/b OR /c))"),
        ("NOT a = 1 OR b = 2", "(NOT /a OR /b)"),
        ("NOT (a = 1 OR b = 2)", "NOT (/a OR /b)"),
        ("-a = 1 -(b = 2)", "(NOT /a AND NOT /b)"),
        ("NOT(a=1)AND(b=2)", "(NOT /a AND /b)"),
        ("((((a=1))))", "/a"),
        ("\t a\r\n=\t1 ", "/a"),
        ("", "()"),
        ("  ", "()"),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
}

#[test]
fn names_lead_into_documents() {
    for (text, pointer) in [
        ("a.b.c:*", "/a/b/c"),
        ("\"first name\":*", "/first name"),
        ("a.\"b.c\".'d\"':*", "/a/b.c/d\""),
        ("\"a/b\".\"~\":*", "/a~1b/~0"),
        ("tags.0:*", "/tags/0"),
        ("größe_1-x$:*", "/größe_1-x$"),
        ("\"@key\":*", "/@key"),
        ("\"AND\".OR:*", "/AND/OR"),
        ("ANDY:*", "/ANDY"),
        ("\"\":*", "/"),
        ("'*':*", "/*"),
    ] {
        assert_eq!(read(text), format!("{pointer} Present"), "{text}");
    }
}

#[test]
fn values_have_types() {
    let text = |text: &str| IndexValue::Text(text.to_owned());
    for (written, value) in [
        ("1", IndexValue::Number(1.0)),
        ("-0.5e-3", IndexValue::Number(-0.0005)),
        ("1E2", IndexValue::Number(100.0)),
        ("9007199254740992", IndexValue::Number(9_007_199_254_740_992.0)),
        ("true", IndexValue::Boolean(true)),
        ("false", IndexValue::Boolean(false)),
        ("null", IndexValue::Null),
        ("True", text("True")),
        ("01234", text("01234")),
        ("1.", text("1.")),
        ("2026-11-21T10:00:00.5+01:00", text("2026-11-21T10:00:00.5+01:00")),
        ("a@b.example", text("a@b.example")),
        ("\"1\"", text("1")),
        ("'null'", text("null")),
        ("\"\"", text("")),
        (r#""\"\'\\\*\n\r\t\u00e9'""#, text("\"'\\*\n\r\té'")),
    ] {
        assert_eq!(operand(written), value, "{written}");
    }
}

#[test]
fn each_comparator_asks_its_own() {
    for (text, test) in [
        ("a=1", "Equal(Value(Number(1.0)))"),
        ("a != x", "NotEqual(Value(Text(\"x\")))"),
        ("a:x", "Has(Value(Text(\"x\")))"),
        ("a:x*", "Has(Prefix(\"x\"))"),
        ("a = \"x y*\"", "Equal(Prefix(\"x y\"))"),
        ("a != 'x*'", "NotEqual(Prefix(\"x\"))"),
        ("a = \"*\"", "Equal(Prefix(\"\"))"),
        ("a:*", "Present"),
        ("a<1", "Compare(Less, Number(1.0))"),
        ("a<=x", "Compare(AtMost, Text(\"x\"))"),
        ("a>1", "Compare(More, Number(1.0))"),
        ("a>=1", "Compare(AtLeast, Number(1.0))"),
    ] {
        assert_eq!(read(text), format!("/a {test}"), "{text}");
    }
}

#[test]
fn metadata_has_types() {
    for (text, expected) in [
        ("@key = 42", "@key Equal(Value(Text(\"42\")))"),
        ("@key:user/*", "@key Has(Prefix(\"user/\"))"),
        ("@key >= \"a\"", "@key Compare(AtLeast, Text(\"a\"))"),
        ("@version > 7", "@version Compare(More, Number(7.0))"),
        ("@updated < 1970-01-01T00:00:01Z", "@updated Compare(Less, Number(1000.0))"),
        ("@created = \"1970-01-01T00:00:01.5Z\"", "@created Equal(Value(Number(1500.0)))"),
        ("@expires:*", "@expires Present"),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
}

#[test]
fn characters_may_be_written_as_surrogates() {
    for text in ["a = \"\\ud83d\\ude00\"", "a = '\\uD83D\\uDE00'", "a = \"😀\""] {
        assert_eq!(parse(text).unwrap(), parse("a = 😀").unwrap(), "{text}");
    }
    let mixed = parse("a = \"x\\ud834\\udd1e\\u00e9*\"").unwrap();
    assert_eq!(mixed, parse("a = x𝄞é*").unwrap());
}

#[test]
fn mistakes_have_a_place_and_say_what_was_expected() {
    for (text, at, expected, got) in [
        ("a", 2, "a comparator", "the end"),
        ("a = 1 AND", 10, "a name", "the end"),
        ("a = 1 and b = 2", 7, "AND, OR and NOT in capitals", "\"and b = 2\""),
        ("a = ", 5, "a number, true, false, null or a text", "the end"),
        ("= 1", 1, "a name", "\"= 1\""),
        ("AND a = 1", 1, "AND, OR and NOT as names are written in quotes", "\"AND a = 1\""),
        ("a = AND", 5, "AND, OR and NOT as text", "\"AND\""),
        ("a.=1", 3, "a name after the \".\"", "\"=1\""),
        ("a = 1)", 6, "AND, OR, another comparison or the end", "\")\""),
        ("a = 1, b = 2", 6, "other characters go in quotes", "\", b = 2\""),
        ("(a = 1", 7, "\")\"", "the end"),
        ("()", 2, "a name", "\")\""),
        ("a = (1 OR 2)", 5, "write (a = 1 OR a = 2)", "\"(1 OR 2)\""),
        ("f(a)", 2, "there are no functions", "\"(a)\""),
        ("a = f(b)", 6, "there are no functions", "\"(b)\""),
        ("a = b = c", 7, "AND, OR, another comparison or the end", "\"= c\""),
        ("a == 1", 4, "a number, true", "\"= 1\""),
        ("é = \"x", 7, "the \" that ends the text", "the end"),
        ("a = \"x\"y", 8, "white space or the end after a value", "\"y\""),
        ("a = \"\\q\"", 6, "\\\"", "\"\\q\"\""),
        ("a = \"\\ud800\"", 6, "a whole character", "\"\\ud800\"\""),
        ("a = \"\\udc00\\ud800\"", 6, "a whole character", "\"\\udc00\\ud800\"\""),
        ("a = \"\\ud83d\\u0041\"", 6, "a whole character", "\"\\ud83d\\u0041\"\""),
        ("a = \"\\ud83d\\u12\"", 6, "a whole character", "\"\\ud83d\\u12\"\""),
        ("a = \"\\u12x4\"", 6, "four hexadecimal digits", "\"\\u12x4\"\""),
        ("a = \"x*y\"", 7, "* only at the end", "\"*y\"\""),
        ("a = *x", 5, "* only at the end", "\"*x\""),
        ("a = *", 5, "asked by :*", "\"*\""),
        ("a < x*", 5, "a value without *", "\"x*\""),
        ("a < null", 5, "have no such order", "\"null\""),
        ("a >= true", 6, "have no such order", "\"true\""),
        ("a = .5", 5, "a number as in JSON", "\".5\""),
        ("a = 9007199254740993", 5, "a double can hold", "\"9007199254740993\""),
        ("a = 9007199254740993.0", 5, "a double can hold", "\"9007199254740993.0\""),
        ("a = 9223372036854775808", 5, "a double can hold", "\"9223372036854775808\""),
        ("a = 1e999", 5, "a double can hold", "\"1e999\""),
        ("a b = 123456789012345678901234567890", 3, "a comparator", "\"b = …\""),
        ("@size = 1", 1, "one of @key, @version", "\"@size = 1\""),
        ("@version = x", 12, "a number, which a version is", "\"x\""),
        ("@version = \"1\"", 12, "a number, which a version is", "\"\"1\"\""),
        ("@created > 7", 12, "a timestamp of RFC 3339", "\"7\""),
        ("@created > 2026*", 12, "a timestamp of RFC 3339", "\"2026*\""),
        ("@key.a = 1", 5, "a comparator", "\".a = 1\""),
        ("--a = 1", 2, "one that begins with - is written in quotes", "\"-a = 1\""),
        ("a = 1 OR", 9, "a name", "the end"),
        ("a = 1 OR OR b = 2", 10, "a name", "\"OR b = 2\""),
    ] {
        let mistake = parse(text).unwrap_err();
        assert_eq!((mistake.at, mistake.got.as_str()), (at, got), "{text}: {mistake}");
        assert!(mistake.expected.contains(expected), "{text}: {mistake}");
    }
}

#[test]
fn nesting_and_comparisons_are_bounded() {
    let nested = |depth: usize| format!("{}a=1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(parse(&nested(FILTER_DEPTH_MAX)).is_ok());
    let mistake = parse(&nested(FILTER_DEPTH_MAX + 1)).unwrap_err();
    assert_eq!(mistake.at, FILTER_DEPTH_MAX + 1);
    assert!(mistake.expected.contains("at most 16 levels"), "{mistake}");
    let many = |count: usize| vec!["a=1"; count].join(" ");
    assert!(parse(&many(FILTER_COMPARISONS_MAX)).is_ok());
    let mistake = parse(&many(FILTER_COMPARISONS_MAX + 1)).unwrap_err();
    assert!(mistake.expected.contains("at most 100 comparisons"), "{mistake}");
    // Nothing that may be as long as a filter takes the stack.
    assert!(parse(&"NOT ".repeat(FILTER_BYTES_MAX / 4)).is_err());
    assert!(parse(&"(".repeat(FILTER_BYTES_MAX)).is_err());
    assert!(parse(&"-".repeat(FILTER_BYTES_MAX)).is_err());
}
