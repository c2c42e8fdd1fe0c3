//! The functions that an application registered, kept from the engine's garbage collection, and
//! the combinations of them that requests are for.

use crate::limits::CHAINS_MAX;
use crate::route::{Entry, Kind, Methods, Pattern, Routes, Steps};
use rquickjs::{Array, Ctx, Function, Object, Persistent, Result};
use std::cell::RefCell;
use std::collections::HashMap;

/// A function of the engine's.
pub(crate) type Kept = Persistent<Function<'static>>;

/// The functions of an application.
pub(crate) struct Handlers {
    /// What `app.js` collected: what `compose` puts together.
    entries: Persistent<Array<'static>>,
    compose: Kept,
    /// By place: the function to call if the entry is the only one that a request is for.
    single: Vec<Kept>,
    /// By place: what the entry is called.
    names: Vec<String>,
    /// The others, each put together when a request first was for it.
    chains: RefCell<HashMap<Box<[u32]>, Kept>>,
}

impl Handlers {
    /// Reads what `take` in `app.js` gave; `own` are Sarsen's own functions.
    pub(crate) fn read<'js>(
        ctx: &Ctx<'js>,
        own: &Object<'js>,
        list: Array<'js>,
    ) -> Result<(Self, Routes)> {
        let compose: Function = own.get("compose")?;
        let not_found: Function = own.get("notFound")?;
        let mut single = Vec::with_capacity(list.len());
        let mut names = Vec::with_capacity(list.len());
        let mut entries = Vec::with_capacity(list.len());
        for (place, entry) in list.iter::<Object>().enumerate() {
            let entry = entry?;
            let functions: Vec<Function> = entry.get("functions")?;
            let (kind, pattern) = (kind(&entry, &functions)?, entry.get::<_, String>("pattern")?);
            names.push(format!("{} {pattern}", entry.get::<_, String>("title")?));
            let pattern = Pattern::parse(&pattern).expect("app.js checked it when it was added");
            let function = match (&functions[..], kind) {
                ([only], Kind::Route { .. } | Kind::OnError) => only.clone(),
                ([only], Kind::NotFound) => not_found.call((only.clone(),))?,
                _ => compose.call((list.clone(), vec![place]))?,
            };
            single.push(Persistent::save(ctx, function));
            entries.push(Entry { kind, pattern });
        }
        let compose = Persistent::save(ctx, compose);
        let entries_of = Persistent::save(ctx, list);
        let handlers =
            Self { entries: entries_of, compose, single, names, chains: RefCell::default() };
        Ok((handlers, Routes::new(entries)))
    }

    /// The function to call for a request; `None` if there is none.
    pub(crate) fn of(&self, ctx: &Ctx<'_>, steps: &Steps) -> Result<Option<Kept>> {
        match steps {
            Steps::None => Ok(None),
            Steps::One(place) => Ok(Some(self.at(*place))),
            Steps::Many(places) => self.chain(ctx, places).map(Some),
        }
    }

    /// Adds a function that no request is for.
    pub(crate) fn add(&mut self, name: String, function: Kept) {
        self.single.push(function);
        self.names.push(name);
    }

    /// The place of the function that was added last (1), or before it (2), and so on.
    pub(crate) fn last(&self, back: usize) -> u32 {
        u32::try_from(self.single.len().saturating_sub(back)).unwrap_or(u32::MAX)
    }

    /// The function of one entry.
    pub(crate) fn at(&self, place: u32) -> Kept {
        self.single[place as usize].clone()
    }

    /// What answers is called: the last of the entries that a request is for.
    pub(crate) fn name(&self, steps: &Steps) -> &str {
        steps.last().and_then(|last| self.names.get(last)).map_or("", String::as_str)
    }

    /// What all of them are called, by place.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    fn chain(&self, ctx: &Ctx<'_>, places: &[u32]) -> Result<Kept> {
        if let Some(chain) = self.chains.borrow().get(places) {
            return Ok(chain.clone());
        }
        let compose = self.compose.clone().restore(ctx)?;
        let entries = self.entries.clone().restore(ctx)?;
        let chain: Function = compose.call((entries, places.to_vec()))?;
        let chain = Persistent::save(ctx, chain);
        let mut chains = self.chains.borrow_mut();
        if chains.len() < CHAINS_MAX {
            chains.insert(places.into(), chain.clone());
        }
        Ok(chain)
    }
}

fn kind(entry: &Object<'_>, functions: &[Function<'_>]) -> Result<Kind> {
    let kind: String = entry.get("kind")?;
    Ok(match kind.as_str() {
        "middleware" => Kind::Middleware,
        "notFound" => Kind::NotFound,
        "onError" => Kind::OnError,
        _ => {
            let names: Vec<String> = entry.get("methods")?;
            let known = names.iter().filter_map(|name| Methods::named(name));
            let methods = known.fold(Methods::default(), Methods::and);
            // A function without a second parameter cannot ask for what comes after it.
            let asked = functions.last().map_or(Ok(0), |last| last.get::<_, u32>("length"))?;
            Kind::Route { methods, is_final: asked < 2 }
        }
    })
}
