//! What one request does to the language's own objects is not there in the next one.

use crate::support::{Setup, request, site, site_with};

/// Each tries to leave something behind, and says what it finds of another request.
const ATTEMPTS: &[(&str, &str)] = &[
    ("Object.prototype.polluted = 1", "({}).polluted"),
    (
        "const o = JSON.parse('{\"__proto__\":{\"polluted\":1}}'); const t = {}; \
      for (const k in o) for (const m in o[k]) t[k][m] = o[k][m]",
        "({}).polluted",
    ),
    ("const t = {}; t['constructor']['prototype']['polluted'] = 1", "({}).polluted"),
    ("Array.prototype.map = () => 'polluted'", "[1].map((x) => 0)[0] || undefined"),
    ("Array.prototype.push.polluted = 1", "[].push.polluted"),
    ("String.prototype.includes = () => 1", "''.includes('a') || undefined"),
    ("Object.keys = () => 'polluted'", "Object.keys({})[0]"),
    ("Math.max = () => 'polluted'", "Math.max(0) || undefined"),
    ("JSON.parse = () => 'polluted'", "JSON.parse('0') || undefined"),
    ("Object.prototype.toString = () => 'polluted'", "({}).toString() === 'polluted' || undefined"),
    (
        "Object.defineProperty(Object.prototype, 'toString', { value: () => 'polluted' })",
        "({}).toString() === 'polluted' || undefined",
    ),
    ("Object.setPrototypeOf(Array.prototype, { polluted: 1 })", "[].polluted"),
    ("(function* () {}).constructor.prototype.polluted = 1", "(function* () {}).polluted"),
    (
        "Object.getPrototypeOf([].values()).next = 1",
        "typeof [].values().next !== 'function' || undefined",
    ),
    ("Promise.prototype.then = null", "Promise.resolve().then ? undefined : 1"),
    ("RegExp.prototype.exec = () => null", "/a/.exec('a') ? undefined : 1"),
    ("BigInt.polluted = 1", "BigInt.polluted"),
    ("Date.now = () => 'polluted'", "Date.now() === 'polluted' || undefined"),
    ("Error.prototype.name = 'polluted'", "new Error().name === 'polluted' || undefined"),
];

fn routes() -> String {
    let each = ATTEMPTS.iter().enumerate().map(|(number, (change, look))| {
        format!(
            "app.get('/change/{number}', () => {{ try {{ {change}; return 'done'; }} \
             catch (error) {{ return error.name; }} }});\n\
             app.get('/look/{number}', () => String({look}));\n"
        )
    });
    each.collect()
}

#[test]
fn nothing_is_left_behind() {
    let site = site(&routes());
    for (number, (change, _)) in ATTEMPTS.iter().enumerate() {
        assert_eq!(site.text(&format!("/change/{number}")), "TypeError", "{change}");
        assert_eq!(site.text(&format!("/look/{number}")), "undefined", "{change}");
    }
}

#[test]
fn an_application_may_have_it_otherwise() {
    let setup = Setup { settings: "[language]\nfreeze = false\n", ..Setup::default() };
    let site = site_with(&routes(), setup);
    assert_eq!((site.text("/change/0"), site.text("/look/0")), ("done".into(), "1".into()));
    assert!(site.send(request("GET", "/change/3")).is_ok());
}

#[test]
fn what_is_changed_while_loading_stays() {
    let site = site(
        "Array.prototype.second = function () { return this[1]; };\n\
         Object.prototype.toString = () => 'mine';\n\
         globalThis.shared = { count: 0 };\n\
         app.get('/', () => `${[1, 2].second()} ${{}} ${(globalThis.shared.count += 1)}`);",
    );
    assert_eq!(site.text("/"), "2 mine 1");
    assert_eq!(site.text("/"), "2 mine 2");
}

/// An assignment makes a member of the object itself, whatever it inherits.
#[test]
fn objects_may_have_members_of_these_names() {
    let site = site(
        "class Failure extends Error { constructor(m) { super(m); this.name = 'Failure'; } }\n\
         function Old() {} Old.prototype = Object.create(Error.prototype);\n\
         app.get('/', () => {\n\
           const o = {}; o.toString = () => 'o'; o.constructor = 1; o.hasOwnProperty = 2;\n\
           o.valueOf = () => 7;\n\
           const error = new Error('a'); error.message = 'b'; error.name = 'N';\n\
           Old.prototype.constructor = Old; Old.prototype.toString = () => 'old';\n\
           function F() {} F.prototype.toString = function () { return 'f'; };\n\
           const list = []; list.toString = () => 'list'; list.toJSON = () => 'json';\n\
           const date = new Date(0); date.toJSON = () => 'date';\n\
           const f = () => 0; f.toString = () => 'fn';\n\
           return [`${o}`, o + 1, o.constructor, o.hasOwnProperty, `${error}`,\n\
             `${new Failure('x')}`, `${new Old()}`, new Old().constructor === Old, `${new F()}`,\n\
             `${list}`, list, date, `${f}`, Object.keys(o), `${{}}`, `${[1, 2]}`,\n\
             Object.prototype.hasOwnProperty.call({ a: 1 }, 'a'), `${new TypeError('t')}`];\n\
         });",
    );
    let expected = [
        r#"["o",8,1,2,"N: b","Failure: x","old",true,"f","list","json","date","fn"#,
        r#"",["toString","constructor","hasOwnProperty","valueOf"],"[object Objec"#,
        r#"t]","1,2",true,"TypeError: t"]"#,
    ]
    .concat();
    assert_eq!(site.text("/"), expected);
}
