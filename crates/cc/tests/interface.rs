//! The tables of the interface outside Rust (`src/outside/tables.rs`) are made from the trait `Controller` and the structs of
//! its events. `ACKCLOCK_INTERFACE=write cargo test -p ackclock-cc --test interface` (`make reference`) writes them.

use std::fmt::Write;
use syn::{Fields, FnArg, ImplItem, Item, Pat, ReturnType, TraitItem, TraitItemFn};

const TABLES: &str = "src/outside/tables.rs";
/// Methods of the trait that are neither events nor answers: read once, or for the trace.
const NEITHER: [&str; 4] = ["needs", "initial_window", "transitions", "probe"];
/// Types that exist in Rust only; methods in `outside/derived.rs` give what controllers outside read of them.
const RUST_ONLY: [&str; 3] = ["Arithmetic", "Option<RateSample>", "SenderState"];

const HEADER: &str = "\
//! The interface of a controller as three tables: the events, the structs that they pass, and the answers. Made from
//! `controller.rs`, `events.rs`, `flow.rs` and `outside/derived.rs` by `make reference`; do not edit it.

";
const EVENTS: &str = "\
/// Passes the events to the macro `$use`, after the tokens in brackets: the variant of [`crate::Event`], the method, and
/// `required` for a method that each controller defines.
#[doc(hidden)]
#[macro_export]
macro_rules! controller_events {
    ($use:ident $(, $($more:tt)*)?) => { $use! { [$($($more)*)?]
";
const STRUCTS: &str = "\
/// Passes the structs to the macro `$use`: fields, then methods that compute a field outside Rust. Each has its type and its
/// names outside Rust: one, or for times that in seconds and that in picoseconds.
#[doc(hidden)]
#[macro_export]
macro_rules! event_structs {
    ($use:ident) => {
        $use! {
";
const ANSWERS: &str = "\
/// Passes the answers to the macro `$use`, after the tokens in brackets: first those that a controller defines, then those with
/// a default. An answer has its type and its name outside Rust.
#[doc(hidden)]
#[macro_export]
macro_rules! controller_answers {
    ($use:ident $(, $($more:tt)*)?) => { $use! { [$($($more)*)?]
";

fn source(file: &str) -> Vec<Item> {
    let path = format!("{}/src/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    syn::parse_file(&text).unwrap_or_else(|e| panic!("{path}: {e}")).items
}

/// A piece of code as it is written.
fn code(tokens: impl quote::ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    for (spaced, written) in
        [(" :: ", "::"), (" < ", "<"), (" >", ">"), ("& ", "&"), (" . ", "."), (" (", "("), (" ,", ",")]
    {
        text = text.replace(spaced, written);
    }
    text
}

/// The lines of a doc comment, indented.
fn doc(attributes: &[syn::Attribute], indent: usize) -> String {
    let mut lines = String::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        let syn::Meta::NameValue(pair) = &attribute.meta else { continue };
        let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value else { continue };
        writeln!(lines, "{:indent$}///{}", "", text.value()).unwrap();
    }
    lines
}

/// The names outside Rust of a field, method or answer of type `kind`.
fn names(name: &str, kind: &str) -> Vec<String> {
    match kind.trim_start_matches("Option<").trim_end_matches('>') {
        "Time" | "Span" => vec![format!("{name}_s"), format!("{name}_ps")],
        "Rate" => vec![format!("{name}_bps")],
        _ => vec![name.to_string()],
    }
}

/// The variant of an event's method: `on_ack` is `Ack`, `set_window` is `SetWindow`.
fn variant(method: &str) -> String {
    let words = method.strip_prefix("on_").unwrap_or(method).split('_');
    words.map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

/// The methods of the trait.
fn methods() -> Vec<TraitItemFn> {
    let items = source("controller.rs").into_iter().find_map(|item| match item {
        Item::Trait(interface) if interface.ident == "Controller" => Some(interface.items),
        _ => None,
    });
    let methods = items.expect("controller.rs has the trait").into_iter().filter_map(|item| match item {
        TraitItem::Fn(method) if !NEITHER.contains(&method.sig.ident.to_string().as_str()) => Some(method),
        _ => None,
    });
    methods.collect()
}

/// The type that a method returns.
fn returned(output: &ReturnType) -> Option<String> {
    match output {
        ReturnType::Default => None,
        ReturnType::Type(_, kind) => Some(code(kind)),
    }
}

fn events(text: &mut String) {
    text.push_str(EVENTS);
    for method in methods().iter().filter(|method| returned(&method.sig.output).is_none()) {
        let name = method.sig.ident.to_string();
        let Some(FnArg::Typed(argument)) = method.sig.inputs.iter().nth(1) else {
            panic!("Controller::{name} has no argument: an event passes a struct, a time or a window")
        };
        let Pat::Ident(argument_name) = &*argument.pat else {
            panic!("Controller::{name}: name its argument")
        };
        let required = if method.default.is_none() { " -> required" } else { "" };
        let (argument_name, kind) = (argument_name.ident.to_string(), code(&argument.ty));
        text.push_str(&doc(&method.attrs, 8));
        writeln!(
            text,
            "        {}: fn {name}(&mut self, {argument_name}: {kind}){required};",
            variant(&name)
        )
        .unwrap();
    }
    text.push_str("    } };\n}\n\n");
}

fn answers(text: &mut String) {
    let answers: Vec<_> = methods()
        .into_iter()
        .filter_map(|method| returned(&method.sig.output).map(|kind| (method, kind)))
        .collect();
    let has_default = |(method, _): &&(TraitItemFn, String)| method.default.is_some();
    text.push_str(ANSWERS);
    text.push_str("        {\n");
    for (method, kind) in answers.iter().filter(|answer| !has_default(answer)) {
        let name = method.sig.ident.to_string();
        text.push_str(&doc(&method.attrs, 12));
        writeln!(text, "            {name}: {kind} => {},", names(&name, kind)[0]).unwrap();
    }
    text.push_str("        }\n        {\n");
    for (method, kind) in answers.iter().filter(has_default) {
        let name = method.sig.ident.to_string();
        let body = method.default.as_ref().map(|block| block.stmts.iter().map(code).collect::<String>());
        text.push_str(&doc(&method.attrs, 12));
        let outside = &names(&name, kind)[0];
        writeln!(text, "            {name}: {kind} = {} => {outside},", body.unwrap_or_default()).unwrap();
    }
    text.push_str("        }\n    } };\n}\n");
}

/// The methods of `outside/derived.rs` that compute fields of `name`.
fn derived(name: &str) -> Vec<syn::ImplItemFn> {
    let of_struct = source("outside/derived.rs").into_iter().filter_map(|item| match item {
        Item::Impl(block) if code(&block.self_ty) == name => Some(block.items),
        _ => None,
    });
    let methods = of_struct.flatten().filter_map(|item| match item {
        ImplItem::Fn(method) => Some(method),
        _ => None,
    });
    methods.collect()
}

fn structs(text: &mut String) {
    text.push_str(STRUCTS);
    let items = source("flow.rs").into_iter().chain(source("events.rs"));
    // The argument of an event, and the flow.
    let events: Vec<String> = methods()
        .iter()
        .filter_map(|method| match method.sig.inputs.iter().nth(1) {
            Some(FnArg::Typed(argument)) => Some(code(&argument.ty)),
            _ => None,
        })
        .collect();
    for item in items {
        let Item::Struct(event) = item else { continue };
        let name = event.ident.to_string();
        if name != "FlowInfo" && !events.contains(&format!("&{name}")) {
            continue;
        }
        let Fields::Named(fields) = &event.fields else { panic!("{name}: name its fields") };
        text.push_str(&doc(&event.attrs, 12));
        writeln!(text, "            {name} {{").unwrap();
        for field in &fields.named {
            let kind = code(&field.ty);
            let field_name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
            // A field with a method of its name has the place of the method: the end, where a later version adds fields.
            let has_method = derived(&name).iter().any(|method| method.sig.ident == field_name);
            if RUST_ONLY.contains(&kind.as_str()) || has_method {
                continue;
            }
            text.push_str(&doc(&field.attrs, 16));
            writeln!(
                text,
                "                {field_name}: {kind} => {},",
                names(&field_name, &kind).join(" ")
            )
            .unwrap();
        }
        text.push_str("            } {\n");
        for method in derived(&name) {
            let (method_name, kind) =
                (method.sig.ident.to_string(), returned(&method.sig.output).expect("a value"));
            text.push_str(&doc(&method.attrs, 16));
            let outside = names(&method_name, &kind).join(" ");
            writeln!(text, "                {method_name}(): {kind} => {outside},").unwrap();
        }
        text.push_str("            }\n");
    }
    text.push_str("        }\n    };\n}\n\n");
}

#[test]
fn the_tables_are_those_of_the_trait() {
    let mut text = HEADER.to_string();
    events(&mut text);
    structs(&mut text);
    answers(&mut text);
    let path = format!("{}/{TABLES}", env!("CARGO_MANIFEST_DIR"));
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    if written != text && std::env::var("ACKCLOCK_INTERFACE").is_ok_and(|value| value == "write") {
        return std::fs::write(&path, &text).unwrap();
    }
    assert!(written == text, "{TABLES} is not that of the trait: run `make reference`");
}
