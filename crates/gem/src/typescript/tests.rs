//! What is blanked, what stays, what is put or moved, and what is refused.

use super::*;
use crate::thrown::position;

fn js(text: &str) -> String {
    let js = javascript(text).unwrap_or_else(|mistake| panic!("{text}: {mistake:?}"));
    keeps_places(text, &js);
    js
}

/// As many lines, as many characters in each, and what remains is where it was. What was put is one
/// of three characters.
fn keeps_places(text: &str, js: &str) {
    let (before, after): (Vec<&str>, Vec<&str>) = (text.lines().collect(), js.lines().collect());
    assert_eq!(before.len(), after.len(), "{text}\n{js}");
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.chars().count(), after.chars().count(), "{before}\n{after}");
        for (was, is) in before.chars().zip(after.chars()) {
            assert!(was == is || matches!(is, ' ' | ';' | '(' | ')'), "{before}\n{after}");
        }
    }
}

/// The JavaScript with runs of spaces as one.
fn squeezed(text: &str) -> String {
    let js = js(text);
    let lines = js.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn types_become_spaces() {
    assert_eq!(js("let a: string = 'ü';"), "let a         = 'ü';");
    assert_eq!(js("let b: { ü: 1 } = c;"), "let b           = c;");
    assert_eq!(js("f(a as T, b)"), "f(a     , b)");
}

#[test]
fn each_construct() {
    for (text, expected) in [
        ("let a!: number;", "let a ;"),
        ("const { a, b }: { a: 1; b?: 2 } = c;", "const { a, b } = c;"),
        (
            "function f<T extends {}>(this: T, a?: string, ...b: T[]): a is T {}",
            "function f ( a , ...b ) {}",
        ),
        ("function f(this: T) {}", "function f( ) {}"),
        ("const f = async <T,>(a: T): Promise<T> => a;", "const f = async (a ) => a;"),
        ("a!.b![c]!();", "a .b [c] ();"),
        ("a!!", "a"),
        ("x! = 1; (x as any) = 1; [x as any] = [1];", "x = 1; (x ) = 1; [x ] = [1];"),
        (
            "f<string>(a); new F<A<B<C>>>(); f<A>`x`; a?.<T>(1); g<T>;",
            "f (a); new F (); f `x`; a?. (1); g ;",
        ),
        ("const a = { b: 1 } satisfies T as const;", "const a = { b: 1 } ;"),
        ("try {} catch (e: unknown) {}", "try {} catch (e ) {}"),
        ("for (const a of b as T[]) {}", "for (const a of b ) {}"),
        ("interface A { b: c }", ";"),
        ("export interface A { b: c }", ";"),
        ("export default interface A {}", ";"),
        ("type A<T> = keyof T | typeof a;", ";"),
        ("declare const a: 1; declare function f(): void; declare class C {}", "; ; ;"),
        ("export declare let a: 1;", ";"),
        ("declare enum E { A }", ";"),
        ("declare global { interface A {} }", ";"),
        ("declare module 'x' { export const a: 1; }", ";"),
        ("namespace N { export type A = 1; namespace M {} }", ";"),
        ("abstract class A {}", "class A {}"),
        ("export abstract class A {}", "export class A {}"),
        ("export default abstract class A {}", "export default class A {}"),
        ("class A<T> extends B<T> implements C, D<E> {}", "class A extends B {}"),
        ("const c = class implements A {}", "const c = class {}"),
        (
            "function f(a: 1): void; function f(a: 2): void; function f(a: any) {}",
            "; ; function f(a ) {}",
        ),
        (
            "export function f(a: 1): void; export function f(a: any) {}",
            "; export function f(a ) {}",
        ),
        (
            "export default function f(a: 1): void; export default function f(a: any) {}",
            "; export default function f(a ) {}",
        ),
        (
            "import type A from 'a'; import type { B } from 'b'; import type * as C from 'c';",
            "; ; ;",
        ),
        ("import { type A, b, type C } from 'a';", "import { b, } from 'a';"),
        ("import D, { type A } from 'a';", "import D, { } from 'a';"),
        ("import { type as as } from 'a';", "import { type as as } from 'a';"),
        ("export type { A }; export type { B } from 'b'; export type * from 'c';", "; ; ;"),
        (
            "export { type A, b }; export { type A as C } from 'a';",
            "export { b }; export { } from 'a';",
        ),
        ("import type A = require('a'); ", ";"),
        ("label: for (;;) { type A = 1; break label; }", "label: for (;;) { ; break label; }"),
        (
            "type = 1; type\n= 2; declare\n(a); abstract\n(b)",
            "type = 1; type\n= 2; declare\n(a); abstract\n(b)",
        ),
        ("enum_ = 1; x = a < b, c > (d);", "enum_ = 1; x = a (d);"),
    ] {
        assert_eq!(squeezed(text), expected, "{text}");
    }
}

#[test]
fn members_of_classes() {
    let class = |members: &str| {
        let squeezed = squeezed(&format!("class A {{ {members} }}"));
        squeezed.strip_prefix("class A { ").unwrap().strip_suffix(" }").unwrap().to_owned()
    };
    for (members, expected) in [
        ("public a = 1;", "; a = 1;"),
        ("private static readonly b: T = 1;", "; static b = 1;"),
        ("static readonly b: T = 1;", "static b = 1;"),
        ("override async *c(): T {}", "; async *c() {}"),
        ("protected get d(): T { return 1; }", "; get d() { return 1; }"),
        ("declare e: T; f: T;", "; f; ;"),
        ("abstract g(): void; abstract h: T;", "; ;"),
        ("[key: string]: any; static [key: string]: any;", "; ;"),
        ("i?: T; j!: T; k?(): void {}", "i; ; j; ; k () {}"),
        ("m(a: 1): void; m(a: any) {}", "; m(a ) {}"),
        ("constructor(a: 1); constructor(a: any) { }", "; constructor(a ) { }"),
        ("['n']?: T; #p: T = 1;", "['n']; ; #p = 1;"),
        (
            "readonly = 1; public; static static; get: T; set() {}",
            "readonly = 1; public; static static; get; ; set() {}",
        ),
    ] {
        assert_eq!(class(members), expected, "{members}");
    }
}

/// Where a line ends without a semicolon, what is blanked must not join it to the next.
#[test]
fn lines_are_not_joined() {
    for (text, expected) in [
        ("a\ninterface B {}\n(c)", "a\n;\n(c)"),
        ("a\ntype B = 1\n[c]", "a\n;\n[c]"),
        ("x as T\n(a)", "x ;\n(a)"),
        ("x as T\n[a]", "x ;\n[a]"),
        ("x as T as U\n`a`", "x ;\n`a`"),
        ("x satisfies T\n`${a}`", "x ;\n`${a}`"),
        ("x as T\n.a", "x"),
        ("x as T\n+ 1", "x\n+ 1"),
        ("class A { b = 1\n public ['c'] = 2 }", "class A { b = 1\n; ['c'] = 2 }"),
        ("class A { b = 1\n private *c() {} }", "class A { b = 1\n; *c() {} }"),
        ("class A { get: T\n c() {} }", "class A { get;\nc() {} }"),
        ("class A { static?: T\n c() {} }", "class A { static;\nc() {} }"),
        ("class A { b\n [k: string]: T\n ['c'] = 1 }", "class A { b\n;\n['c'] = 1 }"),
        ("const f = (a)\n: T => a", "const f = (a\n) => a"),
        ("const f = (a): A<\nT\n> => a", "const f = (a\n\n) => a"),
        ("const f = async <\nT\n>(a: T) => a", "const f = async (\n\na ) => a"),
        ("function f() { return <\nT,\n>(a: T) => a }", "function f() { return (\n\na ) => a }"),
        ("f(a as T\n)", "f(a\n)"),
    ] {
        assert_eq!(squeezed(text).trim_end(), expected, "{text}");
    }
}

fn refused(text: &str) -> String {
    let mistake = javascript(text).expect_err(text);
    let (line, column) = position(text, mistake.at);
    format!("{line}:{column}: {}", mistake.why)
}

#[test]
fn what_is_code_is_refused_where_it_stands() {
    for (text, place, word) in [
        ("\n enum A { B }", "2:2", "as const"),
        ("const enum A { B }", "1:1", "as const"),
        ("export enum A { B }", "1:1", "as const"),
        ("namespace A { export const b = 1; }", "1:1", "a module of its own"),
        ("class A { constructor(private a: T) {} }", "1:23", "this.name = name"),
        ("class A { constructor(b, readonly a = 1) {} }", "1:26", "this.name = name"),
        ("import a = require('a');", "1:1", "import name from"),
        ("import a = b.c;", "1:1", "import name from"),
        ("export = a;", "1:1", "export default"),
        ("export as namespace a;", "1:1", "leave it out"),
        ("@a class B {}", "1:1", "decorate(class"),
        ("class B { @a b() {} }", "1:11", "decorate(class"),
        ("class B { accessor a = 1; }", "1:11", "getter"),
        ("a = <T>b;", "1:5", "value as T"),
    ] {
        let message = refused(text);
        assert!(message.starts_with(&format!("{place}: ")), "{text}: {message}");
        assert!(message.contains(word), "{text}: {message}");
    }
}

#[test]
fn what_does_not_parse_is_refused_where_it_stands() {
    for (text, place) in [
        ("const a: = 1;", "1:10: SyntaxError: "),
        ("let a: string = ;", "1:17: SyntaxError: "),
        ("type A = {\n  b: 1\n", "3:1: SyntaxError: "),
        ("interface {}", "1:10: SyntaxError: "),
        ("a = 1 + b as T * 2;", "1:15: SyntaxError: "),
        ("let ü: T = 'a", "1:12: SyntaxError: "),
    ] {
        let message = refused(text);
        assert!(message.starts_with(place), "{text}: {message}");
    }
}

#[test]
fn each_limit_is_reached_and_refused() {
    let long = |bytes: usize| format!("//{}", "x".repeat(bytes - 2));
    assert!(javascript(&long(TYPESCRIPT_BYTES_MAX)).is_ok());
    assert!(
        refused(&long(TYPESCRIPT_BYTES_MAX + 1)).contains("at most 1048576 bytes; found 1048577")
    );
    let deep = |depth: usize| format!("a = {}{};", "[".repeat(depth), "]".repeat(depth));
    assert!(javascript(&deep(TYPESCRIPT_NESTING_MAX)).is_ok());
    let message = refused(&deep(TYPESCRIPT_NESTING_MAX + 1));
    assert_eq!(message, "1:505: expected at most 500 brackets inside each other");
}

/// As deep as the bounds let a text go, by what needs the most stack for each byte.
#[test]
fn the_stack_is_enough_for_all_that_is_allowed() {
    let room = TYPESCRIPT_BYTES_MAX - 10;
    assert!(javascript(&format!("f = {}1", "a=>".repeat(room / 3))).is_ok());
    assert!(javascript(&format!("f = {}1", "!".repeat(room))).is_ok());
    assert!(javascript(&format!("f = {}1", "a?b:".repeat(room / 4))).is_ok());
    assert!(javascript(&format!("type A={}B", "keyof ".repeat(room / 6))).is_ok());
    let functions = TYPESCRIPT_NESTING_MAX / 2;
    let nested = format!("{}{}", "(function(){".repeat(functions), "})".repeat(functions));
    assert!(javascript(&nested).is_ok());
}
