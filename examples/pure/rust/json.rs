//! Just enough of JSON to read what `repartition policy compile` writes, for programs that want no crate: no name twice, and of
//! numbers only whole ones. null, true and false stand in no compiled policy.
use std::collections::HashSet;
use std::str::Chars;

pub enum Json {
    Number(i64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

pub fn parse(text: &str) -> Result<Json, String> {
    let mut rest = text.chars();
    let value = value(&mut rest, 0)?;
    if next(&mut rest).is_some() {
        return Err("text behind the JSON".into());
    }
    Ok(value)
}

/// The next character that is no white space.
fn next(rest: &mut Chars) -> Option<char> {
    rest.find(|c| !" \t\r\n".contains(*c))
}

fn peek(rest: &Chars) -> Option<char> {
    next(&mut rest.clone())
}

fn value(rest: &mut Chars, depth: usize) -> Result<Json, String> {
    if depth > 64 {
        return Err("nested too deep".into());
    }
    match next(rest) {
        Some('{') => {
            let mut names = HashSet::new();
            Ok(Json::Object(items(rest, '}', |rest| {
                let name = if next(rest) == Some('"') { text(rest)? } else { return Err("a name is missing".into()) };
                if next(rest) != Some(':') {
                    return Err(format!("no : behind \"{name}\""));
                }
                if !names.insert(name.clone()) {
                    return Err(format!("\"{name}\" stands there twice"));
                }
                Ok((name, value(rest, depth + 1)?))
            })?))
        }
        Some('[') => Ok(Json::List(items(rest, ']', |rest| value(rest, depth + 1))?)),
        Some('"') => Ok(Json::Text(text(rest)?)),
        Some(first) => number(first, rest),
        None => Err("it ends too early".into()),
    }
}

fn items<T>(rest: &mut Chars, end: char, mut item: impl FnMut(&mut Chars) -> Result<T, String>) -> Result<Vec<T>, String> {
    let mut found = Vec::new();
    if peek(rest) == Some(end) {
        next(rest);
        return Ok(found);
    }
    loop {
        found.push(item(rest)?);
        match next(rest) {
            Some(',') => (),
            Some(c) if c == end => return Ok(found),
            _ => return Err(format!("no {end}")),
        }
    }
}

fn number(first: char, rest: &mut Chars) -> Result<Json, String> {
    let mut word = String::from(first);
    while let Some(c) = rest.clone().next().filter(|c| c.is_ascii_alphanumeric() || "+-.".contains(*c)) {
        word.push(c);
        rest.next();
    }
    let digits = word.strip_prefix('-').unwrap_or(&word);
    let is_whole = digits.bytes().all(|digit| digit.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    word.parse().ok().filter(|_| is_whole).map(Json::Number).ok_or(format!("no whole number: {word}"))
}

fn text(rest: &mut Chars) -> Result<String, String> {
    let mut units = Vec::new(); // UTF-16, as escapes count
    loop {
        match rest.next().ok_or("a text does not end")? {
            '"' if units.contains(&0) => return Err("a text with a NUL".into()),
            '"' => return String::from_utf16(&units).map_err(|why| why.to_string()),
            '\\' => units.push(match rest.next() {
                Some('u') => escape(&rest.take(4).collect::<String>())?,
                Some('b') => 8,
                Some('f') => 12,
                Some('n') => 10,
                Some('r') => 13,
                Some('t') => 9,
                Some(c @ ('"' | '\\' | '/')) => c as u16,
                _ => return Err("no such escape".into()),
            }),
            c if c < ' ' => return Err("a control character in a text".into()),
            c => units.extend_from_slice(c.encode_utf16(&mut [0; 2])),
        }
    }
}

fn escape(digits: &str) -> Result<u16, String> {
    let is_hex = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_hex).ok_or(format!("no such escape: \\u{digits}"))
}

impl Json {
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.fields().ok()?.iter().find(|field| field.0 == name).map(|field| &field.1)
    }

    pub fn need(&self, name: &str) -> Result<&Json, String> {
        self.get(name).ok_or(format!("\"{name}\" is missing"))
    }

    pub fn fields(&self) -> Result<&[(String, Json)], String> {
        if let Json::Object(fields) = self { Ok(fields) } else { Err("no object".into()) }
    }

    pub fn list(&self) -> Result<&[Json], String> {
        if let Json::List(list) = self { Ok(list) } else { Err("no list".into()) }
    }

    pub fn text(&self) -> Result<&str, String> {
        if let Json::Text(text) = self { Ok(text) } else { Err("no text".into()) }
    }

    pub fn number(&self, low: usize, high: usize) -> Result<usize, String> {
        let number = if let Json::Number(number) = self { *number } else { return Err("no whole number".into()) };
        let found = usize::try_from(number).ok().filter(|found| (low..=high).contains(found));
        found.ok_or(format!("expected a whole number, {low} to {high}, found {number}"))
    }

    pub fn numbers(&self, low: usize, high: usize) -> Result<Vec<usize>, String> {
        self.list()?.iter().map(|number| number.number(low, high)).collect()
    }
}
