//! Writes `include/roster_plugin.h` from the Rust source. `UPDATE_GOLDEN=1` refreshes it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use roster_abi::layout;
use syn::{Attribute, Expr, Fields, Item, Lit, Meta, ReturnType, Type, UnOp};

const TOP: &str = r#"/* The contract between Roster and its plugins, ABI major 1. Generated from the crate roster-abi by its tests: do not
 * edit. The guide is docs/plugins.md.
 *
 * A plugin exports the constant arp_plugin_manifest and the function arp_plugin_entry_v1 and resolves nothing from the
 * host. No memory changes owner: whoever is handed a slice copies what it keeps. Text is UTF-8 with a length. A struct
 * that can grow begins with its size; fields a reader does not know are ignored, fields that are missing count as zero.
 */
#ifndef ROSTER_PLUGIN_H
#define ROSTER_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
"#;

const BOTTOM: &str = r#"
#if defined(_WIN32)
#define ARP_EXPORT __declspec(dllexport)
#else
#define ARP_EXPORT __attribute__((visibility("default")))
#endif

/* What a plugin exports. The manifest is read from the file, before anything of it runs. */
ARP_EXPORT extern const arp_manifest arp_plugin_manifest;
/* Gives a static table; does no work, starts no thread, may be called repeatedly. */
ARP_EXPORT const arp_plugin_api *arp_plugin_entry_v1(const arp_host *host);

#ifdef __cplusplus
}
#define ARP_ASSERT(what) static_assert(what, #what)
#else
#define ARP_ASSERT(what) _Static_assert(what, #what)
#endif

"#;

fn source(name: &str) -> syn::File {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name);
    syn::parse_file(&fs::read_to_string(path).expect("the source")).expect("Rust")
}

/// The words of doc comments, without the marks of Rust's documentation.
fn words(attributes: &[Attribute]) -> String {
    let mut words = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        if let Meta::NameValue(pair) = &attribute.meta
            && let Expr::Lit(literal) = &pair.value
            && let Lit::Str(text) = &literal.lit
        {
            words.push(text.value().trim().to_owned());
        }
    }
    words.join(" ").replace(['`', '[', ']'], "")
}

/// A comment, broken into lines of at most 112 columns.
fn comment(indent: &str, words: &str) -> String {
    let mut lines = vec![String::new()];
    for word in words.split_whitespace() {
        let line = lines.last_mut().expect("never empty");
        if line.len() + word.len() > 108 - indent.len() {
            lines.push(word.to_owned());
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    format!("{indent}/* {} */\n", lines.join(&format!("\n{indent} * ")))
}

/// `PluginApi` → `arp_plugin_api`.
fn struct_name(rust: &str) -> String {
    let mut name = String::from("arp");
    for letter in rust.chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

fn last_word(kind: &Type) -> String {
    let Type::Path(path) = kind else { panic!("no plain name") };
    path.path.segments.last().expect("a name").ident.to_string()
}

/// A type without a declarator: `const uint8_t *`, `uint32_t `.
fn plain(kind: &Type) -> String {
    match kind {
        Type::Ptr(pointer) => {
            let inner = plain(&pointer.elem);
            let constant = if matches!(pointer.mutability, syn::PointerMutability::Const(_)) { "const " } else { "" };
            format!("{constant}{}{}*", inner.trim_end(), if inner.ends_with('*') { "" } else { " " })
        }
        _ => {
            let name = last_word(kind);
            let c = match name.as_str() {
                "u8" => "uint8_t",
                "u16" => "uint16_t",
                "u32" => "uint32_t",
                "u64" => "uint64_t",
                "i32" => "int32_t",
                "usize" => "size_t",
                "c_void" => "void",
                _ => &struct_name(&name),
            };
            format!("{c} ")
        }
    }
}

/// The function pointer inside `Option<…>`, or itself.
fn function(kind: &Type) -> Option<&syn::TypeFnPtr> {
    match kind {
        Type::FnPtr(function) => Some(function),
        Type::Path(path) => {
            let segment = path.path.segments.last().filter(|segment| segment.ident == "Option")?;
            let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
            match arguments.args.first() {
                Some(syn::GenericArgument::Type(kind)) => function(kind),
                _ => None,
            }
        }
        _ => None,
    }
}

fn declared(name: &str, kind: &Type) -> String {
    if let Some(function) = function(kind) {
        let result = match &function.output {
            ReturnType::Default => "void ".to_owned(),
            ReturnType::Type(_, kind) => plain(kind),
        };
        let inputs: Vec<String> = function
            .inputs
            .iter()
            .map(|input| {
                let name = input.name.as_ref().expect("parameters are named").0.to_string();
                format!("{}{name}", plain(&input.ty))
            })
            .collect();
        return format!("{result}(*{name})({})", inputs.join(", "));
    }
    if let Type::Array(array) = kind {
        let Expr::Lit(literal) = &array.len else { panic!("a literal length") };
        let Lit::Int(length) = &literal.lit else { panic!("a number") };
        return format!("char {name}[{}]", length.base10_digits());
    }
    format!("{}{name}", plain(kind))
}

fn constants(out: &mut String) {
    for item in source("code.rs").items {
        let Item::Const(constant) = item else { continue };
        let (negative, expr) = match &*constant.expr {
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => (true, &*unary.expr),
            expr => (false, expr),
        };
        let Expr::Lit(literal) = expr else { panic!("constants are literals") };
        let Lit::Int(number) = &literal.lit else { panic!("constants are numbers") };
        let digits = number.to_string().replace('_', "");
        let value = match (last_word(&constant.ty).as_str(), negative) {
            ("u64", _) => format!("UINT64_C({digits})"),
            ("u32", _) => format!("{digits}u"),
            (_, true) => format!("(-{digits})"),
            _ => digits,
        };
        out.push_str(&comment("", &words(&constant.attrs)));
        writeln!(out, "#define ARP_{} {value}", constant.ident).expect("memory");
    }
}

fn structs(out: &mut String) {
    for item in source("c.rs").items {
        let Item::Struct(item) = item else { continue };
        let name = struct_name(&item.ident.to_string());
        out.push('\n');
        out.push_str(&comment("", &words(&item.attrs)));
        writeln!(out, "typedef struct {name} {{").expect("memory");
        let Fields::Named(fields) = &item.fields else { panic!("fields have names") };
        for field in &fields.named {
            let field_name = field.ident.as_ref().expect("a name").to_string();
            out.push_str(&comment("  ", &words(&field.attrs)));
            writeln!(out, "  {};", declared(&field_name, &field.ty)).expect("memory");
        }
        writeln!(out, "}} {name};").expect("memory");
    }
}

fn generated() -> String {
    let mut out = String::from(TOP);
    out.push('\n');
    constants(&mut out);
    structs(&mut out);
    out.push_str(BOTTOM);
    for layout in layout::ALL {
        let name = struct_name(layout.name);
        writeln!(out, "ARP_ASSERT(sizeof({name}) == {});", layout.size).expect("memory");
        for (field, offset) in layout.fields {
            writeln!(out, "ARP_ASSERT(offsetof({name}, {field}) == {offset});").expect("memory");
        }
    }
    out.push_str("#undef ARP_ASSERT\n\n#endif\n");
    out
}

#[test]
fn the_header_kept_is_the_one_generated() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/roster_plugin.h");
    let generated = generated();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &generated).expect("written");
    }
    assert!(
        generated == roster_abi::HEADER || std::env::var_os("UPDATE_GOLDEN").is_some(),
        "stale; refresh with: UPDATE_GOLDEN=1 cargo test -p roster-abi"
    );
}

#[test]
fn every_struct_has_its_layout() {
    let structs = source("c.rs").items.into_iter().filter_map(|item| match item {
        Item::Struct(item) => Some(item.ident.to_string()),
        _ => None,
    });
    let locked: Vec<&str> = layout::ALL.iter().map(|layout| layout.name).collect();
    assert_eq!(structs.collect::<Vec<_>>(), locked);
}
