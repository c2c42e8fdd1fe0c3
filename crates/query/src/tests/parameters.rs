//! Tests of parameters.

use super::*;

fn parse(component: &str) -> Result<Query, ParameterError> {
    Query::parse(CollectionName::new("notes").unwrap(), Some(component))
}

fn refused(component: &str) -> String {
    parse(component).unwrap_err().to_string()
}

#[test]
fn what_is_left_out_has_a_default() {
    let query = Query::parse(CollectionName::new("notes").unwrap(), None).unwrap();
    assert_eq!(
        (query.limit, query.counts, query.explains),
        (QUERY_DOCUMENTS_DEFAULT, false, false)
    );
    assert!(query.after.is_none() && query.fields.is_none() && query.order.fields.is_empty());
    assert_eq!(parse("").unwrap().fingerprint, query.fingerprint);
}

#[test]
fn values_are_decoded_as_forms_are_written() {
    let query = parse("filter=a+%3D+%22b%2Bc%22&&order=a%20desc&limit=7&count=true&").unwrap();
    assert_eq!(query.echo[0], ("filter", "a = \"b+c\"".to_owned()));
    assert_eq!(query.echo[1], ("order", "a desc".to_owned()));
    assert_eq!((query.limit, query.counts), (7, true));
    assert!(parse("filter=a=1").is_ok(), "only the first = ends the name");
}

#[test]
fn mistakes_name_the_parameter_what_was_expected_and_what_came() {
    for (component, message) in [
        ("filtre=a", "the parameter \"filtre\" is not known here; there are filter, order, limit"),
        ("limit=1&limit=2", "the parameter limit may be there once; it came several times"),
        ("limit=1001", "the parameter limit: expected a whole number from 0 to 1000; got \"1001\""),
        ("limit=-1", "got \"-1\""),
        ("limit=%2B1", "got \"+1\""),
        ("limit=", "got \"\""),
        ("limit", "got \"\""),
        ("limit=99999999999999999999", "from 0 to 1000"),
        ("count=yes", "the parameter count: expected true or false; got \"yes\""),
        ("explain=1", "the parameter explain: expected true or false; got \"1\""),
        ("filter=a", "the parameter filter, at character 2: expected a comparator"),
        ("order=a+up", "the parameter order, at character 3: expected \"asc\", \"desc\""),
        ("fields=", "the parameter fields, at character 1: expected a name; got the end"),
        ("after=x", "the parameter after: expected the \"next\" of a page, as it came; got \"x\""),
        ("filter=%4", "expected \"%\" and two hexadecimal digits"),
        ("filter=%zz", "expected \"%\" and two hexadecimal digits"),
        ("filter=%ff", "that make UTF-8; got \"%ff\""),
    ] {
        let got = refused(component);
        assert!(got.contains(message), "{component}: {got}");
    }
}

#[test]
fn a_filter_has_a_longest() {
    let filter = |bytes: usize| format!("filter=a={}", "x".repeat(bytes - 2));
    assert!(parse(&filter(FILTER_BYTES_MAX)).is_ok());
    assert!(refused(&filter(FILTER_BYTES_MAX + 1)).contains("at most 4096 bytes; got 4097 bytes"));
}

#[test]
fn a_reference_leads_back() {
    let component = "filter=a+%3D+%22%26%3D%25%C3%A9%22&order=a+desc&limit=7";
    let query = parse(component).unwrap();
    let place = crate::order::Place {
        values: vec![repository::IndexValue::Number(1.0)],
        key: repository::Key::new("k").unwrap(),
    };
    let cursor = cursor::encode(&place, query.fingerprint);
    let echo = query.echo.iter().map(|(name, value)| (*name, value.as_str()));
    let next = reference(echo.chain([("after", cursor.as_str())]));
    let again = parse(next.strip_prefix('?').unwrap()).unwrap();
    assert_eq!((again.echo, again.after), (query.echo, Some(place)));
    // For another query the same cursor is refused.
    for other in ["filter=a%3D2&order=a+desc", "order=a", "order=a,b", ""] {
        let got = refused(&format!("{other}&after={cursor}"));
        assert!(got.contains("a page of the same query"), "{other}: {got}");
    }
    let elsewhere = CollectionName::new("other").unwrap();
    let component = format!("{component}&after={cursor}");
    assert!(Query::parse(elsewhere, Some(&component)).is_err());
}
