//! What TypeScript has that is not types but code, and what to write instead. The same list as
//! TypeScript's own option `erasableSyntaxOnly`.

/// A construct that cannot be blanked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Enum,
    Namespace,
    ParameterProperty,
    ImportEquals,
    ExportEquals,
    ExportAsNamespace,
    Decorator,
    Accessor,
    Assertion,
    Markup,
}

impl Refused {
    pub(super) fn why(self) -> &'static str {
        match self {
            Self::Enum => {
                "an enum is code, which types blanked out cannot make; write an object and a type: \
                 const Color = { Red: \"red\" } as const; \
                 type Color = (typeof Color)[keyof typeof Color];"
            }
            Self::Namespace => {
                "a namespace with code in it cannot be blanked out; make it a module of its own, \
                 and import * as name from it"
            }
            Self::ParameterProperty => {
                "a parameter that is also a property is code; declare the property in the class, \
                 and write this.name = name; in the constructor"
            }
            Self::ImportEquals => {
                "import ... = is code; write import name from \"./file.ts\", or for a type alone \
                 type Name = ...;"
            }
            Self::ExportEquals => "export = is code; write export default",
            Self::ExportAsNamespace => {
                "export as namespace is for files of declarations (.d.ts); leave it out"
            }
            Self::Decorator => {
                "decorators are not known here; call the function yourself: \
                 const Name = decorate(class { ... });"
            }
            Self::Accessor => "accessor fields are not known here; write a getter and a setter",
            Self::Assertion => {
                "<T>value cannot be blanked safely; write value as T (and for markup, html`...`)"
            }
            Self::Markup => "JSX is not known here; write html`...`",
        }
    }
}
