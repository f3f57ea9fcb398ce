//! Web pages: objects that depend on each other. Pages of the program, and pages recorded by a browser in a HAR file.

use crate::error::nearest;
use toml::de::{DeTable, DeValue};
use units::Span;

/// The most objects of a page.
pub(super) const MOST_OBJECTS: usize = 2_000;
/// The largest object, bytes.
pub(super) const LARGEST_OBJECT: u64 = 1_000_000_000_000;
/// From the end of the parent to the request, in the pages of the program.
const PARSE: Span = Span::from_ms(20);

/// An object of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageObject {
    /// Size of the response, bytes; at least 1.
    pub bytes: u64,
    /// Index of the object that must be complete before this one is requested.
    pub parent: Option<u32>,
    /// Time from the end of the parent to the request; without a parent, from the beginning of the page.
    pub parse: Span,
}

/// A page: at least one object, parents before their children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    objects: Vec<PageObject>,
}

impl Page {
    /// The page with these objects. Fails with a message that has the index of an object, from 0.
    pub fn new(objects: Vec<PageObject>) -> Result<Page, String> {
        if objects.is_empty() {
            return Err("a page needs at least one object".into());
        }
        if objects.len() > MOST_OBJECTS {
            return Err(format!("{} objects are too many; a page has at most {MOST_OBJECTS}", objects.len()));
        }
        for (index, object) in objects.iter().enumerate() {
            if !(1..=LARGEST_OBJECT).contains(&object.bytes) {
                return Err(format!("object {index} has {} bytes; it must have 1 to 10^12", object.bytes));
            }
            match object.parent.map(|parent| parent as usize) {
                Some(parent) if parent >= objects.len() => {
                    return Err(format!(
                        "object {index} has the parent {parent}, which does not exist; the objects are 0 to {}",
                        objects.len() - 1
                    ));
                }
                Some(parent) if parent == index => {
                    return Err(format!("object {index} is its own parent; leave the parent out"));
                }
                Some(parent) if parent > index => {
                    return Err(format!(
                        "object {index} has the parent {parent}, which comes later; write parents before their children"
                    ));
                }
                _ => {}
            }
        }
        Ok(Page { objects })
    }

    /// Names of the pages that come with the program.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        BUILTIN.iter().map(|(name, _)| *name)
    }

    /// The page of this name that comes with the program. Fails with a message that has the names.
    pub fn builtin(name: &str) -> Result<Page, String> {
        let Some((_, text)) = BUILTIN.iter().find(|(known, _)| *known == name) else {
            return Err(format!("there is no page \"{name}\"; {}", nearest(name, Page::names())));
        };
        let objects = rows(text).map(|(_, bytes, parent)| PageObject {
            bytes,
            parent,
            parse: if parent.is_some() { PARSE } else { Span::ZERO },
        });
        Page::new(objects.collect())
    }

    /// The same page with this time from the end of the parent to the request, for all objects with a parent.
    pub fn with_parse(mut self, parse: Span) -> Page {
        self.objects
            .iter_mut()
            .filter(|object| object.parent.is_some())
            .for_each(|object| object.parse = parse);
        self
    }

    /// Its objects; parents come before their children.
    pub fn objects(&self) -> &[PageObject] {
        &self.objects
    }

    /// The bytes of all objects.
    pub fn bytes(&self) -> u64 {
        self.objects.iter().map(|object| object.bytes).sum()
    }
}

/// Names and files, which tools/builtin_pages.py writes.
const BUILTIN: [(&str, &str); 3] = [
    ("small", include_str!("pages/small.toml")),
    ("median", include_str!("pages/median.toml")),
    ("heavy", include_str!("pages/heavy.toml")),
];

/// Type, bytes and parent of each object of a page that comes with the program.
fn rows(text: &str) -> impl Iterator<Item = (String, u64, Option<u32>)> {
    let broken = |what: &str| -> ! { unreachable!("a page of the program: {what}") };
    let table = DeTable::parse(text).unwrap_or_else(|error| broken(error.message()));
    let Some(DeValue::Array(objects)) = table.get_ref().get("objects").map(|value| value.get_ref()) else {
        broken("no objects")
    };
    let row = |row: &DeValue<'_>| {
        let cells: Vec<&DeValue<'_>> =
            row.as_array().into_iter().flatten().map(|cell| cell.get_ref()).collect();
        let number =
            |cell: &DeValue<'_>| cell.as_integer().and_then(|number| number.as_str().parse::<u64>().ok());
        match cells[..] {
            [DeValue::String(kind), bytes] => Some((kind.to_string(), number(bytes)?, None)),
            [DeValue::String(kind), bytes, parent] => {
                Some((kind.to_string(), number(bytes)?, Some(u32::try_from(number(parent)?).ok()?)))
            }
            _ => None,
        }
    };
    let rows: Vec<_> =
        objects.iter().map(|object| row(object.get_ref()).unwrap_or_else(|| broken("a row"))).collect();
    rows.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number and bytes of each type, as the Web Almanac 2024 has them for the median desktop page where it has them.
    #[test]
    fn pages_of_the_program_have_their_sums() {
        let kinds = |name: &str, kind: &str| {
            let (_, text) = BUILTIN.iter().find(|(known, _)| *known == name).unwrap();
            let sizes: Vec<u64> = rows(text).filter(|row| row.0 == kind).map(|row| row.1).collect();
            (sizes.len(), sizes.iter().sum::<u64>())
        };
        for (name, objects, bytes) in
            [("small", 12, 250_000), ("median", 71, 2_652_000), ("heavy", 150, 8_000_000)]
        {
            let page = Page::builtin(name).unwrap();
            assert_eq!((page.objects().len(), page.bytes()), (objects, bytes), "{name}");
            assert!(
                BUILTIN.iter().all(|(_, text)| text.starts_with("# Source: ") && text.contains(", 2024"))
            );
            assert_eq!(page.objects().iter().filter(|object| object.parent.is_none()).count(), 1);
            assert_eq!(kinds(name, "html").0, 1);
        }
        assert_eq!(kinds("median", "image"), (18, 1_054_000));
        assert_eq!(kinds("median", "script"), (24, 613_000));
        assert_eq!(kinds("median", "font").1, 131_000);
        assert_eq!(kinds("median", "css").1, 78_000);
        assert_eq!(kinds("median", "html").1, 18_000);
        assert_eq!(kinds("median", "other").1, 758_000);
    }

    #[test]
    fn objects_have_the_parents_of_their_types() {
        for (name, text) in BUILTIN {
            let page: Vec<_> = rows(text).collect();
            let parent_of =
                |row: &(String, u64, Option<u32>)| row.2.map(|parent| page[parent as usize].0.as_str());
            let images: Vec<_> = page.iter().filter(|row| row.0 == "image").map(parent_of).collect();
            assert_eq!(
                images.iter().filter(|parent| **parent == Some("html")).count(),
                images.len() / 2,
                "{name}"
            );
            for row in &page {
                let expected: &[Option<&str>] = match row.0.as_str() {
                    "html" => &[None],
                    "css" | "script" => &[Some("html")],
                    "font" => &[Some("css")],
                    "image" => &[Some("html"), Some("script")],
                    _ => &[Some("script")],
                };
                assert!(expected.contains(&parent_of(row)), "{name}: {row:?}");
            }
        }
        let page = Page::builtin("small").unwrap();
        assert_eq!((page.objects()[0].parse, page.objects()[1].parse), (Span::ZERO, Span::from_ms(20)));
        let page = page.with_parse(Span::from_ms(5));
        assert_eq!((page.objects()[0].parse, page.objects()[1].parse), (Span::ZERO, Span::from_ms(5)));
        assert_eq!(
            Page::builtin("medium"),
            Err("there is no page \"medium\"; did you mean \"median\"?".into())
        );
        assert_eq!(Page::builtin("x"), Err("there is no page \"x\"; known: small, median, heavy".into()));
    }

    #[test]
    fn objects_are_checked() {
        let page = |objects: &[(u64, Option<u32>)]| {
            let object = |&(bytes, parent)| PageObject { bytes, parent, parse: Span::ZERO };
            Page::new(objects.iter().map(object).collect())
        };
        assert_eq!(
            page(&[(1, None), (1, Some(0)), (LARGEST_OBJECT, Some(1))]).unwrap().bytes(),
            LARGEST_OBJECT + 2
        );
        for (objects, message) in [
            (&[][..], "a page needs at least one object"),
            (&[(1, None); 2_001], "2001 objects are too many; a page has at most 2000"),
            (&[(1, None), (0, Some(0))], "object 1 has 0 bytes; it must have 1 to 10^12"),
            (&[(LARGEST_OBJECT + 1, None)], "object 0 has 1000000000001 bytes"),
            (
                &[(1, None), (1, Some(2))],
                "object 1 has the parent 2, which does not exist; the objects are 0 to 1",
            ),
            (
                &[(1, Some(1)), (1, None)],
                "object 0 has the parent 1, which comes later; write parents before",
            ),
            (&[(1, Some(0))], "object 0 is its own parent"),
        ] {
            assert!(page(objects).unwrap_err().starts_with(message), "{message}");
        }
    }
}
