//! From a JavaScript value to the canonical text of a document, or to why it cannot be one and
//! where in it. What it writes is what `JSON.stringify` writes, but for dates and bytes, which have
//! a form of their own (docs/persistence.md), and for what would be lost, which is refused.

use repository::json::{append_quoted, format_number};
use repository::limits::{DOCUMENT_BYTES_MAX, JSON_DEPTH_MAX};
use rquickjs::atom::PredefinedAtom;
use rquickjs::function::This;
use rquickjs::object::Filter;
use rquickjs::{Array, Ctx, Function, Object, String as JsString, Value};
use std::fmt::Write;

/// Why a value is no document.
pub(super) enum Refusal {
    /// A part of it cannot be stored.
    Part {
        /// What the part is: "a function", ...
        fault: String,
        /// The tokens of its place, the innermost first.
        place: Vec<String>,
    },
    /// It nests deeper than the repository stores.
    Deep,
    /// Its text is longer than a document may be.
    Large,
    /// It is undefined.
    Nothing,
    /// Code of the application that it called threw.
    Thrown(rquickjs::Error),
}

impl From<rquickjs::Error> for Refusal {
    fn from(error: rquickjs::Error) -> Self {
        Self::Thrown(error)
    }
}

impl Refusal {
    fn part(fault: impl Into<String>) -> Self {
        Self::Part { fault: fault.into(), place: Vec::new() }
    }

    fn under(mut self, token: Token<'_>) -> Self {
        if let Self::Part { place, .. } = &mut self {
            place.push(token.text());
        }
        self
    }

    /// What to say of it, after the name of the document.
    pub(super) fn message(self) -> rquickjs::Result<String> {
        Ok(match self {
            Self::Part { fault, place } => {
                let escaped = |token: &String| token.replace('~', "~0").replace('/', "~1");
                let pointer: String =
                    place.iter().rev().map(|token| "/".to_owned() + &escaped(token)).collect();
                format!("the value at \"{pointer}\" is {fault}, which cannot be stored")
            }
            Self::Deep => format!("expected at most {JSON_DEPTH_MAX} levels of nesting"),
            Self::Large => format!("a document has at most {DOCUMENT_BYTES_MAX} bytes of JSON"),
            Self::Nothing => "expected a value to store, got undefined".to_owned(),
            Self::Thrown(error) => return Err(error),
        })
    }
}

/// The canonical text of `value`. `special` is the function of that name in `persist.js`.
pub(super) fn encode<'js>(value: &Value<'js>, special: &Function<'js>) -> Result<String, Refusal> {
    let mut encoder = Encoder::new(value.ctx(), special)?;
    let is_written = match encoder.write(value, Token::Root) {
        // Too deep, or without an end: only now are those around each value remembered.
        Err(Refusal::Deep) => {
            encoder = Encoder::new(value.ctx(), special)?;
            encoder.around = Some(Vec::new());
            encoder.write(value, Token::Root)?
        }
        written => written?,
    };
    if is_written { Ok(encoder.out) } else { Err(Refusal::Nothing) }
}

/// Where a value is in the one around it.
#[derive(Clone, Copy)]
enum Token<'a> {
    Root,
    Name(&'a str),
    Index(usize),
}

impl Token<'_> {
    fn text(self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Name(name) => name.to_owned(),
            Self::Index(index) => index.to_string(),
        }
    }
}

struct Encoder<'a, 'js> {
    special: &'a Function<'js>,
    /// `Object.prototype`: what has it, or none, is plain.
    plain: Option<Object<'js>>,
    out: String,
    /// How many objects and arrays are around what is being written.
    depth: usize,
    /// These, if a cycle is looked for.
    around: Option<Vec<Value<'js>>>,
}

impl<'a, 'js> Encoder<'a, 'js> {
    fn new(ctx: &Ctx<'js>, special: &'a Function<'js>) -> Result<Self, Refusal> {
        let plain = Object::new(ctx.clone())?.get_prototype();
        Ok(Self { special, plain, out: String::new(), depth: 0, around: None })
    }

    /// Writes a value; false if there is none, which is not for an array.
    fn write(&mut self, value: &Value<'js>, token: Token<'_>) -> Result<bool, Refusal> {
        if value.is_object() {
            return self.write_object(value, token);
        }
        self.write_scalar(value)
    }

    fn write_scalar(&mut self, value: &Value<'js>) -> Result<bool, Refusal> {
        if let Some(text) = value.as_string() {
            self.write_string(text)?;
        } else if let Some(number) = value.as_int() {
            write!(self.out, "{number}").expect("a string takes all that is written to it");
        } else if let Some(is_true) = value.as_bool() {
            self.out.push_str(if is_true { "true" } else { "false" });
        } else if value.is_null() {
            self.out.push_str("null");
        } else if let Some(number) = value.as_float() {
            if !number.is_finite() {
                let name = if number.is_nan() { "NaN" } else { "Infinity" };
                let sign = if number == f64::NEG_INFINITY { "-" } else { "" };
                return Err(Refusal::part(format!("the number {sign}{name}")));
            }
            self.out.push_str(&format_number(number));
        } else if value.is_undefined() {
            return Ok(false);
        } else {
            return Err(Refusal::part(if value.is_symbol() { "a symbol" } else { "a bigint" }));
        }
        Ok(true)
    }

    fn write_string(&mut self, text: &JsString<'js>) -> Result<(), Refusal> {
        match text.to_string() {
            Ok(text) => append_quoted(&text, &mut self.out),
            // Half a surrogate pair, which UTF-8 does not have and canonical text escapes.
            Err(rquickjs::Error::Utf8(_)) => {
                let escaped = text.ctx().json_stringify(text.clone())?;
                if let Some(escaped) = escaped {
                    self.out.push_str(&escaped.to_string()?);
                }
            }
            Err(error) => return Err(error.into()),
        }
        if self.out.len() > DOCUMENT_BYTES_MAX { Err(Refusal::Large) } else { Ok(()) }
    }

    fn write_object(&mut self, value: &Value<'js>, token: Token<'_>) -> Result<bool, Refusal> {
        let Some(object) = value.as_object() else { return Ok(false) };
        if value.is_function() {
            return Err(Refusal::part("a function"));
        }
        if let Some(is_written) = self.write_special(value, object)? {
            return Ok(is_written);
        }
        let to_json: Value = object.get(PredefinedAtom::ToJSON)?;
        let Some(to_json) = to_json.as_function() else {
            return self.nested(value, object).map(|()| true);
        };
        let instead: Value = to_json.call((This(object.clone()), token.text()))?;
        match instead.as_object() {
            None => self.write_scalar(&instead),
            Some(_) if instead.is_function() => Err(Refusal::part("a function")),
            Some(object) => match self.write_special(&instead, object)? {
                Some(is_written) => Ok(is_written),
                None => self.nested(&instead, object).map(|()| true),
            },
        }
    }

    /// Writes an object that has a form of its own; `None` if this one has none.
    fn write_special(
        &mut self,
        value: &Value<'js>,
        object: &Object<'js>,
    ) -> Result<Option<bool>, Refusal> {
        // Asking a proxy may call the application, which `special` does with more care.
        let is_plain = value.is_array()
            || (!value.is_proxy()
                && object.get_prototype().is_none_or(|of| self.plain.as_ref() == Some(&of)));
        if is_plain {
            return Ok(None);
        }
        let special: Value = self.special.call((value.clone(),))?;
        if let Some(text) = special.as_string() {
            self.check_depth(1)?;
            self.out.push_str(&text.to_string()?);
            self.check_length()?;
            return Ok(Some(true));
        }
        match special.as_array() {
            Some(fault) => Err(Refusal::part(fault.get::<String>(0)?)),
            None => Ok(None),
        }
    }

    fn nested(&mut self, value: &Value<'js>, object: &Object<'js>) -> Result<(), Refusal> {
        self.check_depth(1)?;
        self.check_length()?;
        if let Some(around) = &mut self.around {
            if around.contains(value) {
                return Err(Refusal::part("a cycle"));
            }
            around.push(value.clone());
        }
        self.depth += 1;
        match value.as_array() {
            Some(array) => self.write_array(array)?,
            None => self.write_members(object)?,
        }
        self.depth -= 1;
        self.around.as_mut().map(Vec::pop);
        Ok(())
    }

    fn write_array(&mut self, array: &Array<'js>) -> Result<(), Refusal> {
        // Not `len`, which does not expect more than an i32 holds.
        let length: f64 = array.as_object().get(PredefinedAtom::Length)?;
        self.out.push('[');
        for index in 0..length as usize {
            if index > 0 {
                self.out.push(',');
            }
            let token = Token::Index(index);
            let element: Value = array.get(index)?;
            if !self.write(&element, token).map_err(|refusal| refusal.under(token))? {
                let refusal = Refusal::part("undefined in an array (use null)");
                return Err(refusal.under(token));
            }
        }
        self.out.push(']');
        Ok(())
    }

    fn write_members(&mut self, object: &Object<'js>) -> Result<(), Refusal> {
        self.out.push('{');
        let (mut written, mut tag) = (0, None);
        for property in object.own_props::<JsString<'js>, Value<'js>>(Filter::default()) {
            let (name, member) = property?;
            if member.is_undefined() {
                continue;
            }
            let before = self.out.len();
            if written > 0 {
                self.out.push(',');
            }
            self.write_string(&name)?;
            self.out.push(':');
            let is_written = if member.is_object() {
                // Its name is told to its toJSON, and to whoever is told of a fault.
                let name = name.to_string().unwrap_or_else(|_| "\u{fffd}".to_owned());
                let token = Token::Name(&name);
                self.write_object(&member, token).map_err(|refusal| refusal.under(token))?
            } else {
                let under = |refusal: Refusal| {
                    let name = name.to_string().unwrap_or_else(|_| "\u{fffd}".to_owned());
                    refusal.under(Token::Name(&name))
                };
                self.write_scalar(&member).map_err(under)?
            };
            if !is_written {
                self.out.truncate(before);
                continue;
            }
            written += 1;
            if written == 1 && member.is_string() && self.out[before..].starts_with("\"$") {
                tag = Some((before, name, member));
            }
        }
        if let (1, Some((at, name, member))) = (written, tag)
            && self.special.call((member, name))?
        {
            // It is no date and no bytes, and must not be read as such.
            self.out.insert(at + 1, '$');
        }
        self.out.push('}');
        Ok(())
    }

    fn check_depth(&self, more: usize) -> Result<(), Refusal> {
        if self.depth + more > JSON_DEPTH_MAX { Err(Refusal::Deep) } else { Ok(()) }
    }

    /// So that one object at very many places ends, too.
    fn check_length(&self) -> Result<(), Refusal> {
        if self.out.len() > DOCUMENT_BYTES_MAX { Err(Refusal::Large) } else { Ok(()) }
    }
}
