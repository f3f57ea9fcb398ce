//! JSON with limits (RFC 8259): one record at a time. Text that ends early is read as far as it goes.

/// The greatest depth of nested arrays and objects.
pub const MAX_DEPTH: usize = 64;
/// The largest record and the largest string, bytes.
pub const MAX_RECORD: usize = 1 << 20;
const MAX_DIGITS: usize = 32;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`, and a number that has too many digits.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A string.
    Text(String),
    /// An array.
    Array(Vec<Value>),
    /// An object: keys and values in their order.
    Object(Vec<(String, Value)>),
}

const NULL: Value = Value::Null;

impl Value {
    /// The value of a key; `Null` if there is none.
    pub fn get(&self, key: &str) -> &Value {
        match self {
            Value::Object(pairs) => pairs.iter().find(|(name, _)| name == key).map_or(&NULL, |pair| &pair.1),
            _ => &NULL,
        }
    }

    /// The value of the first of these keys that is there.
    pub fn any(&self, keys: &[&str]) -> &Value {
        keys.iter().map(|key| self.get(key)).find(|value| **value != Value::Null).unwrap_or(&NULL)
    }

    /// A number, also one that is written as a string.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Text(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
            _ => None,
        }
    }

    /// A string.
    pub fn text(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    /// The items of an array.
    pub fn items(&self) -> &[Value] {
        if let Value::Array(items) = self { items } else { &[] }
    }

    /// The pairs of an object.
    pub fn pairs(&self) -> &[(String, Value)] {
        if let Value::Object(pairs) = self { pairs } else { &[] }
    }
}

/// Reads one value. The second result says whether the text is whole and correct to the end of the value.
pub fn read(text: &[u8]) -> (Value, bool) {
    let mut parser = Parser { text, at: 0, whole: true };
    let value = parser.value(0);
    (value, parser.whole)
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    whole: bool,
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(|byte| byte.is_ascii_whitespace() || *byte == 0x1e) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn fail(&mut self) -> Value {
        self.whole = false;
        self.at = self.text.len();
        Value::Null
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.peek() {
            Some(b'{') if depth < MAX_DEPTH => self.object(depth),
            Some(b'[') if depth < MAX_DEPTH => self.array(depth),
            Some(b'"') => self.string().map_or(Value::Null, Value::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.word(),
            None => self.fail(),
        }
    }

    fn object(&mut self, depth: usize) -> Value {
        self.at += 1;
        let mut pairs = Vec::new();
        loop {
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    return Value::Object(pairs);
                }
                Some(b',') => self.at += 1,
                Some(b'"') => {
                    let Some(key) = self.string() else { return Value::Object(pairs) };
                    if self.peek() != Some(b':') {
                        self.fail();
                        return Value::Object(pairs);
                    }
                    self.at += 1;
                    let value = self.value(depth + 1);
                    pairs.push((key, value));
                }
                _ => {
                    self.fail();
                    return Value::Object(pairs);
                }
            }
        }
    }

    fn array(&mut self, depth: usize) -> Value {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            match self.peek() {
                Some(b']') => {
                    self.at += 1;
                    return Value::Array(items);
                }
                Some(b',') => self.at += 1,
                Some(_) => items.push(self.value(depth + 1)),
                None => {
                    self.fail();
                    return Value::Array(items);
                }
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        self.at += 1;
        let mut bytes = Vec::new();
        loop {
            let Some(byte) = self.text.get(self.at).copied() else {
                self.fail();
                return None;
            };
            self.at += 1;
            match byte {
                b'"' => return Some(String::from_utf8_lossy(&bytes).into_owned()),
                b'\\' => self.escape(&mut bytes),
                _ => bytes.push(byte),
            }
            if bytes.len() > MAX_RECORD {
                self.fail();
                return None;
            }
        }
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) {
        let escaped = self.text.get(self.at).copied().unwrap_or(b'"');
        self.at += 1;
        match escaped {
            b'n' => bytes.push(b'\n'),
            b't' => bytes.push(b'\t'),
            b'r' => bytes.push(b'\r'),
            b'b' | b'f' => bytes.push(b' '),
            b'u' => {
                let code = self.text.get(self.at..self.at + 4).and_then(|hex| std::str::from_utf8(hex).ok());
                let code = code.and_then(|hex| u32::from_str_radix(hex, 16).ok()).and_then(char::from_u32);
                self.at += 4;
                bytes.extend(code.unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut [0; 4]).as_bytes());
            }
            other => bytes.push(other),
        }
    }

    fn number(&mut self) -> Value {
        let begin = self.at;
        while self.text.get(self.at).is_some_and(|byte| b"+-.eE0123456789".contains(byte)) {
            self.at += 1;
        }
        let digits = &self.text[begin..self.at];
        let number = std::str::from_utf8(digits).ok().filter(|text| text.len() <= MAX_DIGITS);
        match number.and_then(|text| text.parse::<f64>().ok()).filter(|number| number.is_finite()) {
            Some(number) => Value::Number(number),
            None => {
                self.whole = false;
                Value::Null
            }
        }
    }

    fn word(&mut self) -> Value {
        for (word, value) in
            [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)]
        {
            if self.text[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return value;
            }
        }
        self.fail()
    }
}

/// A part of a stream of JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The text before an array named `events`, which is not closed.
    Head(&'a [u8]),
    /// A value in an array named `events`.
    Item(&'a [u8]),
    /// A whole value that stands alone.
    Record(&'a [u8]),
}

/// Divides a stream into records, and the arrays named `events` in them into their items.
#[derive(Default)]
pub struct Splitter {
    /// The text of the record without the items of `events`.
    record: Vec<u8>,
    item: Vec<u8>,
    stack: Vec<u8>,
    /// The depth of an array `events`.
    events: Option<usize>,
    in_string: bool,
    escaped: bool,
    /// The last string, to know the key `events`.
    string: Vec<u8>,
    is_key: bool,
    /// Bytes read.
    pub bytes: u64,
    /// Records that were longer than [`MAX_RECORD`].
    pub too_long: u64,
    /// Reading stopped: too deep.
    pub stopped: bool,
}

impl Splitter {
    /// Reads the next bytes.
    pub fn push(&mut self, chunk: &[u8], each: &mut dyn FnMut(Piece<'_>)) {
        for byte in chunk {
            if self.stopped {
                return;
            }
            self.bytes += 1;
            self.byte(*byte, each);
        }
    }

    /// Whether the stream ended within a record.
    pub fn is_cut(&self) -> bool {
        !self.stack.is_empty()
    }

    fn keep(&mut self, byte: u8) {
        let in_item = self.events.is_some();
        let buffer = if in_item { &mut self.item } else { &mut self.record };
        if buffer.len() < MAX_RECORD {
            buffer.push(byte);
        } else if buffer.len() == MAX_RECORD {
            self.too_long += 1;
            buffer.push(0);
        }
    }

    fn byte(&mut self, byte: u8, each: &mut dyn FnMut(Piece<'_>)) {
        if self.in_string {
            self.keep(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => {
                    self.in_string = false;
                    self.is_key = self.string == b"events";
                }
                _ if self.string.len() < 8 => self.string.push(byte),
                _ => {}
            }
            return;
        }
        let at_items = self.events == Some(self.stack.len());
        match byte {
            b'"' => {
                self.in_string = true;
                self.string.clear();
                self.keep(byte);
            }
            b'{' | b'[' => {
                if self.stack.len() >= MAX_DEPTH {
                    self.stopped = true;
                    return;
                }
                self.keep(byte);
                self.stack.push(byte);
                if byte == b'[' && self.is_key && self.events.is_none() {
                    self.events = Some(self.stack.len());
                    each(Piece::Head(&self.record));
                    self.item.clear();
                }
                self.is_key = false;
            }
            b'}' | b']' => {
                if at_items {
                    self.item(each);
                    self.events = None;
                }
                self.keep(byte);
                self.stack.pop();
                if self.stack.is_empty() {
                    if self.record.len() <= MAX_RECORD {
                        each(Piece::Record(&self.record));
                    }
                    self.record.clear();
                    self.item.clear();
                }
                self.is_key = false;
            }
            b',' if at_items => self.item(each),
            b':' | b' ' => self.keep(byte),
            0x1e | b'\n' | b'\r' | b'\t' => {}
            _ => {
                self.is_key = false;
                if !self.stack.is_empty() {
                    self.keep(byte);
                }
            }
        }
    }

    fn item(&mut self, each: &mut dyn FnMut(Piece<'_>)) {
        if !self.item.is_empty() && self.item.len() <= MAX_RECORD {
            each(Piece::Item(&self.item));
        }
        self.item.clear();
    }
}

/// Writes JSON: objects and arrays are opened and closed by the caller.
#[derive(Default)]
pub struct Writer {
    /// The text so far.
    pub text: String,
}

impl Writer {
    fn separate(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(['{', '[', ':']) {
            self.text.push(',');
        }
    }

    /// A key; its value follows.
    pub fn key(&mut self, key: &str) -> &mut Writer {
        self.separate();
        self.string(key);
        self.text.push(':');
        self
    }

    /// Opens an object or an array.
    pub fn open(&mut self, bracket: char) -> &mut Writer {
        self.separate();
        self.text.push(bracket);
        self
    }

    /// Closes it.
    pub fn close(&mut self, bracket: char) -> &mut Writer {
        self.text.push(bracket);
        self
    }

    /// A number; `null` if it is not finite.
    pub fn number(&mut self, number: f64) -> &mut Writer {
        self.separate();
        if number.is_finite() {
            self.text.push_str(&number.to_string());
        } else {
            self.text.push_str("null");
        }
        self
    }

    /// A number, if there is one.
    pub fn maybe(&mut self, number: Option<f64>) -> &mut Writer {
        self.number(number.unwrap_or(f64::NAN))
    }

    /// A string, or `null`.
    pub fn maybe_text(&mut self, text: Option<&str>) -> &mut Writer {
        match text {
            Some(text) => self.value(text),
            None => self.number(f64::NAN),
        }
    }

    /// `true` or `false`.
    pub fn boolean(&mut self, value: bool) -> &mut Writer {
        self.separate();
        self.text.push_str(if value { "true" } else { "false" });
        self
    }

    /// A string.
    pub fn value(&mut self, text: &str) -> &mut Writer {
        self.separate();
        self.string(text);
        self
    }

    fn string(&mut self, text: &str) {
        self.text.push('"');
        for letter in text.chars() {
            match letter {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                letter if letter < ' ' || letter == '\u{7f}' => {
                    self.text.push_str(&format!("\\u{:04x}", u32::from(letter)));
                }
                letter => self.text.push(letter),
            }
        }
        self.text.push('"');
    }
}
