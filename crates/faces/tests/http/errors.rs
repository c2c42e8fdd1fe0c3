//! The pages that problems name as their type.

use crate::site::{Site, bare, get};
use serde_json::Value;

#[test]
fn rfc9457_3_1_1_the_type_of_a_problem_resolves_to_its_page() {
    let site = Site::start();
    let refused = site.ask(&get("/db/notes/absent"));
    let problem: Value = serde_json::from_str(&refused.body).unwrap();
    let path = problem["type"].as_str().unwrap();
    let page = site.ask(&get(path));
    assert_eq!((page.status, page.field("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(page.body.contains(problem["title"].as_str().unwrap()), "{}", page.body);
    assert_eq!(page.field("vary"), Some("Accept"));
    let markdown = site.ask(&bare("GET", path, "Accept: text/markdown\r\n"));
    assert_eq!(markdown.field("content-type"), Some("text/markdown; charset=utf-8"));
    assert!(markdown.body.starts_with("# "), "{}", markdown.body);
}

#[test]
fn every_link_of_the_list_leads_to_a_page_that_leads_back() {
    let site = Site::start();
    let mut client = site.connect();
    let list = client.ask(&get("/errors"));
    let links = |body: &str| -> Vec<String> {
        let after = body.split("href=\"").skip(1);
        after.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
    };
    let pages = links(&list.body);
    assert!(pages.len() > 20, "{pages:?}");
    for path in pages {
        let page = client.ask(&get(&path));
        assert_eq!(page.status, 200, "{path}");
        assert!(links(&page.body).contains(&"/errors/".to_owned()), "{path}");
    }
    assert_eq!(client.ask(&get("/errors/")).body, list.body);
    assert_eq!(client.ask(&get("/errors/nothing")).problem(), "not-found");
}
