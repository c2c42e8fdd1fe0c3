//! Which parts of a module are types. Where only blanking them would change what the rest means, a
//! character is put or moved:
//!
//! - a declaration that vanishes leaves a `;`, so that the lines around it are not joined;
//! - a class member whose first word vanishes, or that ends with a type, gets a `;` there, so that
//!   it is not joined to the member next to it;
//! - `x as T` at the end of a line gets a `;` if the next line begins with `(`, `[` or a template;
//! - an arrow function whose types take several lines gets its `(` where its type parameters began,
//!   and its `)` where its return type ended: no line may end before `=>`, nor after `async` or
//!   `return`.

use super::Mistake;
use super::marks::Marks;
use super::refusal::Refused;
use super::tokens::Tokens;
use oxc_allocator::Allocator;
use oxc_ast::ast::*;
use oxc_ast_visit::{Visit, walk};
use oxc_parser::config::TokensParserConfig;
use oxc_parser::{Kind, Parser};
use oxc_span::GetSpan;

/// The JavaScript in `text`.
pub(super) fn strip(text: &str) -> Result<String, Mistake> {
    let allocator = Allocator::default();
    let parser = Parser::new(&allocator, text, SourceType::ts().with_module(true));
    let parsed = parser.with_config(TokensParserConfig).parse();
    if let Some(error) = parsed.diagnostics.errors().next() {
        let at = error.labels.first().map_or(0, |label| label.offset() as usize);
        let help = error.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
        return Err(Mistake { at, why: format!("SyntaxError: {}{help}", error.message) });
    }
    let mut types =
        Types { tokens: Tokens(&parsed.tokens), marks: Marks::new(text), refused: None };
    types.visit_program(&parsed.program);
    match types.refused {
        Some((at, refused)) => Err(Mistake { at: at as usize, why: refused.why().to_owned() }),
        None => Ok(types.marks.into_text()),
    }
}

struct Types<'t> {
    tokens: Tokens<'t>,
    marks: Marks<'t>,
    /// What cannot be blanked, the first there is.
    refused: Option<(u32, Refused)>,
}

impl Types<'_> {
    fn blank(&mut self, span: Span) {
        self.marks.blank(span.start as usize, span.end as usize);
    }

    fn put(&mut self, at: u32, character: u8) {
        self.marks.put(at as usize, character);
    }

    /// Blanks a statement or a member of a class, and ends there what came before it.
    fn remove(&mut self, span: Span) {
        self.blank(span);
        self.put(span.start, b';');
    }

    fn refuse(&mut self, span: Span, refused: Refused) {
        if self.refused.is_none_or(|(at, _)| span.start < at) {
            self.refused = Some((span.start, refused));
        }
    }

    /// Blanks the token after `at` if it is `kind`, and gives its place.
    fn blank_next(&mut self, kind: Kind, at: u32) -> Option<Span> {
        let span = self.tokens.expect(kind, at)?.span();
        self.blank(span);
        Some(span)
    }

    /// Blanks an element of a list, with the comma after it.
    fn blank_element(&mut self, span: Span) {
        self.blank(span);
        self.blank_next(Kind::Comma, span.end);
    }

    /// What is to be done with a declaration, standing alone or exported.
    fn declaration(&self, declaration: &Declaration<'_>) -> Fate {
        let fate = |is_type| if is_type { Fate::Removed } else { Fate::Kept };
        match declaration {
            Declaration::VariableDeclaration(it) => fate(it.declare),
            Declaration::FunctionDeclaration(it) => fate(it.declare || it.body.is_none()),
            Declaration::ClassDeclaration(it) => fate(it.declare),
            Declaration::TSTypeAliasDeclaration(_) | Declaration::TSInterfaceDeclaration(_) => {
                Fate::Removed
            }
            Declaration::TSEnumDeclaration(it) if !it.declare => Fate::Refused(Refused::Enum),
            Declaration::TSNamespaceDeclaration(it) if !is_type_only(it) => {
                Fate::Refused(Refused::Namespace)
            }
            Declaration::TSExternalModuleDeclaration(it) if !it.declare => {
                Fate::Refused(Refused::Namespace)
            }
            Declaration::TSImportEqualsDeclaration(it) if it.import_kind.is_value() => {
                Fate::Refused(Refused::ImportEquals)
            }
            _ => Fate::Removed,
        }
    }

    fn settle(&mut self, fate: Fate, span: Span) -> bool {
        match fate {
            Fate::Kept => return false,
            Fate::Removed => self.remove(span),
            Fate::Refused(refused) => self.refuse(span, refused),
        }
        true
    }

    /// Blanks the words before a member's key that only TypeScript knows.
    fn modifiers(&mut self, member: Span, key: Span) {
        let words: Vec<Span> = self
            .tokens
            .between(member.start, key.start)
            .iter()
            .filter(|token| is_modifier(token.kind()))
            .map(|token| token.span())
            .collect();
        for word in words {
            self.blank(word);
            if word.start == member.start {
                self.put(word.start, b';');
            }
        }
    }

    /// Where a member's key ends, with the bracket of a computed one.
    fn end_of_key(&self, key: Span, computed: bool) -> u32 {
        let bracket = computed.then(|| self.tokens.expect(Kind::RBrack, key.end)).flatten();
        bracket.map_or(key.end, |bracket| bracket.end())
    }

    fn method(&mut self, it: &MethodDefinition<'_>) {
        let key = it.key.span();
        self.modifiers(it.span, key);
        self.blank_next(Kind::Question, self.end_of_key(key, it.computed));
    }

    fn property(&mut self, it: &PropertyDefinition<'_>) {
        let key = it.key.span();
        self.modifiers(it.span, key);
        let end = self.end_of_key(key, it.computed);
        let mark = self.blank_next(Kind::Question, end);
        let mark = mark.or_else(|| self.blank_next(Kind::Bang, end));
        let annotation = it.type_annotation.as_ref().map(|annotation| annotation.span);
        // `get: T` must not become the word that makes a getter of the next member.
        if let Some(first) = mark.or(annotation).filter(|_| it.value.is_none()) {
            self.put(first.start, b';');
        }
    }

    /// Blanks ` as T` or ` satisfies T` at the end of `whole`.
    fn cast(&mut self, whole: Span, expression: Span) {
        let Some(word) = self.tokens.from(expression.end).map(|token| token.span()) else { return };
        self.blank(Span::new(word.start, whole.end));
        let joins = |kind| {
            matches!(
                kind,
                Kind::LParen | Kind::LBrack | Kind::NoSubstitutionTemplate | Kind::TemplateHead
            )
        };
        let next = self.tokens.from(whole.end).filter(|token| joins(token.kind()));
        if let Some(next) = next.map(|token| token.start())
            && self.marks.has_line_break(whole.end as usize, next as usize)
        {
            self.put(word.start, b';');
        }
    }

    /// Moves the parenthesis before an arrow function's parameters to where its types begin.
    fn open_early(&mut self, types: Span) {
        if !self.marks.has_line_break(types.start as usize, types.end as usize) {
            return;
        }
        if self.blank_next(Kind::LParen, types.end).is_some() {
            self.put(types.start, b'(');
        }
    }

    /// Moves the parenthesis after an arrow function's parameters to where its return type ends.
    fn close_late(&mut self, returned: Span) {
        let Some(close) = self.tokens.before(Kind::RParen, returned.start) else { return };
        let close = close.span();
        if self.marks.has_line_break(close.end as usize, returned.end as usize) {
            self.blank(close);
            self.put(returned.end - 1, b')');
        }
    }
}

enum Fate {
    Kept,
    Removed,
    Refused(Refused),
}

fn is_modifier(kind: Kind) -> bool {
    matches!(kind, Kind::Public | Kind::Private | Kind::Protected | Kind::Readonly | Kind::Override)
}

/// Whether a namespace holds types alone.
fn is_type_only(namespace: &TSNamespaceDeclaration<'_>) -> bool {
    if namespace.declare {
        return true;
    }
    match &namespace.body {
        TSNamespaceDeclarationBody::TSNamespaceDeclaration(inner) => is_type_only(inner),
        TSNamespaceDeclarationBody::TSModuleBlock(block) => block.body.iter().all(is_type),
    }
}

fn is_type(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::ExportDeclaration(it) => is_type_declaration(&it.declaration),
        Statement::ExportNamedDeclaration(it) => it.export_kind.is_type(),
        Statement::EmptyStatement(_) => true,
        other => other.as_declaration().is_some_and(is_type_declaration),
    }
}

fn is_type_declaration(declaration: &Declaration<'_>) -> bool {
    match declaration {
        Declaration::TSTypeAliasDeclaration(_) | Declaration::TSInterfaceDeclaration(_) => true,
        Declaration::TSNamespaceDeclaration(it) => is_type_only(it),
        Declaration::VariableDeclaration(it) => it.declare,
        Declaration::FunctionDeclaration(it) => it.declare,
        Declaration::ClassDeclaration(it) => it.declare,
        Declaration::TSEnumDeclaration(it) => it.declare,
        _ => false,
    }
}

impl<'a> Visit<'a> for Types<'_> {
    fn visit_statement(&mut self, it: &Statement<'a>) {
        let span = it.span();
        let fate = match it {
            Statement::ImportDeclaration(it) if it.import_kind.is_type() => Fate::Removed,
            Statement::ExportAllDeclaration(it) if it.export_kind.is_type() => Fate::Removed,
            Statement::ExportNamedDeclaration(it) if it.export_kind.is_type() => Fate::Removed,
            Statement::ExportFromDeclaration(it) if it.export_kind.is_type() => Fate::Removed,
            Statement::ExportDeclaration(it) => self.declaration(&it.declaration),
            Statement::ExportDefaultDeclaration(it) => match &it.declaration {
                ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => Fate::Removed,
                ExportDefaultDeclarationKind::FunctionDeclaration(it) if it.body.is_none() => {
                    Fate::Removed
                }
                _ => Fate::Kept,
            },
            Statement::TSExportAssignment(_) => Fate::Refused(Refused::ExportEquals),
            Statement::TSNamespaceExportDeclaration(_) => Fate::Refused(Refused::ExportAsNamespace),
            other => match other.as_declaration() {
                Some(declaration) => self.declaration(declaration),
                None => Fate::Kept,
            },
        };
        if !self.settle(fate, span) {
            walk::walk_statement(self, it);
        }
    }

    fn visit_class_element(&mut self, it: &ClassElement<'a>) {
        let fate = match it {
            ClassElement::TSIndexSignature(_) => Fate::Removed,
            ClassElement::MethodDefinition(it) if it.value.body.is_none() => Fate::Removed,
            ClassElement::PropertyDefinition(it) if it.declare || it.r#type.is_abstract() => {
                Fate::Removed
            }
            ClassElement::AccessorProperty(it) if it.r#type.is_abstract() => Fate::Removed,
            ClassElement::AccessorProperty(_) => Fate::Refused(Refused::Accessor),
            _ => Fate::Kept,
        };
        if self.settle(fate, it.span()) {
            return;
        }
        match it {
            ClassElement::MethodDefinition(it) => self.method(it),
            ClassElement::PropertyDefinition(it) => self.property(it),
            _ => {}
        }
        walk::walk_class_element(self, it);
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        if it.r#abstract {
            self.blank_next(Kind::Abstract, it.span.start);
        }
        if let (Some(first), Some(last)) = (it.implements.first(), it.implements.last())
            && let Some(word) = self.tokens.before(Kind::Implements, first.span.start)
        {
            self.blank(Span::new(word.start(), last.span.end));
        }
        walk::walk_class(self, it);
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        if it.accessibility.is_some() || it.readonly || it.r#override {
            self.refuse(it.span, Refused::ParameterProperty);
        }
        if it.optional {
            self.blank_next(Kind::Question, it.pattern.span().end);
        }
        walk::walk_formal_parameter(self, it);
    }

    fn visit_ts_this_parameter(&mut self, it: &TSThisParameter<'a>) {
        self.blank_element(it.span);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if it.definite {
            self.blank_next(Kind::Bang, it.id.span().end);
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_import_specifier(&mut self, it: &ImportSpecifier<'a>) {
        if it.import_kind.is_type() {
            self.blank_element(it.span);
        }
    }

    fn visit_export_specifier(&mut self, it: &ExportSpecifier<'a>) {
        if it.export_kind.is_type() {
            self.blank_element(it.span);
        }
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        if let Some(types) = &it.type_parameters {
            self.open_early(types.span);
        }
        if let Some(returned) = &it.return_type {
            self.close_late(returned.span);
        }
        walk::walk_arrow_function_expression(self, it);
    }

    fn visit_ts_as_expression(&mut self, it: &TSAsExpression<'a>) {
        self.cast(it.span, it.expression.span());
        self.visit_expression(&it.expression);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &TSSatisfiesExpression<'a>) {
        self.cast(it.span, it.expression.span());
        self.visit_expression(&it.expression);
    }

    fn visit_ts_non_null_expression(&mut self, it: &TSNonNullExpression<'a>) {
        self.blank_next(Kind::Bang, it.expression.span().end);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_type_annotation(&mut self, it: &TSTypeAnnotation<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &TSTypeParameterDeclaration<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &TSTypeParameterInstantiation<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_class_implements(&mut self, _it: &TSClassImplements<'a>) {}

    fn visit_ts_type_assertion(&mut self, it: &TSTypeAssertion<'a>) {
        self.refuse(it.span, Refused::Assertion);
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.refuse(it.span, Refused::Decorator);
    }

    fn visit_jsx_element(&mut self, it: &JSXElement<'a>) {
        self.refuse(it.span, Refused::Markup);
    }
}
