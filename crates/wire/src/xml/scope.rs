//! What holds for an element because of those around it: namespaces (Namespaces in XML 1.0),
//! `xml:base` and `xml:lang`. It grows and shrinks with the depth.

use super::refused::{Reason, shown};
use super::{XML, XMLNS};
use crate::limits::{XML_BASE_BYTES_MAX, XML_NAMESPACES_MAX};
use crate::uri;
use std::borrow::Cow;

/// An expanded name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name<'a> {
    /// Empty for names in no namespace.
    pub namespace: Cow<'a, str>,
    /// Without a prefix.
    pub local: &'a str,
}

impl Name<'_> {
    /// Whether it is that name.
    pub fn is(&self, namespace: &str, local: &str) -> bool {
        self.local == local && self.namespace == namespace
    }
}

/// The scope at a place of a document.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    /// Prefixes and their namespaces, the innermost last.
    bindings: Vec<(&'a str, Cow<'a, str>)>,
    /// Of each open element, how many bindings there were before it.
    marks: Vec<usize>,
    /// The depth at which a base begins, and the base, resolved.
    bases: Vec<(usize, String)>,
    langs: Vec<(usize, String)>,
    /// Whether bounds are looked at.
    is_bounded: bool,
}

impl<'a> Scope<'a> {
    pub fn new(is_bounded: bool) -> Scope<'a> {
        let (bindings, marks, bases, langs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Scope { bindings, marks, bases, langs, is_bounded }
    }

    pub fn depth(&self) -> usize {
        self.marks.len()
    }

    pub fn enter(&mut self) {
        self.marks.push(self.bindings.len());
    }

    pub fn leave(&mut self) {
        let depth = self.depth();
        self.bindings.truncate(self.marks.pop().unwrap_or(0));
        self.bases.pop_if(|(at, _)| *at == depth);
        self.langs.pop_if(|(at, _)| *at == depth);
    }

    /// Binds a prefix (empty: the default) within the innermost element.
    pub fn bind(&mut self, prefix: &'a str, namespace: Cow<'a, str>) -> Result<(), Reason> {
        let refused = Err(Reason::Declaration(shown(prefix)));
        match (prefix, &*namespace) {
            ("xml", XML) => return Ok(()),
            ("xml" | "xmlns", _) | (_, XML | XMLNS) => return refused,
            ("", _) => {}
            (_, "") => return refused,
            _ => {}
        }
        if self.is_bounded && self.bindings.len() == XML_NAMESPACES_MAX {
            return Err(Reason::Limit { what: "namespaces in scope", max: XML_NAMESPACES_MAX });
        }
        self.bindings.push((prefix, namespace));
        Ok(())
    }

    /// The namespace of a prefix, or the default one; none if nothing binds the prefix.
    pub fn resolve(&self, prefix: &str) -> Option<Cow<'a, str>> {
        if prefix == "xml" {
            return Some(Cow::Borrowed(XML));
        }
        let bound = self.bindings.iter().rev().find(|(known, _)| *known == prefix);
        match bound {
            Some((_, namespace)) => Some(namespace.clone()),
            None => prefix.is_empty().then_some(Cow::Borrowed("")),
        }
    }

    /// All bindings that can be used here, in the order of their declarations.
    pub fn bindings(&self) -> Vec<(&'a str, Cow<'a, str>)> {
        let is_hidden = |i: usize, prefix: &str| {
            self.bindings[i + 1..].iter().any(|(later, _)| *later == prefix)
        };
        let indexed = self.bindings.iter().enumerate();
        indexed
            .filter(|(i, (prefix, _))| !is_hidden(*i, prefix))
            .map(|(_, binding)| binding.clone())
            .collect()
    }

    /// States the base of the innermost element. What is resolved by it repeats it.
    pub fn set_base(&mut self, reference: &str) -> Result<(), Reason> {
        let base = uri::resolve(self.base().unwrap_or(""), reference);
        if self.is_bounded && base.len() > XML_BASE_BYTES_MAX {
            return Err(Reason::Limit { what: "bytes of xml:base", max: XML_BASE_BYTES_MAX });
        }
        self.bases.push((self.depth(), base));
        Ok(())
    }

    pub fn set_lang(&mut self, lang: &str) {
        self.langs.push((self.depth(), lang.to_owned()));
    }

    /// The base that `xml:base` states here, if any does.
    pub fn base(&self) -> Option<&str> {
        self.bases.last().map(|(_, base)| &**base)
    }

    /// The language that `xml:lang` states here, if any does.
    pub fn lang(&self) -> Option<&str> {
        self.langs.last().map(|(_, lang)| &**lang).filter(|lang| !lang.is_empty())
    }
}
