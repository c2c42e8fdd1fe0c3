//! The scenarios that are inside the program.

/// A scenario that ships.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Its name: its file's without the ending.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! ship {
    ($($name:literal),* $(,)?) => {
        &[$(Shipped {
            name: $name,
            text: include_str!(concat!("../../../../scenarios/", $name, ".toml")),
        }),*]
    };
}

const SHIPPED: &[Shipped] = ship![
    "atompub-archive-walk",
    "atompub-blog-farm",
    "atompub-deposit",
    "atompub-hostile",
    "atompub-lost-update",
    "atompub-mix",
    "atompub-newsroom",
    "atompub-post",
    "atompub-spiky",
    "counter",
    "counter-clicks",
    "diurnal",
    "documents",
    "memcached-etc",
    "memcached-olio",
    "memcached-twitter",
    "olio-mix",
    "spike",
    "transfer",
];

/// All of them, by name.
pub fn shipped() -> &'static [Shipped] {
    SHIPPED
}
